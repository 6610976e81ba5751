"""removed-keys.csv is taken by any reader of CSV, whatever its keys are."""

import csv
import io

import pyarrow as pa
import pytest

from kcompact.broker.log_names import LogName
from kcompact.compact.output.csv_parts import REMOVED_KEYS_HEADER, render_removed_keys
from kcompact.compact.output.decided_rows import REMOVED_SCHEMA

MEGABYTE = 1 << 20
MOST_CHARACTERS = 32_767  # of a spreadsheet's cell; Python's csv takes 131,072


def rows_of(keys: list[bytes], topic: str = "t") -> list[dict[str, str]]:
    columns = [keys, [1] * len(keys), [7] * len(keys), [9] * len(keys), [None] * len(keys)]
    lines = render_removed_keys([LogName(topic, 0)], [len(keys)], pa.table(columns, schema=REMOVED_SCHEMA))
    text = (REMOVED_KEYS_HEADER + lines).decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize(
    "text",
    [b"k", b"\0", b'"', b";", b"\\", b"\xff", "\u202e".encode(), "\U0001f600".encode(), b"=a,\r\n"],
)
def test_long_keys_are_cut_and_stay_different(text: bytes) -> None:
    keys = [text * (MEGABYTE // len(text)) + end for end in (b"x", b"y")]
    rows = rows_of(keys)
    assert [row["retained_offset"] for row in rows] == ["9", "9"]
    assert len({row["key"] for row in rows}) == 2
    for key, row in zip(keys, rows, strict=True):
        assert len(row["key"]) <= MOST_CHARACTERS
        assert f"[{len(key)} bytes, " in row["key"]


def test_keys_of_a_few_thousand_bytes_stand_there_whole() -> None:
    keys = [b"k" * 8_000, b"k" + b"\xc3\xa4" * 3_000]
    assert [row["key"] for row in rows_of(keys)] == [key.decode() for key in keys]


def test_a_long_topic_is_cut_alike() -> None:
    (row,) = rows_of([b"k"], topic="../" * MEGABYTE)
    assert len(row["topic"]) <= MOST_CHARACTERS
    assert row["topic"].startswith("../../")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028", '"\n'])
def test_each_row_is_a_line_whatever_line_ends_are_in_it(end: str) -> None:
    keys = [f"a{end}b".encode(), end.encode(), b"c"]
    removed = pa.table([keys, [1] * 3, [7] * 3, [9] * 3, [None] * 3], schema=REMOVED_SCHEMA)
    lines = render_removed_keys([LogName(f"t{end}u", 0)], [3], removed)
    assert len(lines.decode().splitlines()) == lines.count(b"\n") == 3
