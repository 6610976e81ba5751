"""The loop reads CSV files as the reference does: the same rows and notes, whatever the cells hold."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dump_pipeline import index_all, open_one
from kcompact.dumps.loops import readiness, windows
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.text import csv_lines
from kcompact.errors import InputError

assert readiness.load_loops("csv_lines")
CELLS = [
    "a",
    "k1",
    "k2",
    "",
    '""',
    '"a""b"',
    '"x,y"',
    '"l\nm"',
    '"l\r\nm"',
    " 7",
    "null",
    "é",
    '"',
    'q"r',
    "-",
]
RARE = ["\ufeff", "\ufffd", '"open', '"a"b', "\r", "+5", "007", '"8"', "1e3", "99999999999999999999", "-1"]
HEADERS = ["topic,partition,offset,timestamp,key,value", "offset,key,value", "key;value;offset;timestamp;x"]
HEADERS.append("offset,headers,key,value")
KINDS_OF_HEADERS = ["", "", "a=b", "a:1", '"a=b,c=NULL"', '""', "x", "7"]


def both(path: Path, monkeypatch: pytest.MonkeyPatch, split_bytes: int, **options: Any) -> list[Any]:
    """What the reference and the loop tell: rows and notes, or the refusal to open."""
    results = []
    for smallest in (1 << 40, 0):
        monkeypatch.setitem(readiness.SMALLEST_DUMP_BYTES, "csv_lines", smallest)
        try:
            with open_one(path, **options) as dump:
                table, notes = index_all(dump, split_bytes)
                contents, _ = index_all(dump, split_bytes, extra=CONTENT_EXTRA)
                sizes, _ = index_all(dump, split_bytes, extra=frozenset({"log_bytes"}))
                results.append((table, notes, (contents, sizes)))
        except InputError as error:
            results.append((error.message, None, None))
    return results


@pytest.mark.everyday(15)
@pytest.mark.parametrize("seed", range(150))
def test_any_cells_read_alike(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    header = rng.choice(HEADERS)
    delimiter = ";" if ";" in header else ","
    odd = rng.random() < 0.5
    plain = {"topic": ["t", "t", "u"], "partition": ["0", "1", "2"], "x": ["", "y"]}

    def cell(name: str, number: int) -> str:
        if odd and rng.random() < 0.02:
            return rng.choice(RARE)
        if name in {"offset", "timestamp"}:
            return rng.choice(["", str(1_700_000_000 + number)]) if name == "timestamp" else str(number)
        if name == "headers":
            return rng.choice(KINDS_OF_HEADERS)
        return rng.choice(plain.get(name, CELLS[:12] if rng.random() < 0.97 else CELLS))

    newline = rng.choice(["\n", "\n", "\r\n"])
    rows = [
        delimiter.join(cell(name, number) for name in header.split(delimiter))
        for number in range(rng.randrange(1, 60))
    ]
    rows = [row + (newline if rng.random() < 0.03 else "") for row in rows]
    path = tmp_path / "dump.csv"
    path.write_text(newline.join([header, *rows]) + rng.choice(["", newline]), newline="")
    monkeypatch.setattr(windows, "WINDOW_BYTES", rng.choice([64, 300, 1 << 20]))
    options = {"partitions": (range(1, 2),)} if rng.random() < 0.2 else {}
    expected, tables = both(path, monkeypatch, rng.choice([200, 1 << 40]), **options)
    assert tables == expected


def test_an_empty_last_cell_is_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.csv"
    path.write_text('offset,key,value\n0,"a",')
    expected, rows = both(path, monkeypatch, 1 << 40)
    assert rows == expected
    assert rows[0]["is_tombstone"].to_pylist() == [True]


def test_the_loop_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.csv"
    rows = [f't,{n % 3},{n},1700000000000,k{n % 7},"v, ""{n}"""\n' for n in range(100)]
    path.write_text("topic,partition,offset,timestamp,key,value\n" + "".join(rows))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("read the slow way")

    monkeypatch.setitem(readiness.SMALLEST_DUMP_BYTES, "csv_lines", 0)
    monkeypatch.setattr(csv_lines.CsvLines, "reader", refuse)
    with open_one(path) as dump:
        index_all(dump, extra=CONTENT_EXTRA)
        table, _ = index_all(dump)
    assert table["offset"].to_pylist() == list(range(100))
    assert table["key"].type == pa.binary()
