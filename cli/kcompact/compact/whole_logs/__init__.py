"""Deciding by record: Kafka's cleaner on an index row of each, for whatever maps alone do not tell."""
