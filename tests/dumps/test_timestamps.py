"""Timestamps as numbers with a fraction: seconds, or milliseconds that a data frame made floats of."""

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dump_pipeline import index_all, judged, open_one, records_of
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes

CASES = [
    ("1700000000123.0", 1_700_000_000_123),  # pandas, in a column in which any timestamp is missing
    ("1700000000123.75", 1_700_000_000_123),
    ("1700000000123456.0", 1_700_000_000_123),
    ("1700000000.123", 1_700_000_000_123),
    ("1700000000.8419998", 1_700_000_000_842),  # Ruby's Time#to_f, SQLite
    ("1700000000.1230001", 1_700_000_000_123),
    ("1700000000.9999998", 1_700_000_001_000),
    ("1700000000.5", 1_700_000_000_500),
    ("99999999999.5", 99_999_999_999_500),
    ("100000000000.0", 100_000_000_000),
]


def timestamps(path: Path, **options: Any) -> list[int]:
    with open_one(path, **options) as dump:
        table, notes = index_all(dump)
    assert [split_notes.rejects for split_notes in notes.values()] == [[]]
    times: list[int] = table["timestamp_ms"].to_pylist()
    return times


@pytest.mark.parametrize(("spelt", "expected"), CASES)
def test_a_fraction_in_csv(spelt: str, expected: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"topic,partition,offset,timestamp,key,value\nt,0,0,{spelt},k,v\nt,0,1,,k,v\n")
    assert timestamps(path) == [expected, -1]


@pytest.mark.parametrize(("spelt", "expected"), CASES)
def test_a_fraction_in_json(spelt: str, expected: int, tmp_path: Path) -> None:
    row = json.dumps({"topic": "t", "partition": 0, "offset": 0, "key": "k", "value": "v", "headers": []})
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{row[:-1]}, "timestamp": {spelling}}}\n' for spelling in (spelt, "-1.0")))
    assert timestamps(path, dialect="plain") == [expected, -1]


@pytest.mark.parametrize(
    "spelt", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1960-01-01T00:00:00Z"]
)
def test_a_time_before_1970_is_none(spelt: str, tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "key": "k", "value": "v", "headers": []}
    (tmp_path / "t.jsonl").write_text(json.dumps(row | {"timestamp": spelt}) + "\n")
    assert timestamps(tmp_path / "t.jsonl", dialect="plain") == [-1]


@pytest.mark.parametrize(
    ("spelt", "is_remarked"),
    [
        ("2024-01-01 00:00:00", True),
        ("20240101T000000", True),
        ("2024-01-01T01:00:00+01:00", False),
        ("1704067200000", False),
    ],
)
def test_a_time_without_a_zone_is_remarked_upon(spelt: str, is_remarked: bool, tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "key": "k", "value": "v", "headers": []}
    (tmp_path / "t.jsonl").write_text(json.dumps(row | {"timestamp": spelt}) + "\n")
    with open_one(tmp_path / "t.jsonl") as opened:
        table, notes = index_all(opened)
        remarks = check_notes(opened, notes)
    assert table["timestamp_ms"].to_pylist() == [1_704_067_200_000]
    assert ["without a time zone: read as UTC" in remark for remark in remarks] == [True] * is_remarked


@pytest.mark.parametrize(("zone", "is_remarked"), [(None, True), ("UTC", False), ("Europe/Berlin", False)])
def test_a_column_without_a_zone_is_remarked_upon(
    zone: str | None, is_remarked: bool, tmp_path: Path
) -> None:
    moments = pa.array([1_704_067_200_000], pa.timestamp("ms", zone))
    columns = {"topic": ["t"], "partition": [0], "offset": [0], "key": [b"k"], "value": [b"v"]}
    pq.write_table(pa.table(columns | {"timestamp": moments}), tmp_path / "t.parquet")
    schema = {
        "type": "record",
        "name": "row",
        "fields": [
            {"name": "offset", "type": "long"},
            {"name": "key", "type": "bytes"},
            {"name": "value", "type": "bytes"},
            {
                "name": "timestamp",
                "type": {
                    "type": "long",
                    "logicalType": "local-timestamp-millis" if is_remarked else "timestamp-millis",
                },
            },
        ],
    }
    with (tmp_path / "t.avro").open("wb") as file:
        row = {"offset": 0, "key": b"k", "value": b"v", "timestamp": 1_704_067_200_000}
        fastavro.writer(file, fastavro.parse_schema(schema), [row])
    for name in ("t.parquet", "t.avro"):
        with open_one(tmp_path / name) as opened:
            table, notes = index_all(opened)
            remarks = check_notes(opened, notes)
        assert table["timestamp_ms"].to_pylist() == [1_704_067_200_000]
        told = [remark for remark in remarks if "timestamps without a time zone: read as UTC" in remark]
        assert len(told) == is_remarked, name


@pytest.mark.parametrize(("key", "is_remarked"), [(b"org.apache.spark.version", False), (b"other", True)])
def test_spark_counts_96_bits_in_utc(key: bytes, is_remarked: bool, tmp_path: Path) -> None:
    """``ParquetWriteSupport``: an INT96 is an instant, never a TIMESTAMP_NTZ; Impala's may be local."""
    columns = {"topic": ["t"], "partition": [0], "offset": [0], "key": [b"k"], "value": [b"v"]}
    table = pa.table(columns | {"timestamp": pa.array([1_704_067_200_000], pa.timestamp("ms"))})
    table = table.replace_schema_metadata({key: b"4.1.0"})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    with open_one(tmp_path / "t.parquet") as opened:
        table, notes = index_all(opened)
        remarks = check_notes(opened, notes)
    assert table["timestamp_ms"].to_pylist() == [1_704_067_200_000]
    assert any("without a time zone" in remark for remark in remarks) == is_remarked


@pytest.mark.parametrize(
    ("spelt", "expected"),
    [
        ("2024-01-02 03:04:05.678 UTC", 1_704_164_645_678),
        ("2024-01-02 03:04:05 GMT", 1_704_164_645_000),
        ("2024-01-02 03:04:05.678 +0000 UTC", 1_704_164_645_678),
        ("2024-01-02 03:04:05.678901 +0100 CET m=+0.001", 1_704_161_045_678),
        ("2024-01-02 03:04:05 -0300 -03", 1_704_175_445_000),
        ("2024/01/02 03:04:05", 1_704_164_645_000),
        ("0001-01-01 00:00:00 +0000 UTC", -1),
    ],
)
def test_moments_as_sql_engines_and_go_print_them(spelt: str, expected: int, tmp_path: Path) -> None:
    for suffix, zone in (("", ""), (".csv", '"')):
        path = tmp_path / f"t{suffix or '.jsonl'}"
        cells = f"topic,partition,offset,timestamp,key,value\nt,0,0,{zone}{spelt}{zone},k,v\n"
        row = {"topic": "t", "partition": 0, "offset": 0, "key": "k", "value": "v", "timestamp": spelt}
        path.write_text(cells if suffix else json.dumps(row) + "\n")
        assert timestamps(path) == [expected]


@pytest.mark.parametrize("spelt", ["2024-01-02 03:04:05 Europe/Berlin", "01/02/2024 03:04:05", "1.7E12"])
def test_other_moments_are_refused_and_can_be_left_out(spelt: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"topic,partition,offset,timestamp,key,value\nt,0,0,{spelt},k,v\n")
    with open_one(path) as opened:
        (reject,) = index_all(opened)[1][0].rejects
    assert "is not a timestamp" in reject.reason
    assert "--fields timestamp=" in (reject.hint or "")
    with open_one(path, fields={"timestamp": ""}) as opened:
        assert index_all(opened)[0]["timestamp_ms"].to_pylist() == [-1]


@pytest.mark.parametrize(("number", "expected"), [(0, "create"), (1, "logappend")])
def test_a_python_client_s_number_is_the_type(number: int, expected: str, tmp_path: Path) -> None:
    row = {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": 1_700_000_000_123,
        "timestamp_type": number,
    }
    (tmp_path / "t.jsonl").write_text(json.dumps(row | {"key": "k", "value": "v", "headers": []}) + "\n")
    with open_one(tmp_path / "t.jsonl") as dump:
        (split,) = dump.splits(1 << 40)
        ((*_, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert record.timestamp_type == expected


@pytest.mark.parametrize(("number", "expected"), [(0, None), (1, "create"), (2, "logappend")])
def test_the_pair_of_a_python_client_has_its_type(number: int, expected: str | None, tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "key": "k", "value": "v", "headers": []}
    (tmp_path / "t.jsonl").write_text(json.dumps(row | {"timestamp": [number, 1_700_000_000_123]}) + "\n")
    with open_one(tmp_path / "t.jsonl") as dump:
        (split,) = dump.splits(1 << 40)
        ((*_, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert (record.timestamp_ms, record.timestamp_type) == (1_700_000_000_123, expected)


LARGE = "1700000000000000"  # microseconds that a producer sent as milliseconds
BATCH = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1"
    " partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty"
    f" position: 0 CreateTime: {LARGE} size: 70 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)
DUMP_LOG = (
    f"Dumping t-0/00000000000000000000.log\nLog starting offset: 0\n{BATCH}| offset: 0 CreateTime: {LARGE}"
    " keySize: 1 valueSize: 1 sequence: -1 headerKeys: [] key: k payload: v\n"
)
KCAT = f'{{"topic":"t","partition":0,"offset":0,"ts":{LARGE},"key":"k","payload":"v"}}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("console.txt", f"CreateTime:{LARGE}\tPartition:0\tOffset:0\tk\tv\n"),
        ("kcat.jsonl", KCAT),
        ("segment.log", DUMP_LOG),
    ],
)
def test_tools_of_kafka_write_milliseconds_however_large(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert timestamps(tmp_path / name) == [int(LARGE)]


@pytest.mark.parametrize(("spelt", "is_remarked"), [(LARGE, True), ("99999999999999", False)])
@pytest.mark.parametrize("layout", ["t.csv", "t.jsonl"])
def test_large_numbers_of_an_unknown_unit_are_remarked_upon(
    spelt: str, is_remarked: bool, layout: str, tmp_path: Path
) -> None:
    csv = f"topic,partition,offset,timestamp,key,value\nt,0,0,{spelt},k,v\n"
    json_line = f'{{"topic":"t","partition":0,"offset":0,"timestamp":{spelt},"key":"k","value":"v"}}\n'
    (tmp_path / layout).write_text(csv if layout == "t.csv" else json_line)
    with open_one(tmp_path / layout) as opened:
        table, notes = index_all(opened)
        remarks = check_notes(opened, notes)
    assert table["timestamp_ms"].to_pylist() == [1_700_000_000_000 if is_remarked else int(spelt)]
    is_said = ["of 15 digits or more taken for micro- or nanoseconds" in remark for remark in remarks]
    assert is_said.count(True) == is_remarked


def test_a_type_that_only_later_records_have_is_read(tmp_path: Path) -> None:
    row = {
        "topic": "t",
        "partition": 0,
        "timestamp": 1_700_000_000_123,
        "key": "k",
        "value": "v",
        "headers": [],
    }
    types = [{}] * 300 + [{"timestampType": "LogAppendTime"}]
    rows = [row | {"offset": number} | kind for number, kind in enumerate(types)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in rows))
    with open_one(tmp_path / "t.jsonl") as dump:
        (split,) = dump.splits(1 << 40)
        records = [record for *_, record in LAYOUTS["json_lines"].records(dump.files[0], split)]
    assert [record.timestamp_type for record in records[-2:]] == [None, "logappend"]


@pytest.mark.parametrize(("number", "kind"), [(0, None), (1, "create"), (2, "logappend")])
def test_types_of_confluent_s_go_client_are_librdkafka_s_numbers(
    number: int, kind: str | None, tmp_path: Path
) -> None:
    fixture = Path(__file__).parent / "fixtures" / "confluent-go-2-message.jsonl"
    (tmp_path / "t.jsonl").write_text(
        fixture.read_text().replace('"TimestampType":1', f'"TimestampType":{number}')
    )
    with open_one(tmp_path / "t.jsonl") as dump:
        (split,) = dump.splits(1 << 40)
        layout = LAYOUTS[dump.files[0].layout]
        assert {record.timestamp_type for *_, record in layout.records(dump.files[0], split)} == {kind}


@pytest.mark.parametrize(
    ("spelt", "whole_seconds"),
    [
        (["1700000000.5", "1700000001"], "1 timestamp"),
        (['"1700000000.5"', '"1700000001"', "1700000002"], "2 timestamps"),
        (["1700000000.5", "1700000001.0"], None),
        (["1700000000123.5", "1700000001"], None),  # milliseconds with a fraction
        (["1700000000123", "1700000001"], None),
    ],
)
def test_whole_seconds_among_others_with_a_fraction_are_noted(
    spelt: list[str], whole_seconds: str | None, tmp_path: Path
) -> None:
    line = '{"topic":"t","partition":0,"offset":%d,"timestamp":%s,"key":"k","value":"v"}\n'
    (tmp_path / "t.jsonl").write_text("".join(line % pair for pair in enumerate(spelt)))
    remarks = judged(tmp_path / "t.jsonl")
    noted = f"{whole_seconds} of ten digits beside seconds with a fraction: are they seconds, too?"
    assert [noted in remark for remark in remarks] == [True] * (whole_seconds is not None)


@pytest.mark.parametrize(
    ("spelt", "expected"),
    [
        ("CreateTime(1700000000123456)", (1_700_000_000_123_456, "create")),  # milliseconds, as its type says
        ("LogAppendTime(5)", (5, "logappend")),
        ("NotAvailable", (-1, None)),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_rust_prints_of_a_timestamp(
    form: str, spelt: str, expected: tuple[int, str | None], tmp_path: Path
) -> None:
    path = tmp_path / f"t.{form}"
    if form == "csv":
        path.write_text(f"topic,partition,offset,timestamp,key,value\nt,0,0,{spelt},k,v\n")
    else:
        row = {"topic": "t", "partition": 0, "offset": 0, "timestamp": spelt, "key": "k", "value": "v"}
        path.write_text(json.dumps(row) + "\n")
    (record,) = records_of(path)
    assert (record.timestamp_ms, record.timestamp_type) == expected
    assert timestamps(path) == [expected[0]]
