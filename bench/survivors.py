"""The records that a contestant kept, in a form that can be compared across formats and orders."""

import csv
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fastavro
import orjson

Row = tuple[object, object, object, object]
"""Partition, offset, key, value."""


@dataclass(frozen=True)
class Survivors:
    """Two are equal if the same records were kept, each equally often."""

    records: int
    digest: str  # the sum of the records' hashes, which no order changes


def files_of(path: Path) -> Iterator[Path]:
    """The file, or the data files in the folder."""
    yield from sorted(path.glob("part-*")) if path.is_dir() else [path]


def json_rows(path: Path) -> Iterator[Row]:
    with path.open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            yield record["partition"], record["offset"], record["key"], record["payload"]


def csv_rows(path: Path) -> Iterator[Row]:
    with path.open(newline="") as lines:
        for record in csv.DictReader(lines):
            yield record["partition"], record["offset"], record["key"], record["value"] or None


def avro_rows(path: Path) -> Iterator[Row]:
    with path.open("rb") as data:
        for record in fastavro.reader(data):
            if isinstance(record, dict):
                key, value = (
                    None if v is None else bytes(v).decode() for v in (record["key"], record["value"])
                )
                yield record["partition"], record["offset"], key, value


def digest_of(rows: Iterable[Row]) -> Survivors:
    total = records = 0
    for row in rows:
        text = "\0".join("\1" if part is None else str(part) for part in row)
        total += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
        records += 1
    return Survivors(records, f"{total % (1 << 128):032x}")


ROWS = {".jsonl": json_rows, ".csv": csv_rows, ".avro": avro_rows}


def survivors_of(path: Path, suffix: str) -> Survivors:
    """The survivors in the output for a dump with this ``suffix``."""
    return digest_of(row for file in files_of(path) for row in ROWS[suffix](file))
