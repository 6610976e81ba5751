"""Compact an exported Kafka topic dump exactly as the broker's log cleaner would."""
