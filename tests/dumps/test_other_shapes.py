"""Files that hold records in a shape that is not read: the error says what to do, and that would help."""

import datetime as dt
import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.errors import InputError

ROWS = [{"topic": "t", "partition": 0, "offset": n, "key": f"k{n % 2}", "value": "v"} for n in range(4)]
COLUMNS = {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]}


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught, open_one(path) as dump:
        for split in dump.splits(1 << 40):
            list(LAYOUTS[dump.files[0].layout].records(dump.files[0], split))
    return caught.value


@pytest.mark.parametrize(
    "table",
    [
        COLUMNS,
        {str(n): row for n, row in enumerate(ROWS)},
        {"columns": list(COLUMNS), "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
        {"schema": {"fields": []}, "data": ROWS},
    ],
    ids=["columns", "index", "split", "table"],
)
def test_a_table_of_pandas_gets_the_way_to_write_records(tmp_path: Path, table: Any) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(table))
    assert "to_json(..., orient='records', lines=True)" in str(refusal(path).hint)


def test_what_is_compressed_twice_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"".join(json.dumps(row).encode() for row in ROWS))))
    assert "compressed twice (gzip inside)" in refusal(path).message


def test_an_archive_of_tar_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(json.dumps(ROWS[0]))
    with tarfile.open(tmp_path / "d.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "d.jsonl", "d.jsonl")
    assert "a tar archive" in refusal(tmp_path / "d.tar.gz").message


TIMES = [
    pa.array([dt.date(2023, 11, 14)]),
    pa.array([dt.time(1, 2, 3)]),
    pa.array([dt.timedelta(days=1)]),
]


@pytest.mark.parametrize("times", TIMES, ids=lambda times: str(times.type))
def test_days_and_times_of_a_day_are_no_timestamps(tmp_path: Path, times: pa.Array) -> None:
    columns = {name: [ROWS[0][name]] for name in ROWS[0]} | {"timestamp": times}
    parquet.write_table(pa.table(columns), tmp_path / "d.parquet")
    assert "no point in time" in refusal(tmp_path / "d.parquet").message


@pytest.mark.parametrize(
    ("logical", "kind"), [("date", "int"), ("time-millis", "int"), ("time-micros", "long")]
)
def test_nor_are_they_in_avro(tmp_path: Path, logical: str, kind: str) -> None:
    types = {"topic": "string", "partition": "int", "offset": "long", "key": "string", "value": "string"}
    fields: list[dict[str, Any]] = [{"name": name, "type": type_} for name, type_ in types.items()]
    fields.append({"name": "timestamp", "type": ["null", {"type": kind, "logicalType": logical}]})
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [ROWS[0]])
    (tmp_path / "d.avro").write_bytes(out.getvalue())
    assert f"of type {logical}, no point in time" in refusal(tmp_path / "d.avro").message
