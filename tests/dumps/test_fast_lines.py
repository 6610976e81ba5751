"""Templates must never change what is read: every hostile row comes out as the exact way reads it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps import line_window
from kcompact.dumps.contents import CONTENT_EXTRA
from kcompact.dumps.csv_lines import CsvLines
from kcompact.dumps.csv_reader import CsvReader, CsvShape
from kcompact.dumps.csv_rules import CsvRules
from kcompact.dumps.csv_rules import covers as csv_covers
from kcompact.dumps.dialects import BY_NAME
from kcompact.dumps.fast_lines import FastLines
from kcompact.dumps.framed import FramedLayout
from kcompact.dumps.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.record import Record, index_schema


def exactly(part: SplitToIndex, extra: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
    return FramedLayout.index(CsvLines(), part.file, part.split, extra, part.notes)


def fast_lines(parts: list[SplitToIndex], extra: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
    file = parts[0].file
    fast = FastLines(CsvRules(file), partial(CsvReader, file, values=bool(extra)), parts, extra=extra)
    return fast.index(partial(exactly, extra=extra))


def whole(files: Sequence[DumpFile]) -> list[SplitToIndex]:
    return [
        SplitToIndex(file, Split(3 + file.file_id, file.file_id, 0, file.data_bytes), SplitNotes())
        for file in files
    ]


def assert_same(file: DumpFile, extra: frozenset[str] = frozenset()) -> pa.Table:
    return assert_same_together([file], extra)


def assert_same_together(files: Sequence[DumpFile], extra: frozenset[str] = frozenset()) -> pa.Table:
    """The table without values; with their hashes and the headers', fast and exact are compared too."""
    assert_same_with(files, extra | CONTENT_EXTRA)
    return assert_same_with(files, extra)


def assert_same_with(files: Sequence[DumpFile], extra: frozenset[str]) -> pa.Table:
    """Up to the first record that cannot be read: what follows it in other files nobody will see."""
    fast_parts, exact_parts = whole(files), whole(files)
    fast = pa.Table.from_batches(fast_lines(fast_parts, extra), index_schema(extra)).combine_chunks()
    exact: list[pa.RecordBatch] = []
    for part, fast_part in zip(exact_parts, fast_parts, strict=True):
        exact += exactly(part, extra)
        assert part.notes.rejects == fast_part.notes.rejects
        assert part.notes.logs == fast_part.notes.logs
        if part.notes.rejects:
            break
        assert part.notes == fast_part.notes
    assert pa.Table.from_batches(exact, index_schema(extra)).to_pylist() == fast.to_pylist()
    return fast


COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")
WITH_HEADERS = (*COLUMNS, "headers")
CSV_HOSTILE = [
    b"t,0,5,17,k,\n",
    b"t,0,5,17,k,a,b\n",
    b"t,0,5,17,k\n",
    b"t,0,5,17,,v\n",
    b't,0,5,17,"",v\n',
    b't,0,5,17,k,""\n',
    b't,0,5,17,"a,b","x""y, z"\n',
    b't,0,5,17,k,"two\nlines, and ""more"""\n',
    b't,0,5,17,k,"not closed\n',
    b't,0,5,17,k,ab"c"\n',
    b't,0,5,17,k,"ab"c\n',
    b"t,0,05,17,k,v\n",
    b"t,0, 5,17,k,v\n",
    b"t,0,-5,17,k,v\n",
    b"t,0,5,1700000000,k,v\n",
    b"t,0,5,100000000000000,k,v\n",
    b"t,0,5,,k,v\n",
    b"t,0,5,2024-01-01T00:00:00Z,k,v\n",
    b"t,,5,17,k,v\n",
    b",0,5,17,k,v\n",
    b"t,0,5,17,k\tx,v\ty\n",
    b"t,0,5,17,k,v\rw\n",
    b"t,0,5,17,k,v\r\n",
    b"t,0,5,17,k,\r\n",
    b"t,0,5,17,k,\\N\n",
    b"t,0,5,17,\xff,\xfe\n",
    "t,0,5,17,\ufffd,v\n".encode(),
    b"\n",
    b"  \n",
    b"t,0,5,17,k,v",
]


def csv_file(path: Path, data: bytes, quoting: str = "rfc4180") -> DumpFile:
    path.write_bytes(data)
    shape = CsvShape(columns=COLUMNS, quoting=quoting)
    return DumpFile(0, str(path), str(path), len(data), "csv_lines", BY_NAME["csv"], shape, topic="t")


@pytest.mark.parametrize("quoting", ["rfc4180", "backslash", "none"])
@pytest.mark.parametrize("number", range(len(CSV_HOSTILE)))
def test_hostile_row_among_regular_ones_reads_alike(tmp_path: Path, number: int, quoting: str) -> None:
    regular = [b"t,1,%d,1700000000000,key-%d,some value\n" % (n, n % 3) for n in range(8, 14)]
    data = b"".join([*regular, CSV_HOSTILE[number], *regular])
    assert_same(csv_file(tmp_path / "d.csv", data, quoting))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(CSV_HOSTILE),
            st.builds(
                lambda offset, key, value: b"t,0,%d,17,%s,%s\n" % (offset, key.encode(), value.encode()),
                st.integers(0, 10**12),
                st.text(alphabet="ab\"',\ufffdü", max_size=9),
                st.text(alphabet="ab\"',ü \t", max_size=9),
            ),
        ),
        max_size=30,
    ),
    st.sampled_from([40, 4000]),
)
def test_any_rows_read_alike(tmp_path: Path, dump: list[bytes], window_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_window, "WINDOW_BYTES", window_bytes)
        assert_same(csv_file(tmp_path / "d.csv", b"".join(dump)))
    halves = b"".join(dump[::2]), b"".join(dump[1::2])
    files = [csv_file(tmp_path / f"{number}.csv", half) for number, half in enumerate(halves)]
    assert_same_together([replace(file, file_id=number) for number, file in enumerate(files)])


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from([b"", b"a=b", b"a:1", b"a:17", b"7", b"12", b"x"]), max_size=30))
def test_headers_in_cells_read_alike(tmp_path: Path, cells: list[bytes]) -> None:
    dump = b"".join(b"t,0,%d,17,k,v,%s\n" % (at, cell) for at, cell in enumerate(cells))
    file = csv_file(tmp_path / "d.csv", dump)
    assert_same(replace(file, shape=replace(file.shape, columns=WITH_HEADERS)))


@pytest.mark.parametrize("extra", [frozenset(), CONTENT_EXTRA], ids=["rows", "contents"])
def test_regular_rows_fit_a_template(tmp_path: Path, extra: frozenset[str]) -> None:
    """Otherwise the comparisons above would compare the exact way with itself."""
    dump = b"".join(b"t,%d,%d,17,k-%d,%s\n" % (n % 3, n, n, b"" if n % 5 == 0 else b"v") for n in range(1000))
    file = csv_file(tmp_path / "d.csv", dump)
    unread = []

    class Counting(CsvReader):
        def __call__(self, data: bytes, ordinal: int) -> Record:
            unread.append(data)
            return super().__call__(data, ordinal)

    part = SplitToIndex(file, Split(0, 0, 0, len(dump)), SplitNotes())
    fast = FastLines(CsvRules(file), partial(Counting, file, values=bool(extra)), [part], extra=extra)
    table = pa.Table.from_batches(fast.index(exactly))

    assert table.num_rows == 1000
    assert table["is_tombstone"].to_pylist().count(True) == 200
    assert len(unread) <= 4


def test_csv_as_it_is_recognised_is_read_by_templates(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "d.csv", b"t,0,5,17,k,v\n")

    assert csv_covers(file)
    assert not csv_covers(replace(file, shape=replace(file.shape, columns=(*COLUMNS, "key_encoding"))))
