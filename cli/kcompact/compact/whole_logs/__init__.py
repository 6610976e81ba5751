"""Deciding by record: Kafka's cleaner on an index row of every record, where keys alone are not enough."""
