"""Kafka's log cleaner on the records of whole logs: rows in, verdicts and rounds out."""
