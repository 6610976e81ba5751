"""What every tool writes becomes every format, on the command line; ``KCOMPACT_MATRIX=whole``: all of it.

Expected is what the plain twin of the fixtures says, read by the standard library.
"""

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Run
from dialect_fixtures import FIXTURES, TOLD, Told
from independent_readers import READERS
from kcompact.dumps.records.record import Record
from oracle import Settings, clean

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
Place = tuple[int, int]
PADDING = 300_000  # blank lines: more than a dump that is read record by record may have bytes
SPELLINGS = ("lf", "crlf", "no final line end", "crlf, no final line end", "many blank lines")


class Case(NamedTuple):
    fixture: str
    format: str
    spelling: str
    state: bool


def cases(*, whole: bool) -> list[Case]:
    """All, or each fixture into each format once with a spelling that goes round."""
    if whole:
        return [Case(*case) for case in itertools.product(TOLD, READERS, SPELLINGS, (False, True))]
    formats, spellings = itertools.cycle(READERS), itertools.cycle(SPELLINGS)
    states = itertools.cycle((False, False, True))
    return [Case(*case) for case in zip(TOLD, formats, spellings, states, strict=False)]


CASES = cases(whole=os.environ.get("KCOMPACT_MATRIX") == "whole")


def twin(told: Told) -> dict[Place, Record]:
    """The records of plain.jsonl that the tool tells, by partition and offset."""
    rows = map(json.loads, (FIXTURES / "plain.jsonl").read_text().splitlines())
    records = {}
    for row in rows:
        if row["offset"] in told.lacking:
            continue
        value = None if row["value"] is None or (told.merged and not row["value"]) else row["value"].encode()
        place = row["partition"], row["offset"]
        records[place] = Record(row["topic"], *place, row["timestamp"], row["key"].encode(), value)
    return records


def respelt(data: bytes, spelling: str) -> bytes:
    """The same dump with other line ends."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return respelt(data.decode("utf-16").encode(), spelling).decode().encode("utf-16")
    if "no final" in spelling:
        data = data.removesuffix(b"\n").removesuffix(b"\r")
    if spelling.startswith("crlf"):
        data = re.sub(rb"\r?\n", b"\r\n", data)  # some have it already
    return data + b"\n" * (PADDING if spelling == "many blank lines" else 0)


def arguments(told: Told) -> Iterator[str]:
    for name, value in told.options.items():
        pairs = [f"{part}={field}" for part, field in value.items()] if name == "fields" else value
        yield from (f"--{name}", value if isinstance(value, str) else ",".join(pairs))


@pytest.mark.parametrize("case", CASES, ids=map(", ".join, (map(str, case) for case in CASES)))
def test_a_tool_s_records_arrive_in_another_format(case: Case, tmp_path: Path, kcompact: Cli) -> None:
    told = TOLD[case.fixture]
    source = tmp_path / case.fixture
    if (FIXTURES / case.fixture).is_dir():
        shutil.copytree(FIXTURES / case.fixture, source)
    else:
        shutil.copy(FIXTURES / case.fixture, source)
    for file in [source] if source.is_file() else filter(Path.is_file, source.rglob("*")):
        file.write_bytes(respelt(file.read_bytes(), case.spelling) if file.stat().st_size else b"")
    dump = f"{source}/**" if source.is_dir() else source
    output = tmp_path / f"out.{case.format}"
    state = ["--state", tmp_path / "state"] if case.state and not told.doubt else []

    run = kcompact("compact", dump, "-o", output, "--to", case.format, *arguments(told), *state)

    assert run.exit_code == 0, run.stderr
    if "not in offset order" in run.stderr:  # of several files; the remedy is tried
        joined = output.rename(tmp_path / f"joined.{case.format}")
        assert kcompact("compact", joined, "-o", output, "--no-report").exit_code == 0
        state = []  # which names the output that it belongs to
    records = twin(told)
    retained = clean(records.values(), Settings()).retained
    output_records = {(record.partition, record.offset): record for record in READERS[case.format](output)}
    assert output_records.keys() == {(record.partition, record.offset) for record in retained}
    for place, record in output_records.items():
        assert record.key == records[place].key
        assert is_same(record.value, records[place].value, told)
    if not told.doubt:
        verified = kcompact("verify", dump, output, *arguments(told), *state)
        assert verified.exit_code == 0, (verified.stdout, verified.stderr)


def is_same(value: bytes | None, expected: bytes | None, told: Told) -> bool:
    """Whether a value is the twin's; JSON may be spelt with other blanks, and some tools decode values."""
    if value is None or expected is None:
        return value == expected or (told.merged and not value and not expected)
    if not told.values:
        return True
    return json.loads(value) == json.loads(expected) if expected.startswith(b"{") else value == expected
