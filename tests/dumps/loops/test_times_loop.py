"""Times as the loop reads them, against the reference: alike, or left to it."""

import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest

from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.fields import clock_of
from kcompact.dumps.loops.words import PADDING_BYTES
from kcompact.dumps.records.framed import TextShape
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.records.timestamps import has_no_zone, timestamp_ms
from kcompact.dumps.text.csv_reader import CsvShape
from loop_parity import assert_same, read_by_loop_alone

ACCEPTED = [
    "2024-01-31T10:00:00Z",
    "2024-02-29 23:59:59.999+0530",
    "2000-02-29T00:00:00.1-11:59",
    "1970-01-01T00:00:00+00",
    "9999-12-31T23:59:59.123456789Z",
    "2024-12-31 10:00:00",
    "2023-11-14T22:13:20.000Z",
    "1700000000123",
    "5",
]
LEFT = [
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:30:00+01:00",
    "2100-02-29T10:00:00Z",
    "2024-13-01T10:00:00Z",
    "2024-04-31T10:00:00Z",
    "2024-01-31T24:00:00Z",
    "2024-01-31T10:00:60Z",
    "2024-01-31T10:00:00.Z",
    "2024-01-31T10:00:00,5Z",
    "2024-01-31T10:00:00+5",
    "2024-01-31T10:00:00 UTC",
    "2024-01-31T10:00:00+24:00",
    "2024/01/31 10:00:00",
    "2024-01-31",
    "20240131T100000Z",
    "",
]


@numba.njit
def clock_in(data: np.ndarray, start: int, end: int) -> tuple[int, int]:
    """Compiled, as loops call it."""
    return clock_of(data, start, end)


def clock(text: str) -> tuple[int, int]:
    data = np.frombuffer(text.encode() + bytes(PADDING_BYTES), np.uint8)
    timestamp, kind = clock_in(data, 0, len(text.encode()))
    return timestamp, kind


def assert_as_the_reference_has_it(text: str) -> bool:
    """Whether the loop reads it: then the reference does, too, and to the same."""
    timestamp, kind = clock(text)
    if timestamp < 0:
        return False
    assert timestamp_ms(text, "ms") == timestamp
    assert has_no_zone(text) == (kind == c.ZONELESS)
    return True


@pytest.mark.parametrize("text", ACCEPTED)
def test_usual_times_are_read(text: str) -> None:
    assert assert_as_the_reference_has_it(text)


@pytest.mark.parametrize("text", LEFT)
def test_other_texts_are_left_to_the_reference(text: str) -> None:
    assert clock(text)[0] < 0


def random_time(rng: random.Random) -> str:
    """A time, often one that there is not, or with a sign that does not belong there."""
    date = f"{rng.randrange(1968, 2105):04}-{rng.randrange(14):02}-{rng.randrange(33):02}"
    time = f"{rng.randrange(25):02}:{rng.randrange(61):02}:{rng.randrange(61):02}"
    fraction = rng.choice(["", f".{rng.randrange(10 ** rng.randrange(1, 10))}"])
    zone = rng.choice(["", "Z", f"{rng.choice('+-')}{rng.randrange(25):02}{rng.choice(['', ':30', '00'])}"])
    text = f"{date}{rng.choice('T ')}{time}{fraction}{zone}"
    if rng.random() < 0.3:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(["", *"0:T .+-Zx/"]) + text[at + rng.randrange(2) :]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_any_time_that_is_read_is_the_reference_s(seed: int) -> None:
    rng = random.Random(seed)
    assert sum(assert_as_the_reference_has_it(random_time(rng)) for _ in range(5000)) > 1000


def file_of(folder: Path, layout: str, times: list[str], unit: str) -> DumpFile:
    """Records with these times, quoted; they are topic, partition, offset, ts, key and value."""
    if layout == "json_lines":
        lines = [
            f'{{"topic":"t","partition":"0","offset":"{n}","ts":"{time}","key":"k","payload":"v"}}'
            for n, time in enumerate(times)
        ]
        shape, dialect = TextShape(), BY_NAME["kcat"]
    else:
        lines = [f't,0,{n},"{time}",k,v' for n, time in enumerate(times)]
        names = ("topic", "partition", "offset", "timestamp", "key", "value")
        shape, dialect = CsvShape(columns=names), BY_NAME["csv"]
    path = folder / "dump"
    path.write_text("\n".join([*lines, ""]))
    dialect = replace(dialect, timestamp_unit=unit)
    return DumpFile(0, str(path), str(path), path.stat().st_size, layout, dialect, shape, topic="t")


@pytest.mark.everyday(2)
@pytest.mark.parametrize("unit", ["auto", "ms", "s", "us"])
@pytest.mark.parametrize("layout", ["json_lines", "csv_lines"])
def test_files_with_times_read_alike(layout: str, unit: str, tmp_path: Path) -> None:
    times = [*ACCEPTED, *(text for text in LEFT if is_read(text))]
    assert_same(file_of(tmp_path, layout, times, unit))
    assert read_by_loop_alone(file_of(tmp_path, layout, ACCEPTED, unit), frozenset()).num_rows == len(
        ACCEPTED
    )
    for text in LEFT:
        assert_same(file_of(tmp_path, layout, [*ACCEPTED, text], unit))


def is_read(text: str) -> bool:
    with suppress(ValueError):
        return timestamp_ms(text) >= -1
    return False
