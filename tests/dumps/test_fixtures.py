"""Dumps as tools write them: each tells the same records as ``fixtures/plain.jsonl``, or why it cannot.

The fixtures are written from what the tools' sources and documentation say; a file's name tells the tool,
its version and the option that matters.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from dump_pipeline import copied, index_all, open_one
from kcompact.dumps.judging import judge, refuse_doubts
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.record import Record
from kcompact.errors import InputError

FIXTURES = Path(__file__).parent / "fixtures"


class Told(NamedTuple):
    """What a dump tells of the records of plain.jsonl."""

    dialect: str
    layout: str = "json_lines"
    options: Mapping[str, Any] = MappingProxyType({})
    lacking: frozenset[int] = frozenset()  # offsets in partition 0 that the tool does not export
    merged: bool = False  # null and empty values look alike, and are read as tombstones
    values: bool = True  # values come out as the bytes they were
    doubt: bool = False  # a result that hangs on tombstones is refused


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
    "kt-13.jsonl": Told("kt"),
    "trubka-3.jsonl": Told("trubka", lacking=TOMBSTONE | EMPTY, values=False),
    "esque-0.4": Told("esque"),
    "zoe-0.27-expose-metadata.json": Told("zoe", "json_array"),
    "console-consumer-3.7.txt": Told("console-consumer", "csv_lines", doubt=True, merged=True),
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
    "kafka-snapshot-4.json": Told("kafka-snapshot", "json_array"),
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
BY_FILE_ORDER = {  # no offsets: (partition, number in the file) of the survivors
    "console-consumer-2.6.txt": [(0, 2), (0, 3), (0, 4), (0, 5), (1, 6)],
    "karapace-3-v1.json": [(0, 2), (0, 3), (0, 4), (0, 5)],
    "karapace-3-v2.log": [(0, 2), (0, 3), (0, 4), (0, 5)],
}
REFUSED = {
    "kcat-1.7-J-payload-error.jsonl": ":2: payload_error",
    "rpk-24.3-meta-only.json": "the values were not exported",
    "kafkactl-5-o-json-without-print-keys.json": "the keys were not exported",
    "kafkactl-5-o-yaml.yaml": "looks like YAML",
    "console-consumer-3.7-without-keys.txt": "printed no keys",
    "akhq-0.25-export-selected.json": "no record of key and value",
    "confluent-s3": "no record of key and value",
    "file-stream-sink.txt": ":1: Java's way to print a map",
    "kt-1-text.txt": "the text of an old kt",
    "parquet.parquet": "Parquet",
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
DELIMITED = {  # see test_delimited_text.py
    "console-consumer-3.7-consumer-offsets.txt",
    "console-consumer-3.7-print-key-only.txt",
    "console-consumer-3.7-schemas.txt",
    "debezium-2-watch-topic-k.txt",
    "kcat-1.7-K-colon.txt",
    "risingwave-upsert-caret.txt",
}


def records_of(path: Path, **options: Any) -> dict[tuple[int, int], Record]:
    with open_one(path, **options) as dump:
        return {
            (record.partition, record.offset): record
            for split in dump.splits(1 << 40)
            for _, _, record in LAYOUTS[dump.files[split.file_id].layout].records(
                dump.files[split.file_id], split
            )
        }


def survivors(records: dict[tuple[int, int], Record]) -> set[tuple[int, int]]:
    latest = {(place[0], record.key): place for place, record in sorted(records.items())}
    return set(latest.values())


PLAIN = records_of(FIXTURES / "plain.jsonl")


def test_every_fixture_is_tested() -> None:
    named = {*TOLD, *BY_FILE_ORDER, *REFUSED, *ONE_RECORD, *CHANGE_EVENTS, *DELIMITED}
    assert named == {path.name for path in FIXTURES.iterdir()} - {"README.md"}


@pytest.mark.parametrize("name", TOLD)
def test_a_tool_s_dump_tells_the_records_of_its_plain_twin(name: str) -> None:
    told = TOLD[name]
    records = records_of(FIXTURES / name, **told.options)
    expected = {place: record for place, record in PLAIN.items() if place[1] not in told.lacking}
    assert records.keys() == expected.keys()
    for place, record in records.items():
        twin = expected[place]
        assert record.key == twin.key
        if told.merged and not twin.value:
            assert not record.value
        elif told.values and not (twin.value or b"").startswith(b"{"):  # JSON may be spelt with other blanks
            assert record.value == twin.value
        assert (record.value is None) == (twin.value is None) or told.merged
    assert survivors(records) == survivors(expected)


@pytest.mark.parametrize("name", TOLD)
def test_it_is_recognised_and_its_doubts_are_said(name: str) -> None:
    told = TOLD[name]
    with open_one(FIXTURES / name, **told.options) as dump:
        assert {(file.dialect.name, file.layout) for file in dump.files} == {(told.dialect, told.layout)}
        _, notes = index_all(dump)
        splits = {split.split_id: split for split in dump.splits(1 << 40)}
        remarks = judge(dump, splits, notes)
        assert any("alike" in remark for remark in remarks) == told.doubt
        if not told.doubt:
            refuse_doubts(dump, splits, notes, {"value": "--drop-tombstones", "key": "--null-keys drop"})
            return
        with pytest.raises(InputError, match="--drop-tombstones depends on which it is"):
            refuse_doubts(dump, splits, notes, {"value": "--drop-tombstones"})


@pytest.mark.parametrize("name", TOLD)
def test_its_survivors_are_a_dump_of_the_same_kind(name: str, tmp_path: Path) -> None:
    told = TOLD[name]
    with open_one(FIXTURES / name, **told.options) as dump:
        file = dump.files[0]  # of a folder, one output for one input: see the command's tests
        splits = {split.split_id for split in dump.splits(40) if split.file_id == file.file_id}
        rows = [row for row in index_all(dump, 40)[0].to_pylist() if row["split_id"] in splits]
        kept = rows[:1] + rows[2:]
        output = copied(dump, kept, 40)
    written = tmp_path / Path(file.path).name
    written.write_bytes(output)
    with open_one(written, **told.options) as again:
        assert again.files[0].dialect.name == told.dialect
        assert index_all(again)[0]["offset"].to_pylist() == [row["offset"] for row in kept]


@pytest.mark.parametrize("name", BY_FILE_ORDER)
def test_without_offsets_the_order_in_the_file_counts(name: str) -> None:
    options = {"tombstone": "literal:null"} if "console" in name else {}
    with open_one(FIXTURES / name, **options) as dump:
        assert any("no offsets in the records" in note for note in dump.notes)
        assert len(dump.splits(1)) == 1
    assert sorted(survivors(records_of(FIXTURES / name, **options))) == BY_FILE_ORDER[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compacted_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(InputError) as caught, open_one(FIXTURES / name) as dump:
        _, notes = index_all(dump)
        judge(dump, {split.split_id: split for split in dump.splits(1 << 40)}, notes)
    assert REFUSED[name] in caught.value.message
    assert str(FIXTURES / name) in caught.value.message
    assert caught.value.hint


def test_one_saved_message_is_a_dump() -> None:
    with open_one(FIXTURES / "provectus-kafka-ui-0.7-topic-message") as dump:
        assert dump.files[0].dialect.name == "kafbat"
        assert index_all(dump)[0]["key"].to_pylist() == [b"k1"]
