"""Reads lines by a compiled loop and by the reference: rows and notes have to be the same."""

import importlib
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops import readiness
from kcompact.dumps.loops.line_loop import LineLoop, Reference, Scanner
from kcompact.dumps.records.framed import FramedLayout, TextShape
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import INDEX_SCHEMA, index_schema
from siphash import SECRET


def assert_same(file: DumpFile, extra: frozenset[str] = frozenset()) -> pa.Table:
    return assert_same_together([file], extra)


def assert_same_together(files: Sequence[DumpFile], extra: frozenset[str] = frozenset()) -> pa.Table:
    """Compare loop and reference, also with hashes of values and headers; return the table without these."""
    in_full = assert_same_with(files, extra | CONTENT_EXTRA)
    assert_the_same_where_needed(files, extra | CONTENT_EXTRA, in_full)
    assert_same_with(files, frozenset({"value_hash"}), values_as_json=True)
    return assert_same_with(files, extra)


def assert_same_with(
    files: Sequence[DumpFile], extra: frozenset[str], *, values_as_json: bool = False
) -> pa.Table:
    """Compare loop and reference up to the first record that cannot be read; files after it are not used."""
    reference = _reference(files[0])
    loop_parts, reference_parts = (
        [part._replace(values_as_json=values_as_json) for part in whole(files)] for _ in range(2)
    )
    loop = LineLoop(scanner_for(loop_parts[0], extra), loop_parts, extra, reference)
    found = pa.Table.from_batches(loop.index(), index_schema(extra)).combine_chunks()
    expected: list[pa.RecordBatch] = []
    for part, loop_part in zip(reference_parts, loop_parts, strict=True):
        expected += reference(part, [part.split.byte_range], extra)
        assert part.notes.rejects == loop_part.notes.rejects
        assert part.notes.logs == loop_part.notes.logs
        if part.notes.rejects:
            break
        assert part.notes == loop_part.notes
    assert pa.Table.from_batches(expected, index_schema(extra)).to_pylist() == found.to_pylist()
    return found


def some_of(rows: pa.RecordBatch) -> np.ndarray:
    """Flags of about a third of the rows; in some batches of none."""
    offsets: np.ndarray = rows["offset"].to_numpy()
    return (offsets % 3 == 1) & (offsets.max(initial=0) % 4 > 0)


def assert_the_same_where_needed(files: Sequence[DumpFile], extra: frozenset[str], in_full: pa.Table) -> None:
    """Assert that all rows are read, and that rows which need columns of EXTRA_FIELDS have them."""
    needed: set[tuple[int, int]] = set()

    def needs_extra(rows: pa.RecordBatch) -> np.ndarray:
        found = some_of(rows)
        places = rows.filter(pa.array(found)).select(["split_id", "position"])
        needed.update(zip(*(column.to_pylist() for column in places.columns), strict=True))
        return found

    parts = [part._replace(needs_extra=needs_extra) for part in whole(files)]
    loop = LineLoop(scanner_of(files[0], extra), parts, extra, _reference(files[0]))
    found = pa.Table.from_batches(loop.index(), index_schema(extra))
    if any(part.notes.rejects for part in parts):
        return
    names = INDEX_SCHEMA.names
    assert found.select(names).slice(0, in_full.num_rows).to_pylist() == in_full.select(names).to_pylist()
    for row, expected in zip(found.to_pylist(), in_full.to_pylist(), strict=False):
        assert (row["split_id"], row["position"]) not in needed or row == expected


def read_by_loop_alone(file: DumpFile, extra: frozenset[str]) -> pa.Table:
    """All rows, read by the loop; fails if the loop leaves any to the reference."""
    return pa.Table.from_batches(batches_by_loop_alone(file, extra))


def batches_by_loop_alone(file: DumpFile, extra: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
    """As ``read_by_loop_alone``, batch by batch."""

    def refuse(*part: object) -> Iterator[pa.RecordBatch]:
        raise AssertionError(part)

    return LineLoop(scanner_of(file, extra), whole([file]), extra, refuse).index()


def whole(files: Sequence[DumpFile]) -> list[SplitToIndex]:
    return [
        SplitToIndex(
            file,
            Split(3 + file.file_id, file.file_id, _start_of(file), file.data_bytes),
            SplitNotes(),
            SECRET,
        )
        for file in files
    ]


def _start_of(file: DumpFile) -> int:
    return file.shape.start if isinstance(file.shape, TextShape) else 0


def scanner_of(file: DumpFile, extra: frozenset[str]) -> Scanner:
    return scanner_for(*whole([file]), extra)


def scanner_for(part: SplitToIndex, extra: frozenset[str]) -> Scanner:
    module = importlib.import_module(
        f"kcompact.dumps.loops.{readiness._SCANNERS[readiness._read_as(part.file.layout)]}"
    )
    scanner: Scanner | None = module.scanner_for(part, extra)
    assert scanner is not None
    return scanner


def _reference(file: DumpFile) -> Reference:
    layout = LAYOUTS[file.layout]
    assert isinstance(layout, FramedLayout)
    return partial(FramedLayout.index_ranges, layout)
