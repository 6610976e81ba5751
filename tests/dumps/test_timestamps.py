"""Timestamps as numbers with a fraction: seconds, or milliseconds that a data frame made floats of."""

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dump_pipeline import index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes

CASES = [
    ("1700000000123.0", 1_700_000_000_123),  # pandas, in a column in which any timestamp is missing
    ("1700000000123.75", 1_700_000_000_123),
    ("1700000000123456.0", 1_700_000_000_123),
    ("1700000000.123", 1_700_000_000_123),
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
        remarks = check_notes(opened, {split.split_id: split for split in opened.splits(1 << 40)}, notes)
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
            remarks = check_notes(opened, {split.split_id: split for split in opened.splits(1 << 40)}, notes)
        assert table["timestamp_ms"].to_pylist() == [1_704_067_200_000]
        told = [remark for remark in remarks if "timestamps without a time zone: read as UTC" in remark]
        assert len(told) == is_remarked, name


@pytest.mark.parametrize(("number", "expected"), [(0, None), (1, "create"), (2, "logappend")])
def test_the_pair_of_a_python_client_has_its_type(number: int, expected: str | None, tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "key": "k", "value": "v", "headers": []}
    (tmp_path / "t.jsonl").write_text(json.dumps(row | {"timestamp": [number, 1_700_000_000_123]}) + "\n")
    with open_one(tmp_path / "t.jsonl") as dump:
        (split,) = dump.splits(1 << 40)
        ((*_, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert (record.timestamp_ms, record.timestamp_type) == (1_700_000_000_123, expected)
