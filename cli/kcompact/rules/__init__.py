"""The rules of Kafka's log cleaner, applied to the records, batches and segments of logs.

RULES.md defines the numbers that code cites, such as R21.
"""
