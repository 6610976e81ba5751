"""Ranges of a file, copied by the loop and without it, against slices of the bytes."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompact.dumps.files import copying
from kcompact.dumps.files.copying import copy_ranges
from kcompact.dumps.loops.range_loop import read_each  # loaded: so the loop is taken

CONTENT = bytes(range(256)) * 5
Ranges = list[tuple[int, int]]
RANGES = st.lists(st.tuples(st.integers(0, len(CONTENT)), st.integers(0, 200)), max_size=30).map(
    lambda ranges: [(start, min(length, len(CONTENT) - start)) for start, length in ranges]
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ranges") / "dump"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture(params=["loop", "windows"])
def _each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways, with little room, so that it is used more than once."""
    monkeypatch.setattr(copying, "_JOINED_BYTES", 64)
    monkeypatch.setattr(copying, "WINDOW_BYTES", 100)
    monkeypatch.setattr(copying, "RANGES_AT_A_TIME", 7)
    if request.param == "windows":
        monkeypatch.setattr(copying, "loaded_loop", lambda _: None)


def columns(ranges: Ranges) -> tuple[np.ndarray, np.ndarray]:
    starts, lengths = np.array(ranges, np.int64).reshape(-1, 2).T
    return starts.copy(), lengths.astype(np.int32)


@pytest.mark.everyday(1)
@pytest.mark.usefixtures("_each_way")
def test_ranges_are_copied_in_the_order_given(dump: Path) -> None:
    @given(RANGES)
    @settings(max_examples=200)
    def check(ranges: Ranges) -> None:
        out = io.BytesIO()
        expected = b"".join(CONTENT[start : start + length] for start, length in ranges)
        assert copy_ranges(str(dump), *columns(ranges), out) == len(expected)
        assert out.getvalue() == expected

    check()


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("ranges", [[(len(CONTENT) - 3, 4)], [(0, 9), (len(CONTENT), 1)]])
def test_bytes_that_are_no_longer_there_are_missed(dump: Path, ranges: Ranges) -> None:
    with pytest.raises(EOFError):
        copy_ranges(str(dump), *columns(ranges), io.BytesIO())


@pytest.mark.parametrize(
    ("ranges", "read", "content"),
    [
        ([(0, 3), (9, 3)], 2, CONTENT[:3] + CONTENT[9:12]),
        ([(0, 3), (3, 4), (9, 3)], 3, CONTENT[:7] + CONTENT[9:12]),
        ([(0, 3), (3, 8), (0, 1)], 1, CONTENT[:3]),  # they touch, and there is no room for both
        ([(0, 3), (3, -1), (0, 1)], 1, CONTENT[:3]),
        ([(len(CONTENT) - 2, 1), (len(CONTENT) - 1, 2)], 0, b""),
        ([(0, 3), (9, 8), (0, 1)], 1, CONTENT[:3]),  # no room for the second
        ([(0, 3), (9, -1), (0, 1)], 1, CONTENT[:3]),
        ([(len(CONTENT) - 2, 3)], 0, b""),
        ([(-1, 3)], 0, b""),
    ],
)
def test_the_loop_writes_into_its_room_alone(dump: Path, ranges: Ranges, read: int, content: bytes) -> None:
    whole = np.full(30, 0xAA, np.uint8)
    starts, lengths = columns(ranges)
    descriptor = os.open(dump, os.O_RDONLY)
    try:
        assert read_each(descriptor, starts, lengths.astype(np.int64), whole[10:20]) == read
    finally:
        os.close(descriptor)
    assert whole[:10].tobytes() == whole[20:].tobytes() == b"\xaa" * 10
    assert whole[10 : 10 + len(content)].tobytes() == content
