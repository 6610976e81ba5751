"""Lines read by a loop and by the reference: rows and notes have to be the same."""

import importlib
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops import readiness
from kcompact.dumps.loops.line_loop import LineLoop, Reference, Scanner
from kcompact.dumps.records.contents import CONTENT_EXTRA
from kcompact.dumps.records.framed import FramedLayout
from kcompact.dumps.records.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import index_schema
from siphash import SECRET


def assert_same(file: DumpFile, extra: frozenset[str] = frozenset()) -> pa.Table:
    return assert_same_together([file], extra)


def assert_same_together(files: Sequence[DumpFile], extra: frozenset[str] = frozenset()) -> pa.Table:
    """The table without values; with their hashes and the headers', loop and reference are compared too."""
    assert_same_with(files, extra | CONTENT_EXTRA)
    return assert_same_with(files, extra)


def assert_same_with(files: Sequence[DumpFile], extra: frozenset[str]) -> pa.Table:
    """Up to the first record that cannot be read: what follows it in other files nobody will see."""
    reference = _reference(files[0])
    loop_parts, reference_parts = whole(files), whole(files)
    loop = LineLoop(scanner_of(files[0], extra), loop_parts, extra, reference)
    found = pa.Table.from_batches(loop.index(), index_schema(extra)).combine_chunks()
    expected: list[pa.RecordBatch] = []
    for part, loop_part in zip(reference_parts, loop_parts, strict=True):
        expected += reference(part, extra)
        assert part.notes.rejects == loop_part.notes.rejects
        assert part.notes.logs == loop_part.notes.logs
        if part.notes.rejects:
            break
        assert part.notes == loop_part.notes
    assert pa.Table.from_batches(expected, index_schema(extra)).to_pylist() == found.to_pylist()
    return found


def read_by_loop_alone(file: DumpFile, extra: frozenset[str]) -> pa.Table:
    """All rows; fails where the reference is asked for any."""

    def refuse(*part: object) -> Iterator[pa.RecordBatch]:
        raise AssertionError(part)

    return pa.Table.from_batches(LineLoop(scanner_of(file, extra), whole([file]), extra, refuse).index())


def whole(files: Sequence[DumpFile]) -> list[SplitToIndex]:
    return [
        SplitToIndex(file, Split(3 + file.file_id, file.file_id, 0, file.data_bytes), SplitNotes(), SECRET)
        for file in files
    ]


def scanner_of(file: DumpFile, extra: frozenset[str]) -> Scanner:
    module = importlib.import_module(f"kcompact.dumps.loops.{readiness._SCANNERS[file.layout]}")
    scanner: Scanner | None = module.scanner_for(*whole([file]), extra)
    assert scanner is not None
    return scanner


def _reference(file: DumpFile) -> Reference:
    layout = LAYOUTS[file.layout]
    assert isinstance(layout, FramedLayout)
    return partial(FramedLayout.index, layout)
