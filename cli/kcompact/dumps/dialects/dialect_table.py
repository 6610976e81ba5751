"""The dialect table: who writes dumps, how they are told apart, and what each row is checked against."""

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.dialects_sinks import CHANGE_EVENTS, PLAIN, SINKS
from kcompact.dumps.dialects.dialects_text import CSV_DIALECTS, TEXT_DIALECTS
from kcompact.dumps.dialects.dialects_tools import COMMAND_LINE, WEB

_JSON = COMMAND_LINE + WEB + SINKS + CHANGE_EVENTS + PLAIN
DIALECTS: tuple[Dialect, ...] = _JSON + CSV_DIALECTS + TEXT_DIALECTS
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


_FILES = """
    kcat akhq control-center spark-json spark-json-text spark-csv spark-csv-hex spark-avro spark-parquet
    lambda exporter-importer karapace-v1 karapace-v2 debezium debezium-schema canal maxwell text
    kaskade franz-go kafka-go sarama kafkajs
"""
_SOURCES = """
    confluent-go confluent-dotnet filebeat
    rpk kafbat kafbat-csv kafkactl kaf kaf-each-row kt kcl trubka esque zoe redpanda-console
    redpanda-console-csv kafdrop lenses guardian kafka-snapshot rest-proxy aiven aiven-csv
    aiven-avro lenses-avro kafka-dump-parquet denktmit console-consumer dump-log confluent
"""


def checked_against(name: str) -> str:
    """The evidence for the dialect ``name``: a file, the code that writes it, or a description."""
    if name in _FILES.split():
        return "a real file"
    return "its source" if name in _SOURCES.split() else "a description"
