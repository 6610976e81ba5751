"""Evidence for each row of the dialect table: a file, the code that writes it, or a description."""

_FILE, _SOURCE, _DESCRIPTION = "a real file", "its source", "a description"
_FILES = """
    kcat akhq control-center spark-json spark-csv spark-csv-hex spark-avro lambda exporter-importer
    spark-parquet karapace-v1 karapace-v2 debezium debezium-schema canal maxwell nussknacker text
"""
_SOURCES = """
    franz-go kafka-go sarama
    rpk rpk-meta-only kafbat kafbat-csv kafkactl kaf kaf-each-row kt kcl trubka esque zoe redpanda-console
    redpanda-console-csv kafdrop lenses guardian kafka-snapshot rest-proxy aiven aiven-csv
    aiven-avro lenses-avro denktmit console-consumer dump-log confluent
"""


def held_against(name: str) -> str:
    """Of the dialect ``name``."""
    if name in _FILES.split():
        return _FILE
    return _SOURCE if name in _SOURCES.split() else _DESCRIPTION
