"""The full form of a compaction: Kafka's cleaner on every index row, and what it leaves."""
