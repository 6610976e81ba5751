"""Inspect a dump: run the one pass, put the facts together, remark on them."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.compact.whole_logs.record_index import key_receivers
from kcompact.dumps.describing import fields_of
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.filters import logs_left_out, refuse_unmatched
from kcompact.dumps.note_checks import as_problems, look_over, notes_by_file
from kcompact.dumps.records.layout import DumpFile
from kcompact.engine.passes.index_pass import plan_index
from kcompact.engine.passes.summaries import log_names
from kcompact.engine.passes.torn_logs import refuse_torn_logs
from kcompact.inspect.expectations import Expectations, check_expectations
from kcompact.inspect.inspection import Bucket, FileFacts, Inspection, LargeRecord, LogFacts, TopKey
from kcompact.inspect.inspection_remarks import remarks_on, verdict
from kcompact.inspect.one_pass import ask_all
from kcompact.inspect.per_log import log_facts
from kcompact.inspect.per_topic import topic_facts
from kcompact.inspect.questions.key_facts import EXTRA
from kcompact.inspect.severity import InspectFinding, Level


def inspect_dump(spark: SparkSession, dump: Dump, folder: Path, expected: Expectations) -> Inspection:
    """Inspect a dump. Raises InputError for records that cannot be read, or for filters that match none."""
    plan = plan_index(dump, folder, EXTRA)
    reading, answers = ask_all(spark, plan, key_receivers(dump, plan))
    notes = notes_by_file(dump, plan.splits.values(), reading.notes)
    remarks, problems = look_over(dump, notes)
    refuse_unmatched(dump.options, log_names(reading.summaries), logs_left_out(reading.notes.values()))
    problems += as_problems(refuse_torn_logs, dump, plan, reading.summaries)
    logs = log_facts(reading.summaries, answers, reading.tallies)
    inspection = Inspection(
        files=[_file_facts(file) for file in dump.files],
        logs=list(logs.values()),
        topics=topic_facts(logs.values(), answers),
        records_per_key=_buckets(answers["records_per_key"]),
        top_keys_by_records=_top_keys(answers["top_keys_by_records"], logs),
        top_keys_by_bytes=_top_keys(answers["top_keys_by_bytes"], logs),
        largest_records=_largest(reading.tallies["largest"], logs),
        notes=[*dump.notes, *remarks],
    )
    exact = all(file.dialect.byte_exact for file in dump.files)
    inspection.findings = [
        *check_expectations(inspection.logs, inspection.topics, expected),
        *(InspectFinding(Level.WARNING, "fields", text) for text in problems),
        *remarks_on(inspection.logs, inspection.topics, byte_exact=exact),
    ]
    inspection.findings.sort(key=lambda finding: -finding.level)
    inspection.verdict = verdict(inspection.logs, inspection.findings)
    return inspection


def _buckets(rows: pa.Table) -> list[Bucket]:
    """Numbers of records per key, which double from bucket to bucket: 1, 2, 3 to 4, 5 to 8, ..."""
    return [
        Bucket(2**bucket // 2 + 1, 2**bucket, keys, records)
        for bucket, keys, records in sorted(zip(*rows.to_pydict().values(), strict=True))
    ]


def _top_keys(rows: pa.Table, logs: Mapping[int, LogFacts]) -> list[TopKey]:
    return [
        TopKey(
            topic=logs[row["log_id"]].topic,
            partition=logs[row["log_id"]].partition,
            key=row["key"],
            records=row["records"],
            record_bytes=row["record_bytes"],
            superseded_bytes=row["record_bytes"] - (row["latest"] >> 1),
            last_offset=row["last_offset"],
        )
        for row in rows.to_pylist()
    ]


def _largest(rows: pa.Table, logs: Mapping[int, LogFacts]) -> list[LargeRecord]:
    records = []
    for row in rows.to_pylist():
        log = logs[row["log_id"]]
        records.append(LargeRecord(log.topic, log.partition, row["offset"], row["key"], row["record_bytes"]))
    return records


def _file_facts(file: DumpFile) -> FileFacts:
    """The facts of one file; ``fields`` are paths in a record, or where else a part comes from."""
    dialect = file.dialect
    fields = fields_of(dialect)
    if dialect.key_fields:
        fields["key"] = f"({', '.join(dialect.key_fields)} of the value)"
    from_names = {"topic": file.topic, "partition": file.partition, "offset": file.start_offset}
    for role, value in from_names.items():
        if role not in fields and value is not None:
            fields[role] = f"({value}, from names)"
    return FileFacts(
        path=file.path,
        layout=file.layout,
        dialect=dialect.name,
        tool=dialect.tool,
        sure=dialect.sure,
        file_bytes=file.data_bytes,
        container=file.container,
        fields=fields,
        key_encoding=dialect.key.encoding,
        value_encoding=dialect.value.encoding,
    )
