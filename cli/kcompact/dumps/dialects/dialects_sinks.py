"""Dialects of JSON dumps that pipelines write, bare change events, and the plain envelope.

Their order counts (``dialect_table.py``): ``PLAIN`` comes last, as others have its names and more.
"""

from kcompact.dumps.dialects.dialect import DataField, Dialect, fields, forms, names
from kcompact.dumps.records.shown import by_jq

SINKS = (
    Dialect(
        name="lenses",
        tool="Lenses cloud sinks, JSON with envelope",
        signature=names("metadata.offset metadata.partition metadata.topic"),
        **fields("topic=metadata.topic partition=metadata.partition"),
        **fields("offset=metadata.offset timestamp=metadata.timestamp"),
        key=DataField("key", marker="keyIsArray"),
        value=DataField("value", encoding="json", marker="valueIsArray"),
        timestamp_unit="ms",
    ),
    Dialect(
        name="spark-json",
        tool="Spark's Kafka source written as JSON",
        signature=names("offset timestamp timestampType"),  # others may be in names of folders (partitionBy)
        lacking=names("key_encoding value_encoding"),  # of kcompact's own lines
        order=("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"),
        likely_base64=True,
        **fields("timestamp_type=timestampType", encoding="base64"),
        headers_encoding="base64",
        asked_headers=True,  # includeHeaders
    ),
    Dialect(
        name="spark-json-text",
        tool="Spark's Kafka source written as JSON, cast to strings",
        signature=names("offset timestamp timestampType"),
        lacking=names("key_encoding value_encoding"),
        order=("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"),
        text_timestamps=True,
        sure=False,  # spark-json has the same names, with other encodings of keys and values
        **fields("timestamp_type=timestampType"),
        headers_encoding="base64",  # a cast of the key and value leaves the headers' values binary
    ),
    Dialect(
        name="filebeat",
        tool="Filebeat's kafka input",
        signature=names("@timestamp message kafka.topic kafka.partition kafka.offset kafka.key"),
        lacking=names("kafka.consumer_group kafka.timestamp"),  # Logstash's
        sure=False,  # parsers and processors may change a message
        **fields("topic=kafka.topic partition=kafka.partition offset=kafka.offset timestamp=@timestamp"),
        **fields("key=kafka.key value=message", nulls=forms("missing", "empty"), doubtful=forms("empty")),
        headers="kafka.headers",
        header_separator=": ",
        notes=("Filebeat writes a colon in a header's name as _, and nothing for a header that is null",),
    ),
    Dialect(
        name="lambda",
        tool="AWS Lambda event of Amazon MSK or Kafka",
        layouts=("json_wrapper",),
        signature=names("topic partition offset"),
        **fields("timestamp_type=timestampType", encoding="base64"),
        timestamp_unit="ms",
        named_headers=True,
    ),
    Dialect(
        name="guardian",
        tool="Guardian for Apache Kafka",
        signature=names("topic partition offset key value timestamp timestamp_type"),
        lacking=names("headers"),
        order=("topic", "partition", "offset", "key", "value", "timestamp", "timestamp_type"),
        likely_base64=True,  # scripts around Python's clients write the same names, with text
        **fields("timestamp_type=timestamp_type", encoding="base64"),
        timestamp_unit="ms",
        notes=("Guardian does not export tombstones",),
    ),
    Dialect(
        name="exporter-importer",
        tool="kafka_exporter_importer",
        signature=names("topic partition key value offset timestamp headers"),
        lacking=names("key_encoding value_encoding timestampType"),  # of kcompact's own lines
        order=("headers", "key", "offset", "partition", "timestamp", "topic", "value"),
        likely_base64=True,
        timestamp_unit="ms",
        **fields(encoding="base64"),
        headers_encoding="base64",
        named_headers=True,
        sure=False,
    ),
    Dialect(
        name="benthos-tombstones",
        tool="Redpanda Connect (Benthos), with all metadata of its Kafka inputs",
        signature=names("kafka_key kafka_tombstone_message"),
        refused="a tombstone has empty content, and only kafka_tombstone_message marks it",
        hint="put it into the content first: "
        + by_jq(
            "(if .kafka_tombstone_message then .content = null else . end) | del(.kafka_tombstone_message)"
        ),
    ),
    Dialect(
        name="kafka-snapshot",
        tool="KafkaSnapshot",
        signature=names("Value Meta.Partition Meta.Offset"),  # no Key where KeyType is Ignored
        **fields("topic= partition=Meta.Partition offset=Meta.Offset timestamp=Meta.Timestamp Key headers="),
        value=DataField("Value", encoding="json"),
        notes=("KafkaSnapshot exports no tombstones: since 2023 it ends where it meets one",),
    ),
    Dialect(
        name="rest-proxy",
        tool="Confluent REST proxy, consumed records",
        signature=names("topic key value partition offset"),
        lacking=names("timestamp ts time headers"),
        order=("topic", "key", "value", "partition", "offset"),
        **fields("timestamp= headers="),
        sure=False,  # whether keys are text or, as by default, base64
    ),
    Dialect(
        name="aiven",
        tool="Aiven cloud sinks, jsonl or json",
        signature=names("key value offset timestamp"),
        lacking=names("topic partition"),
        **fields("topic= partition="),
        value=DataField("value", encoding="json", marker="value_encoding"),
        sure=False,
    ),
    Dialect(
        name="kt",
        tool="kt consume",
        signature=names("partition offset key value"),
        lacking=names("topic headers"),
        order=("partition", "offset", "key", "value", "timestamp"),
        **fields("topic= headers="),
        sure=False,
    ),
    Dialect(
        name="esque",
        tool="esque consume",
        signature=names("key value partition offset"),
        lacking=names("topic timestamp ts time"),
        order=("key", "value", "partition", "offset", "headers"),
        **fields("topic= timestamp="),
        sure=False,
    ),
)

PLAIN = (
    Dialect(
        name="karapace-v1",
        tool="karapace_schema_backup, version 1",
        layouts=("json_array",),
        signature=names("0 1"),
        listed=True,
        **fields("topic= partition= offset= timestamp= headers= key=0 value=1"),
    ),
    Dialect(
        name="plain",
        tool="plain envelope: topic, partition, offset, timestamp, key, value, headers",
        signature=names("offset key value"),
        lacking=names("metadata"),
        **fields("timestamp_type=timestampType"),
        key=DataField("key", doubtful=forms("missing"), marker="key_encoding"),
        value=DataField(
            "value", doubtful=forms("missing"), settled_by="empty_value", marker="value_encoding"
        ),
        sure=False,
    ),
    Dialect(
        name="plain-base64",
        tool="plain envelope with keys and values as base64 (only with --dialect)",
        **fields("timestamp_type=timestampType", encoding="base64"),
        headers_encoding="base64",
        sure=False,
    ),
    Dialect(
        name="kcat-base64",
        tool="kcat -J of forks that write base64 (only with --dialect)",
        **fields("timestamp=ts timestamp_type=tstype value=payload", encoding="base64"),
        timestamp_unit="ms",
        headers_encoding="base64",
        sure=False,
    ),
)


_ENVELOPE = frozenset({"key", "Key", "offset", "Offset"})  # signs of a record, with an event as its value


def _events(name: str, tool: str, cdc: str, *signature: str) -> Dialect:
    return Dialect(
        name=name,
        tool=tool,
        signature=frozenset(signature),
        lacking=_ENVELOPE,
        **fields("topic= partition= offset= timestamp= key= headers="),
        value=DataField(""),
        cdc=cdc,
    )


CHANGE_EVENTS = (
    _events(
        "mongo", "MongoDB's Kafka connector, change streams", "mongo", "operationType", "documentKey", "ns"
    ),
    _events("debezium", "Debezium, values without their schema", "debezium", "before", "after", "op"),
    _events(
        "debezium-schema",
        "Debezium, values with their schema or payload alone",
        "debezium",
        "payload.before",
        "payload.after",
        "payload.op",
    ),
    _events("debezium-rows", "Debezium's ExtractNewRecordState, __deleted", "debezium", "__deleted"),
    _events(
        "debezium-rows-schema",
        "Debezium's ExtractNewRecordState, __deleted, with its schema",
        "debezium",
        "schema",
        "payload.__deleted",
    ),
    _events("canal", "Canal's FlatMessage", "canal", "database", "table", "type", "data", "isDdl"),
    _events("maxwell", "Maxwell", "maxwell", "database", "table", "type", "data", "ts"),
)
"""Events without a record around them, read with ``--key-field``. With ``--cdc``, deletes are tombstones."""
