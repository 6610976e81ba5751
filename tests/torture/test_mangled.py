"""Mangled dumps: the records that still stand there, or a refusal with file and place. Nothing else.

Every dump is read without Spark, every fiftieth also goes through ``kcompact compact`` in one warm session.
What kcompact reads is compared with a reading of nothing but ``json``, ``csv`` and ``fastavro``.

KCOMPACT_TORTURE_COUNT dumps (default 1,000) from KCOMPACT_TORTURE_SEED on; a failure names its own seed.
"""

import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mangling import mangled
from plain_reading import Seen, UnreadableError, plain_reading

from avro_files import CODECS, PLAIN, avro_bytes
from conftest import Run
from dump_files import write_csv
from dump_pipeline import index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError
from oracle import Settings, clean

COUNT = int(os.environ.get("KCOMPACT_TORTURE_COUNT", "1000"))
SEED = int(os.environ.get("KCOMPACT_TORTURE_SEED", "0"))
THROUGH_SPARK = int(os.environ.get("KCOMPACT_TORTURE_THROUGH_SPARK", "50"))  # every so many
LONGEST_SECONDS = 20
LAYOUT_NAMES = ["json_lines", "json_array", "json_objects", "csv_lines", "avro"]
SUFFIXES = {
    "json_lines": "jsonl",
    "json_array": "json",
    "json_objects": "json",
    "csv_lines": "csv",
    "avro": "avro",
}
PLACE = re.compile(r":\d+: |: byte \d+|: line \d+")
KEYS = [b"a", b"b", "\u00e9".encode(), b"x,y", b'say "hi"', b"line\nbreak", b"", b"null"]


def random_records(chance: random.Random) -> list[Record]:
    offset, found = chance.choice([0, 7]), []
    for _ in range(chance.randint(1, 30)):
        offset += chance.choice([1, 1, 2])
        value = chance.choice([None, b"", b"v%d" % offset, b'{"a":%d}' % offset])
        found.append(
            Record("t", chance.randrange(2), offset, 1_700_000_000_000 + offset, chance.choice(KEYS), value)
        )
    return found


def dump_bytes(records: list[Record], layout: str, chance: random.Random, folder: Path) -> bytes:
    if layout == "avro":
        return avro_bytes(
            PLAIN, records, codec=chance.choice(CODECS), block_bytes=chance.choice([1, 200, 16_000])
        )
    if layout == "csv_lines":
        return write_csv(folder / "whole.csv", records).read_bytes()
    rows = [
        {
            **{name: getattr(one, name) for name in ("topic", "partition", "offset")},
            "timestamp": one.timestamp_ms,
            **{
                name: None if data is None else data.decode()
                for name, data in (("key", one.key), ("value", one.value))
            },
        }
        for one in records
    ]
    if layout == "json_array":
        return json.dumps(rows, indent=chance.choice([None, 2])).encode()
    indent = 2 if layout == "json_objects" else None
    return "".join(json.dumps(row, indent=indent) + "\n" for row in rows).encode()


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail, wherever the code is, after so many seconds of this process's time."""

    def fail(*_: object) -> None:
        pytest.fail(f"no end within {seconds} seconds")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def read(path: Path) -> list[Record] | InputError:
    """What kcompact reads, or says instead."""
    try:
        with open_one(path) as dump:
            _, notes = index_all(dump)
            splits = dump.splits(1 << 40)
            check_notes(dump, notes)
            layout = LAYOUTS[dump.files[0].layout]
            return [row for split in splits for _, _, row in layout.records(dump.files[0], split)]
    except InputError as refused:
        return refused


def check(path: Path, layout: str, found: list[Record] | InputError) -> str:
    """What came of a dump, in a word. Fails where it is not right."""
    if isinstance(found, InputError):
        assert str(path) in found.message
        assert len(found.message) < 2_000
        return "refused with its place" if PLACE.search(found.message) else "refused as a whole"
    try:
        seen = plain_reading(path.read_bytes(), layout)
    except UnreadableError as unreadable:
        pytest.fail(f"{len(found)} records read where there is no reading: {unreadable}")
    if seen is None:
        return "read by rules"
    told = [(row.topic, row.partition, row.offset, row.key, row.value) for row in found]
    assert len(told) == len(seen)
    assert [pair for pair in zip(seen, told, strict=True) if not pair[0].agrees(pair[1])] == []
    return "read"


@pytest.mark.slow
def test_mangled_dumps_are_read_right_or_refused(tmp_path: Path) -> None:
    came_of: Counter[str] = Counter()
    for seed in range(SEED, SEED + COUNT):
        chance = random.Random(seed)
        layout = chance.choice(LAYOUT_NAMES)
        path = tmp_path / f"dump.{SUFFIXES[layout]}"
        path.write_bytes(
            mangled(dump_bytes(random_records(chance), layout, chance, tmp_path), layout, chance)
        )
        try:
            with within(LONGEST_SECONDS):
                came_of[f"{layout} {check(path, layout, read(path))}"] += 1
        except BaseException as error:
            error.add_note(f"KCOMPACT_TORTURE_SEED={seed} KCOMPACT_TORTURE_COUNT=1 ({layout})")
            raise
    print("\n".join(f"{count:7,} {what}" for what, count in sorted(came_of.items())))  # noqa: T201  pytest -s shows it
    if COUNT >= 1_000:
        assert all(
            came_of[f"{layout} read"] and came_of[f"{layout} refused with its place"]
            for layout in LAYOUT_NAMES
        )


def test_a_byte_before_an_opening_quote_does_not_join_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "dump.csv"
    path.write_bytes(b'topic,partition,offset,timestamp,key,value\nt,1,24,17,\xc3"line\nbreak","v"\n')
    refused = read(path)
    assert isinstance(refused, InputError)
    assert refused.message.startswith(f"{path}:2: a line end in a field without quotes")


@pytest.mark.usefixtures("spark")
def test_mangled_dumps_are_compacted_right_or_refused(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    came_of: Counter[str] = Counter()
    for seed in range(SEED, SEED + COUNT, THROUGH_SPARK):
        chance = random.Random(seed)
        layout = chance.choice(LAYOUT_NAMES)
        path = tmp_path / f"dump.{SUFFIXES[layout]}"
        path.write_bytes(
            mangled(dump_bytes(random_records(chance), layout, chance, tmp_path), layout, chance)
        )
        output = tmp_path / f"out{seed}.{SUFFIXES[layout]}"
        run = kcompact("compact", path, "-o", output, "--null-keys", "drop")
        note = f"KCOMPACT_TORTURE_SEED={seed} KCOMPACT_TORTURE_COUNT=1 ({layout}): {run.stderr}"
        assert run.exit_code in (0, 2), note
        came_of[f"{layout} exit {run.exit_code}"] += 1
        if run.exit_code == 2:
            assert not output.exists(), note
            place = str(path) in run.stderr.replace("\n", "") or re.search(r"\S-\d+ offset \d+", run.stderr)
            assert place, note
        else:
            seen = plain_reading(path.read_bytes(), layout)
            if seen is not None and all(one.is_sure for one in seen):
                assert compacted(output.read_bytes(), layout) == expected(seen), note
    print("\n".join(f"{count:7,} {what}" for what, count in sorted(came_of.items())))  # noqa: T201  pytest -s shows it


def compacted(data: bytes, layout: str) -> list[tuple[str, int, int]]:
    seen = plain_reading(data, layout) if data else []
    return sorted((one.topic, one.partition, one.offset) for one in seen or [])


def expected(seen: list[Seen]) -> list[tuple[str, int, int]]:
    records = {Record(one.topic, one.partition, one.offset, 0, one.key, one.value) for one in seen}
    retained = clean(records, Settings()).retained
    return sorted((one.topic, one.partition, one.offset) for one in retained)
