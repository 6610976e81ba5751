"""Dialects of CSV and text dumps. The first row that fits wins, so rows with more signs come first."""

from functools import partial

from kcompact.dumps.dialects.dialect import CSV_DOUBTS, QUOTING, DataField, Dialect, fields, forms, names

_csv = partial(Dialect, layouts=("csv_lines",))

CSV_DIALECTS = (
    _csv(
        name="redpanda-console-csv",
        tool="Redpanda Console, messages saved as CSV",
        signature=names("timestamp partitionID offset key value keySize valueSize"),
        **fields("topic= partition=partitionID"),
        timestamp_unit="ms",
        key=DataField("key", doubtful=forms("missing"), size="keySize"),
        value=DataField("value", doubtful=forms("missing"), size="valueSize"),
        quoting="none",
        notes=(
            "Redpanda Console writes ; for , and 7 for 007 in its CSV: keys that differ only there merge",
        ),
    ),
    _csv(
        name="kafbat-csv",
        tool="kafbat kafka-ui, messages saved as CSV",
        signature=names("Value Offset Key Partition Timestamp"),
        order=("Value", "Offset", "Key", "Partition", "Headers", "Timestamp"),
        **fields("topic= Partition Offset Timestamp Key Value Headers", doubtful=forms("missing")),
        quoting="none",
    ),
    _csv(
        name="spark-csv-hex",
        tool="Spark 4's Kafka source written as CSV, binary columns",
        signature=names("key value offset"),  # others may be in names of folders (partitionBy)
        order=("key", "value", "topic", "partition", "offset", "timestamp", "timestampType"),
        **fields("timestamp_type=timestampType", encoding="spark-hex"),
        quoting="backslash",
    ),
    _csv(
        name="spark-csv",
        tool="Spark's Kafka source written as CSV, cast to strings",
        signature=names("key value topic partition offset timestamp timestampType"),
        order=("key", "value", "topic", "partition", "offset", "timestamp", "timestampType"),
        # With Spark's option quoteAll, an empty text may be null.
        **fields("timestamp_type=timestampType", doubtful=forms("empty"), settled_by=QUOTING),
        quoting="backslash",
        sure=False,  # the encodings of keys and values are open
        notes=("Spark trims blanks around keys and values when it writes CSV",),
    ),
    _csv(
        name="denktmit",
        tool="DenktMit kafka-dumper",
        signature=names("delta TIMESTAMP offset key message"),
        **fields("topic= partition= TIMESTAMP value=message headers=", encoding="base64"),
        timestamp_unit="ms",
    ),
    _csv(
        name="csv",
        tool="CSV with a header line: topic, partition, offset, timestamp, key, value, headers",
        signature=names("offset key value"),
        **fields("timestamp_type=timestampType"),
        key=DataField("key", **CSV_DOUBTS, marker="key_encoding"),
        value=DataField("value", **CSV_DOUBTS, marker="value_encoding"),
        sure=False,
    ),
)

TEXT_DIALECTS = (
    _csv(
        name="console-consumer",
        tool="kafka-console-consumer 2.7 or later, print.* properties",
        labelled=True,
        timestamp_unit="ms",
        quoting="none",
        null_literal="null",
        **fields(nulls=forms(), doubtful=forms("literal")),
    ),
    Dialect(
        name="dump-log",
        tool="kafka-dump-log --print-data-log, Kafka 2.4 to 4.x",
        layouts=("dump_log",),
        **fields("topic= partition="),
        timestamp_unit="ms",
        incomplete_headers=True,
    ),
    _csv(
        name="karapace-v2",
        tool="karapace_schema_backup, version 2",
        **fields("topic= partition= offset= timestamp= headers=", encoding="hex", nulls=forms()),
        quoting="none",
        delimiter="\t",
        columns=("key", "value"),
        null_literal="null",
    ),
    _csv(
        name="text",
        tool="text without quoting, such as kcat -K: and -f, or kafka-console-consumer (else with --columns)",
        quoting="none",
        null_literal="null",
        **fields(doubtful=forms("missing", "literal")),
        sure=False,
    ),
    _csv(
        name="aiven-csv",
        tool="Aiven cloud sinks, csv (with --columns in the order of format.output.fields)",
        **fields("topic= partition=", encoding="base64", doubtful=forms("missing")),
        timestamp_unit="ms",
        headers_encoding="base64",
        quoting="none",
    ),
)
