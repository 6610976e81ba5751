"""The dumps in ``dumps/fixtures``: how far each has the records of ``plain.jsonl``, or why it is refused."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

FIXTURES = Path(__file__).parents[1] / "dumps" / "fixtures"


class Told(NamedTuple):
    """How a fixture is read, and how far it holds the records of plain.jsonl."""

    dialect: str
    layout: str = "json_lines"
    options: Mapping[str, Any] = MappingProxyType({})
    lacking: frozenset[int] = frozenset()  # offsets in partition 0 that the tool does not export
    merged: bool = False  # null and empty values look alike, and are read as tombstones
    values: bool = True  # values come out as the bytes they were
    doubt: bool = False  # a result that depends on tombstones is refused


TOMBSTONE, EMPTY = frozenset({3}), frozenset({5})
TOLD = {
    "plain.jsonl": Told("plain"),
    "kcat-1.7-J.jsonl": Told("kcat"),
    "kafkacat-1.5-J.jsonl": Told("kcat"),
    "kcat-1.7-J-noise.jsonl": Told("kcat"),
    "kcat-1.7-J-utf16.jsonl": Told("kcat"),
    "kcat-1.7-J-jq.json": Told("kcat", "json_objects"),
    "kcat-1.7-J-jq-slurp.json": Told("kcat", "json_array"),
    "kcat-1.7-J-s-avro.jsonl": Told("kcat", values=False),
    "kcat-1.7-f-comma.txt": Told(
        "text",
        "csv_lines",
        {"columns": ("topic", "partition", "offset", "timestamp", "key", "value")},
        merged=True,
        doubt=True,
    ),
    "kcat-1.7-f-tab-lengths.txt": Told(
        "text",
        "csv_lines",
        {"columns": ("partition", "offset", "timestamp", "key_size", "key", "value_size", "value")},
    ),
    "kcat-1.7-f-Z.txt": Told(
        "text",
        "csv_lines",
        {"columns": ("partition", "offset", "key", "value"), "tombstone": "literal:NULL"},
        merged=True,
    ),
    "rpk-24.3.json": Told("rpk", "json_objects"),
    "rpk-24.3-pretty-print-false.jsonl": Told("rpk"),
    "rpk-23.3.json": Told("rpk", "json_objects", merged=True, doubt=True),
    "franz-go-1-kgo-record.jsonl": Told("franz-go"),
    "kafka-go-0.4-message.jsonl": Told("kafka-go", merged=True, doubt=True),
    "sarama-1-consumer-message.jsonl": Told("sarama"),
    "kafkajs-2-each-message.jsonl": Told("kafkajs"),
    "confluent-go-2-message.jsonl": Told("confluent-go"),
    "confluent-dotnet-2-consume-result.jsonl": Told("confluent-dotnet"),
    "kafkactl-5-o-json.json": Told("kafkactl", "json_objects"),
    "kafkactl-5-o-json-raw.jsonl": Told("kafkactl"),
    "kafkactl-5-text.txt": Told(
        "text",
        "csv_lines",
        {
            "columns": ("headers", "partition", "offset", "key", "timestamp", "value"),
            "tombstone": "literal:null",
        },
    ),
    "kaf-0.2-output-json.jsonl": Told("kaf", merged=True, doubt=True),
    "kaf-0.2-output-json-each-row.jsonl": Told("kaf-each-row", merged=True, doubt=True),
    "kcl-0.19-f-json.jsonl": Told("kcl"),
    "filebeat-8-kafka-input.jsonl": Told("filebeat", merged=True, doubt=True),
    "kt-13.jsonl": Told("kt"),
    "trubka-3.jsonl": Told("trubka", lacking=TOMBSTONE | EMPTY, values=False),
    "esque-0.4": Told("esque"),
    "zoe-0.27-expose-metadata.json": Told("zoe", "json_array"),
    "kaskade-5.1-records.json": Told("kaskade", "json_objects"),
    "console-consumer-3.7.txt": Told("console-consumer", "csv_lines", doubt=True),
    "console-consumer-4.0-delivery-epoch.txt": Told(
        "console-consumer", "csv_lines", {"tombstone": "literal:null"}
    ),
    "dump-log-3.7": Told("dump-log", "dump_log"),
    "kafbat-1.0-topic-messages.json": Told("kafbat", "json_array"),
    "kafbat-pr740.csv": Told("kafbat-csv", "csv_lines", merged=True, doubt=True),
    "akhq-0.25.json": Told("akhq", "json_array"),
    "redpanda-console-2.json": Told("redpanda-console", "json_array"),
    "redpanda-console-2-raw.json": Told("redpanda-console", "json_array"),
    "redpanda-console-2.csv": Told("redpanda-console-csv", "csv_lines", merged=True, doubt=True),
    "control-center-7.json": Told("control-center", "json_array"),
    "kafdrop-4.json": Told("kafdrop", "json_array", doubt=True),
    "gui-rfc4180.csv": Told("csv", "csv_lines"),
    "gui-capitals-bom.csv": Told("fields", "csv_lines"),
    "pandas-2-to-csv.csv": Told("csv", "csv_lines", merged=True, doubt=True),
    "gui-no-quotes.csv": Told("csv", "csv_lines", merged=True, doubt=True),
    "aiven-3-jsonl": Told("aiven"),
    "aiven-3-json": Told("aiven", "json_array"),
    "aiven-3-csv": Told(
        "aiven-csv",
        "csv_lines",
        {"dialect": "aiven-csv", "columns": ("key", "value", "offset", "timestamp", "headers")},
        merged=True,
        doubt=True,
    ),
    "lenses-8-envelope.json": Told("lenses"),
    "lenses-8-envelope-text.json": Told("lenses"),
    "lenses-8.csv": Told("csv", "csv_lines"),
    "spark-3.5-json": Told("spark-json"),
    "spark-4.3-cast-string.jsonl": Told("spark-json-text"),
    "spark-3.5-cast-string.csv": Told("spark-csv", "csv_lines"),
    "spark-4.0-binary.csv": Told("spark-csv-hex", "csv_lines"),
    "rest-proxy-7-json.json": Told("rest-proxy", "json_array"),
    "aws-lambda-msk.json": Told("lambda", "json_wrapper"),
    "aws-lambda-msk-one-line.json": Told("lambda", "json_wrapper"),
    "kafkajs-2.jsonl": Told("plain"),
    "confluent-kafka-python-2.jsonl": Told("plain"),
    "kafka-python-default-str.jsonl": Told("plain"),
    "guardian-2024.json": Told("guardian", "json_array", lacking=TOMBSTONE),
    "exporter-importer-1": Told("exporter-importer"),
    "kafka-snapshot-4.json": Told("kafka-snapshot", "json_array", lacking=TOMBSTONE),
    "denktmit-1": Told("denktmit", "csv_lines", lacking=TOMBSTONE | EMPTY),
    "unknown-envelope.jsonl": Told(
        "fields",
        options={
            "fields": {
                "key": "kafka_key",
                "value": "payload.body",
                "offset": "meta.off",
                "partition": "meta.part",
            }
        },
    ),
}
BY_FILE_ORDER = {  # dumps without offsets: (partition, number in the file) of the survivors
    "console-consumer-2.6.txt": [(0, 2), (0, 3), (0, 4), (0, 5), (1, 6)],
    "karapace-3-v1.json": [(0, 2), (0, 3), (0, 4), (0, 5)],
    "karapace-3-v2.log": [(0, 2), (0, 3), (0, 4), (0, 5)],
}
ANSWERED: dict[str, dict[str, Any]] = {  # the options that answer questions about dumps without offsets
    "console-consumer-2.6.txt": {
        "tombstone": "literal:null",
        "columns": ("timestamp", "key", "value", "partition"),
    },
}
REFUSED = {
    "kcat-1.7-J-payload-error.jsonl": ":2: payload_error",
    "rpk-24.3-meta-only.json": "the value is null only because it was not decoded or exported",
    "kafkactl-5-o-json-without-print-keys.json": "the keys were not exported",
    "kafkactl-5-o-yaml.yaml": "looks like YAML",
    "console-consumer-3.7-without-keys.txt": "printed no keys",
    "akhq-0.25-export-selected.json": "no record of key and value",
    "confluent-s3": "no record of key and value",
    "redpanda-console-3-too-large.json": "was too large for Redpanda Console to show",
    "kafka-snapshot-4-ignored-keys.json": "the keys were not exported",
    "java-consumer-record-to-string.txt": "sentences of a program",
    "ksqldb-0.29-print.txt": "sentences of a program",
    "file-stream-sink.txt": ":1: a map as Java prints it",
    "kt-1-text.txt": "sentences of a program",
    "dump-log-3.7-batches-only.txt": "printed batches, and no record",
    "kcat-1.7-f-readme.txt": "sentences of a program",
    "kcat-1.7-s-avro-glued.txt": "two JSON values in every line",
    "karapace-3-v3.metadata": "a Karapace backup, version 3",
    "spark-3.3-java-objects.csv": "addresses of Java objects",
}
ONE_RECORD = {"provectus-kafka-ui-0.7-topic-message"}
CHANGE_EVENTS = {  # see test_change_events.py
    "canal-1.jsonl",
    "debezium-2-kcat-J.jsonl",
    "debezium-2-mongodb.jsonl",
    "debezium-2-unwrap-rewrite.jsonl",
    "debezium-2-values-schema.jsonl",
    "debezium-2-values.jsonl",
    "maxwell-1.jsonl",
    "mongodb-connector-1-change-streams.jsonl",
}
DUMP_LOGS = {  # see test_dump_log.py
    "dump-log-2.0.txt",
    "dump-log-2.4.txt",
    "dump-log-2.8.txt",
    "dump-log-4.0-pasted.txt",
}
DELIMITED = {  # see test_delimited_text.py
    "console-consumer-3.7-consumer-offsets.txt",
    "console-consumer-3.7-print-key-only.txt",
    "console-consumer-3.7-schemas.txt",
    "debezium-2-watch-topic-k.txt",
    "kcat-1.7-K-colon.txt",
    "risingwave-upsert-caret.txt",
}
