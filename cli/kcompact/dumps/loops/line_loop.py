"""Index rows of lines: a loop reads windows of them, and the reference reader the records that it refuses."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns, new_columns
from kcompact.dumps.loops.readiness import scanner_of
from kcompact.dumps.loops.scanned_rows import Misfit, RecordPlaces, ScannedRows, note_logs, only_wanted
from kcompact.dumps.loops.windows import ByteRange, Cutting, FileStretch, LongLineError, Window, windows_of
from kcompact.dumps.records.framed import TOO_LARGE, TOO_LARGE_HINT
from kcompact.dumps.records.layout import Reject, SplitToIndex
from kcompact.dumps.records.record import index_schema

Reference = Callable[[SplitToIndex, list[tuple[int, int]], frozenset[str]], Iterator[pa.RecordBatch]]
"""The reference reader, ``FramedLayout.index_ranges``: index rows of ranges of a split, record by record."""


Others = tuple[np.ndarray, pa.RecordBatch]
"""Where in the window each record begins that the reference has read, and the index rows of these records."""


class Scanner(Protocol):
    """A format's loop, set up for a file."""

    is_table: bool  # every record has every column
    cutting: Cutting | None  # for records that are no lines

    def start(self, window: Window) -> None:
        """Prepare for a new window."""

    def scan(self, window: Window, columns: Columns) -> None:
        """Fill the columns with records of the window, from ``columns.state[AT]`` on."""

    def more(self, rows: ScannedRows, window: Window, keys: pa.Array) -> list[pa.Array]:
        """The columns after INDEX_SCHEMA for these rows. Raises Misfit."""


def index_lines(
    parts: Sequence[SplitToIndex], extra: frozenset[str], reference: Reference
) -> Iterator[pa.RecordBatch]:
    """Index rows of parts that are alike: by a loop if the dump is large and a loop can read its dialect.

    Otherwise the reference reads them.
    """
    scanner = scanner_of(parts[0], extra)
    if scanner is not None:
        is_numbered = parts[0].file.dialect.offset is None
        for together in [[part] for part in parts] if is_numbered else [parts]:
            yield from LineLoop(scanner, together, extra, reference).index()
        return
    for part in parts:
        yield from reference(part, [part.split.byte_range], extra)


class LineLoop:
    """Indexes one part, or several small ones that are alike and share a window.

    Records without offsets get their numbers instead. Then there is a single part, and all of its rows get
    the extra columns: ``needs_extra`` asks for offsets, too, and numbers are only given at the end.
    """

    def __init__(
        self, scanner: Scanner, parts: Sequence[SplitToIndex], extra: frozenset[str], reference: Reference
    ) -> None:
        self._scanner = scanner
        self._file = parts[0].file
        self._is_numbered = self._file.dialect.offset is None
        self._next_number = self._file.start_offset or 0
        self._parts = (
            [part._replace(needs_extra=None) for part in parts] if self._is_numbered else list(parts)
        )
        self._extra = extra
        self._reference = reference
        self._logs: dict[int, LogName] = {}

    @property
    def _is_over(self) -> bool:
        """Whether a record could not be read, after which no rows may come."""
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
        """Rows of the window's records before the first one that cannot be read."""
        columns.state[c.AT] = 0
        self._scanner.start(window)
        while columns.state[c.AT] < window.end and window.next_start is None and not self._is_over:
            first = int(columns.state[c.AT])
            self._scanner.scan(window, columns)
            yield from self._scanned(window, columns, first)

    def _windows(self) -> Iterator[Window]:
        try:
            ranges = [ByteRange(f.data_path, s.start, s.end) for f, s, *_ in self._parts]
            yield from windows_of(ranges, self._scanner.cutting)
        except LongLineError as long:  # only a part that is read alone is so large
            self._parts[0].notes.rejects.append(Reject(long.position, TOO_LARGE, TOO_LARGE_HINT))

    def _scanned(self, window: Window, columns: Columns, first: int) -> Iterator[pa.RecordBatch]:
        """The rows of one call of the loop, with those of the reference in place of refused records."""
        rows, refused = ScannedRows(self._file, columns, self._logs), _refused(columns)
        ends = _rows_before_ends(window, rows).tolist()
        try:
            batch = self._batch(window, rows) if rows.count else None
        except Misfit:
            batch, ends = None, [0] * len(ends)
            refused = np.array([[first, columns.state[c.AT]]])
        accepted, others = 0, list[Others]()
        for stretch, rows_before_end in zip(window.stretches, ends, strict=True):
            part, end = self._parts[stretch.range_number], rows_before_end
            if len(refused):
                others += self._read_by_reference(part, stretch, refused)
            if part.notes.rejects:
                end = int(np.searchsorted(rows[c.START][:end], part.notes.rejects[0].position - stretch.base))
            if batch is not None and accepted < end:
                rows.count_in(part.notes, accepted, end, is_table=self._scanner.is_table)
                note_logs(part.notes, self._file, self._logs, batch.slice(accepted, end - accepted))
                accepted = end
            if part.notes.rejects:
                break
        in_order = [] if batch is None or not accepted else [batch.slice(0, accepted)]
        if others:
            in_order = self._merged(in_order, rows[c.START][:accepted], others)
        if self._is_numbered:
            in_order = [self._numbered(each) for each in in_order]
        yield from (only_wanted(each, self._file, self._logs) for each in in_order)

    def _merged(
        self, accepted: list[pa.RecordBatch], starts: np.ndarray, others: list[Others]
    ) -> list[pa.RecordBatch]:
        """All rows in the order of their records; accepted ones begin at ``starts`` of the window."""
        batches = [*accepted, *(batch for _, batch in others)]
        order = np.argsort(np.concatenate([starts, *(places for places, _ in others)]), kind="stable")
        whole = pa.Table.from_batches(batches, index_schema(self._extra)).combine_chunks()
        in_order = whole.take(pa.array(order)).combine_chunks()
        return list(in_order.to_batches())

    def _numbered(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The next rows of a file without offsets, with the numbers of their records as offsets."""
        first, self._next_number = self._next_number, self._next_number + len(rows)
        numbers = pa.array(np.arange(first, self._next_number))
        place = rows.schema.get_field_index("offset")
        return rows.set_column(place, rows.schema.field(place), numbers)

    def _read_by_reference(
        self, part: SplitToIndex, stretch: FileStretch, refused: np.ndarray
    ) -> Iterator[Others]:
        """Rows that the reference reads of one stretch of the window, in its refused ranges."""
        start, end = stretch.first, min(stretch.last, part.split.end - stretch.base)
        touched = slice(np.searchsorted(refused[:, 1], start, "right"), np.searchsorted(refused[:, 0], end))
        ranges = np.clip(refused[touched], start, end) + stretch.base
        if not len(ranges):
            return
        for batch in self._reference(part, [(begin, stop) for begin, stop in ranges.tolist()], self._extra):
            yield batch.column("position").to_numpy() - stretch.base, batch

    def _batch(self, window: Window, rows: ScannedRows) -> pa.RecordBatch:
        """All rows that the loop accepted. Raises Misfit."""
        counts = np.diff(_rows_before_ends(window, rows), prepend=0)
        splits = [self._parts[stretch.range_number].split for stretch in window.stretches]
        positions = rows[c.START] + _spread([stretch.base for stretch in window.stretches], counts)
        # A newline that was added to the last line of a file does not count.
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


def _spread(numbers: list[int], counts: np.ndarray) -> np.ndarray:
    """Each number as many times as ``counts`` says; filling with a single number is ten times as fast."""
    return np.full(counts[0], numbers[0]) if len(numbers) == 1 else np.repeat(numbers, counts)


def _rows_before_ends(window: Window, rows: ScannedRows) -> np.ndarray:
    """The number of rows that start before the end of each stretch."""
    counts: np.ndarray = np.searchsorted(rows[c.START], [stretch.last for stretch in window.stretches])
    return counts


def _refused(columns: Columns) -> np.ndarray:
    """The ranges that the loop refused, as rows (start, end); adjacent ranges are joined."""
    ranges = columns.refused[: columns.state[c.REFUSALS]]
    are_apart = ranges[1:, 0] != ranges[:-1, 1]
    begins = np.concatenate([ranges[:1, 0], ranges[1:, 0][are_apart]])
    ends = np.concatenate([ranges[:-1, 1][are_apart], ranges[-1:, 1]])
    return np.stack([begins, ends], axis=1)
