"""Index rows of lines: a loop reads a window, and what it refuses is read by the reference, in its place."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns, new_columns
from kcompact.dumps.loops.readiness import scanner_of
from kcompact.dumps.loops.scanned_rows import Misfit, RecordPlaces, ScannedRows, note_logs, only_wanted
from kcompact.dumps.loops.windows import ByteRange, Cutting, LongLineError, Window, windows_of
from kcompact.dumps.records.framed import TOO_LARGE, TOO_LARGE_HINT
from kcompact.dumps.records.layout import Reject, SplitToIndex
from kcompact.dumps.records.record import index_schema

Reference = Callable[[SplitToIndex, frozenset[str]], Iterator[pa.RecordBatch]]
"""Index rows of a split, read record by record: ``FramedLayout.index``."""


class Scanner(Protocol):
    """A format's loop, set up for a file."""

    is_table: bool  # every record has every column
    cutting: Cutting | None  # where records are no lines

    def start(self, window: Window) -> None:
        """Look at a new window."""

    def scan(self, window: Window, columns: Columns) -> None:
        """Fill the columns with what follows ``columns.state[AT]``."""

    def more(self, rows: ScannedRows, window: Window, keys: pa.Array) -> list[pa.Array]:
        """The columns after INDEX_SCHEMA. Raises Misfit."""


def index_lines(
    parts: Sequence[SplitToIndex], extra: frozenset[str], reference: Reference
) -> Iterator[pa.RecordBatch]:
    """Index rows of parts that are alike: by a loop where the dump is large and its dialect allows it."""
    scanner = scanner_of(parts[0], extra)
    if scanner is not None:
        yield from LineLoop(scanner, parts, extra, reference).index()
        return
    for part in parts:
        yield from reference(part, extra)


class LineLoop:
    """Indexes one part, or several small ones that are alike in one window."""

    def __init__(
        self, scanner: Scanner, parts: Sequence[SplitToIndex], extra: frozenset[str], reference: Reference
    ) -> None:
        self._scanner = scanner
        self._parts = list(parts)
        self._file = parts[0].file
        self._extra = extra
        self._reference = reference
        self._logs: dict[int, LogName] = {}

    @property
    def _is_over(self) -> bool:
        """Whether a record could not be read: nothing may come after it."""
        return any(part.notes.rejects for part in self._parts)

    def index(self) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``; stops at the first record that cannot be read."""
        columns = new_columns()
        for window in self._windows():
            columns = columns.with_room(len(window.buffer))
            yield from self._rows_of(window, columns)
            if self._is_over:
                return

    def _rows_of(self, window: Window, columns: Columns) -> Iterator[pa.RecordBatch]:
        """Rows of a window's records, up to the first one that cannot be read."""
        columns.state[c.AT] = 0
        self._scanner.start(window)
        while columns.state[c.AT] < window.end and window.next_start is None:
            first = int(columns.state[c.AT])
            self._scanner.scan(window, columns)
            pieces = list(self._pieces(window, columns, first))
            if rows := sum(piece.num_rows for piece in pieces):
                whole = pa.Table.from_batches(pieces, index_schema(self._extra)).combine_chunks()
                yield from pieces if pieces[0].num_rows == rows else whole.to_batches()
            if self._is_over:
                return

    def _windows(self) -> Iterator[Window]:
        try:
            ranges = [ByteRange(f.data_path, s.start, s.end) for f, s, *_ in self._parts]
            yield from windows_of(ranges, self._scanner.cutting)
        except LongLineError as long:  # only a part that is read alone may be so large
            self._parts[0].notes.rejects.append(Reject(long.position, TOO_LARGE, TOO_LARGE_HINT))

    def _pieces(self, window: Window, columns: Columns, first: int) -> Iterator[pa.RecordBatch]:
        """The result of one call of the loop: accepted rows, and ranges between them for the reference."""
        rows = ScannedRows(self._file, columns, self._logs)
        try:
            batch = self._batch(window, rows) if rows.count else None
        except Misfit:
            yield from self._read_by_reference(window, first, int(columns.state[c.AT]))
            return
        accepted = 0
        for row, start, end in _joined(columns):
            if batch is not None and row > accepted:
                yield self._accepted(window, rows, batch, accepted, row)
            accepted = row
            yield from self._read_by_reference(window, start, end)
            if self._is_over:
                return
        if batch is not None and rows.count > accepted:
            yield self._accepted(window, rows, batch, accepted, rows.count)

    def _accepted(
        self, window: Window, rows: ScannedRows, batch: pa.RecordBatch, first: int, last: int
    ) -> pa.RecordBatch:
        """Some of the batch's rows, of logs that are wanted; notes learn of them."""
        ends = _rows_before_ends(window, rows).tolist()
        start = first
        for stretch, behind in zip(window.stretches, ends, strict=True):
            notes, end = self._parts[stretch.range_number].notes, min(behind, last)
            if start >= end:
                continue
            rows.count_in(notes, start, end, is_table=self._scanner.is_table)
            note_logs(notes, self._file, self._logs, batch.slice(start, end - start))
            start = end
        return only_wanted(batch.slice(first, last - first), self._file, self._logs)

    def _batch(self, window: Window, rows: ScannedRows) -> pa.RecordBatch:
        """All rows. Raises Misfit."""
        counts = np.diff(_rows_before_ends(window, rows), prepend=0)
        splits = [self._parts[stretch.range_number].split for stretch in window.stretches]
        positions = rows[c.START] + _spread([stretch.base for stretch in window.stretches], counts)
        # The newline that the last line of a file was given does not count.
        room = _spread([split.end for split in splits], counts) - positions
        places = RecordPlaces(
            _spread([split.split_id for split in splits], counts).astype(np.int32),
            positions,
            np.minimum(rows[c.END] - rows[c.START], room).astype(np.int32),
        )
        return rows.batch(
            places,
            self._extra,
            lambda chosen, keys: self._scanner.more(chosen, window, keys),
            self._parts[0].needs_extra,
        )

    def _read_by_reference(self, window: Window, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """The rows that the reference reads in [start, end), part by part."""
        for number, base, first, last in window.stretches:
            part = self._parts[number]
            begin, stop = base + max(start, first), min(base + min(end, last), part.split.end)
            if max(start, first) < min(end, last) and begin < stop:
                stretch = part._replace(split=part.split._replace(start=begin, end=stop))
                yield from self._reference(stretch, self._extra)
                if part.notes.rejects:
                    return


def _spread(numbers: list[int], counts: np.ndarray) -> np.ndarray:
    """Each number as many times as it counts: ten times as quick where there is only one."""
    return np.full(counts[0], numbers[0]) if len(numbers) == 1 else np.repeat(numbers, counts)


def _rows_before_ends(window: Window, rows: ScannedRows) -> np.ndarray:
    """How many rows start before the end of each stretch."""
    counts: np.ndarray = np.searchsorted(rows[c.START], [stretch.last for stretch in window.stretches])
    return counts


def _joined(columns: Columns) -> Iterator[tuple[int, int, int]]:
    """The ranges that the loop refused, as (rows before it, start, end); neighbours as one."""
    refused = columns.refused[: columns.state[c.REFUSALS]].tolist()
    while refused:
        row, start, end = refused[0]
        count = 1
        while count < len(refused) and refused[count][1] == end:
            end = refused[count][2]
            count += 1
        yield row, start, end
        del refused[:count]
