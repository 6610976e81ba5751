"""Index rows of lines that share templates, a window at a time; whatever does not fit is read one by one.

The rows are those of the exact way (``FramedLayout.index``): a line counts as fitting only where its text
proves that the exact way would read the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from kcompact.dumps.framed import ReadRecord, UnreadableError
from kcompact.dumps.indexing import EXTRA
from kcompact.dumps.layout import DumpFile, Reject, Split, SplitNotes
from kcompact.dumps.line_keys import gather_keys, replace_keys
from kcompact.dumps.line_template import LineTemplate, match
from kcompact.dumps.line_window import LineWindow, windows_of
from kcompact.dumps.record import VALUE_NULL, VALUE_PRESENT, Record, index_schema, log_id_of

FAST_EXTRA = frozenset({"value_kind", "is_debezium_delete"})
"""Columns of EXTRA_FIELDS that most lines need not be decoded for."""

SMALLEST_FAST_BYTES = 256 << 10  # below, templates save nothing
MOST_TEMPLATES = 64
_LEARNED_PER_WINDOW = 8
_HOPELESS_WINDOWS = 3  # after as many in which most lines fitted nothing, templates are no longer tried


class LineRules(Protocol):
    """What a layout knows about its lines."""

    def holds_record(self, line: bytes, notes: SplitNotes) -> bool:
        """Whether there is a record in a line; notes learn what was passed over."""

    def scan(self, window: LineWindow) -> "Scan | None":
        """Look at all bytes of a window; mark lines as odd that templates must not be tried on.

        None: records may span lines here.
        """

    def learn(self, line: bytes, record: Record) -> LineTemplate | None:
        """A template of the line, which reads as ``record``."""

    def marks_in(self, line: bytes) -> int:
        """How many of the watched bytes (unescaped quotes, delimiters) a line holds."""

    def telling(self) -> tuple[bytes, ...]:
        """Without any of these a line holds no value that FAST_EXTRA tells apart from any other."""

    def count(self, notes: SplitNotes, rows: int, nulls: int) -> None:
        """Note what the exact way would have noted of lines that fit, ``nulls`` of them with null values."""


Exactly = Callable[[Split], Iterator[pa.RecordBatch]]
"""Index rows of a split, read record by record."""


@dataclass(frozen=True)
class Scan:
    """What all of a window's bytes say."""

    escapes: bool  # whether there are backslashes
    marks: int  # how many watched bytes there are, in all lines


@dataclass
class WindowRows:
    """Columns of a window's lines. ``fits`` lines came from templates; the others from ``records``."""

    log_ids: np.ndarray
    offsets: np.ndarray
    timestamps_ms: np.ndarray
    is_null: np.ndarray
    key_starts: np.ndarray
    key_bytes: np.ndarray
    fits: np.ndarray
    marks: np.ndarray
    records: dict[int, Record]

    @classmethod
    def of(cls, lines: int) -> "WindowRows":
        """Room for so many lines."""
        log_ids, offsets, timestamps, starts, lengths, marks = (np.zeros(lines, np.int64) for _ in range(6))
        flags = [np.zeros(lines, bool) for _ in range(2)]
        return cls(log_ids, offsets, timestamps, flags[0], starts, lengths, flags[1], marks, {})


class FastLines:
    """Indexes one split."""

    def __init__(
        self,
        rules: LineRules,
        reader: Callable[[SplitNotes], ReadRecord],
        file: DumpFile,
        split: Split,
        notes: SplitNotes,
        *,
        extra: frozenset[str] = frozenset(),
    ) -> None:
        self._rules = rules
        self._extra = extra
        self._read = reader(notes)
        self._try_to_read = reader(SplitNotes())  # the line will be counted when it is read for good
        self._file = file
        self._split = split
        self._notes = notes
        self._templates: list[LineTemplate] = []
        self._hopeless = 0
        self._logs: dict[tuple[str, int], int] = {}

    def index(self, exactly: Exactly) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``; stops at the first record that cannot be read.

        ``exactly`` reads the rest of the split where records span lines.
        """
        for window in windows_of(self._file.data_path, self._split.start, self._split.end):
            scan = self._rules.scan(window)
            if scan is None or self._hopeless == _HOPELESS_WINDOWS:
                yield from exactly(replace(self._split, start=window.base + window.first))
                return
            rows = WindowRows.of(len(window.starts))
            if self._extra:
                window.mark_odd(self._rules.telling())
            self._fit(window, rows, scan)
            mostly = 2 * int(np.count_nonzero(rows.fits)) > len(rows.fits)
            self._hopeless = 0 if mostly else self._hopeless + 1
            reject = self._read_others(window, rows)
            last = len(rows.fits) if reject is None else reject
            nulls = int(np.count_nonzero(rows.is_null[:last] & rows.fits[:last]))
            self._rules.count(self._notes, int(np.count_nonzero(rows.fits[:last])), nulls)
            yield from self._batches(window, rows, last)
            if reject is not None:
                return

    def _fit(self, window: LineWindow, rows: WindowRows, scan: Scan) -> None:
        """Fill in the lines that fit a template, known or learned here."""
        left = np.flatnonzero(~window.odd)
        fitting: dict[LineTemplate, int] = {}
        for template in self._templates:
            before = len(left)
            left = self._apply(template, window, rows, left, scan)
            fitting[template] = before - len(left)
        for _ in range(_LEARNED_PER_WINDOW):
            learned = self._learn(window, int(left[0])) if len(left) else None
            if learned is None or len(fitting) == MOST_TEMPLATES:
                break
            before = len(left)
            left = self._apply(learned, window, rows, left, scan)
            if len(left) == before:
                break
            fitting[learned] = before - len(left)
        # The next window will be much like this one: first the template that most of its lines fit.
        self._templates = sorted(fitting, key=fitting.__getitem__, reverse=True)
        self._prove(window, rows, scan)

    def _learn(self, window: LineWindow, number: int) -> LineTemplate | None:
        line = window.data[window.starts[number] : window.ends[number]].tobytes()
        try:
            record = self._try_to_read(line.removesuffix(b"\r"), 0)
        except UnreadableError:
            return None
        return self._rules.learn(line, record)

    def _apply(
        self, template: LineTemplate, window: LineWindow, rows: WindowRows, lines: np.ndarray, scan: Scan
    ) -> np.ndarray:
        """Fill in the lines that fit; return those that do not."""
        if not len(lines):
            return lines
        found = match(template, window, lines, escapes=scan.escapes)
        every = bool(found.fits.all())
        fitting = lines if every else lines[found.fits]
        if not len(fitting):
            return lines

        def chosen(column: np.ndarray) -> np.ndarray:
            return column if every else column[found.fits]

        target = slice(None) if len(fitting) == len(rows.fits) else fitting
        numbers = {role: chosen(column) for role, column in found.numbers.items()}
        rows.log_ids[target] = self._log_ids(template, numbers.get("partition"))
        rows.offsets[target] = numbers["offset"]
        rows.timestamps_ms[target] = numbers.get("timestamp", template.timestamp_ms)
        is_null = chosen(found.is_null)
        rows.is_null[target] = is_null
        rows.key_starts[target] = chosen(found.key_starts)
        rows.key_bytes[target] = chosen(found.key_bytes)
        rows.marks[target] = template.marks + 2 * len(template.spelling.quote) * ~is_null
        rows.fits[target] = True
        return lines[:0] if every else lines[~found.fits]

    def _log_ids(self, template: LineTemplate, partitions: np.ndarray | None) -> np.ndarray | int:
        if partitions is None:
            return self._log_id(template.topic, template.partition)
        highest = int(partitions.max())
        if highest > 1 << 16:
            known, inverse = np.unique(partitions, return_inverse=True)
            ids = [self._log_id(template.topic, int(partition)) for partition in known]
            return np.array(ids, np.int64)[inverse]
        by_partition = np.zeros(highest + 1, np.int64)
        for partition in np.flatnonzero(np.bincount(partitions)).tolist():
            by_partition[partition] = self._log_id(template.topic, partition)
        return by_partition[partitions]

    def _log_id(self, topic: str, partition: int) -> int:
        log = topic, partition
        if log not in self._logs:
            self._logs[log] = log_id_of(*log)
        return self._logs[log]

    def _prove(self, window: LineWindow, rows: WindowRows, scan: Scan) -> None:
        """Take back lines that hold more watched bytes than their template has.

        No line that fits holds fewer, so if the sum is right, each of them is.
        """
        others = np.flatnonzero(~rows.fits)
        outside = sum(self._rules.marks_in(window.line(number)) for number in others.tolist())
        if scan.marks - outside == int(rows.marks.sum()):
            return
        for number in np.flatnonzero(rows.fits).tolist():
            rows.fits[number] = self._rules.marks_in(window.line(number)) == rows.marks[number]

    def _read_others(self, window: LineWindow, rows: WindowRows) -> int | None:
        """Read the lines that fit nothing; the number of the line at which it ends, if one is unreadable."""
        for number in np.flatnonzero(~rows.fits).tolist():
            line = window.line(number)
            if not self._rules.holds_record(line, self._notes):
                continue
            try:
                record = self._read(line, 0)
            except UnreadableError as unreadable:
                position = unreadable.position
                if position is None:
                    position = window.base + int(window.starts[number])
                reject = Reject(self._split.split_id, position, str(unreadable), unreadable.hint)
                self._notes.rejects.append(reject)
                return int(number)
            rows.records[number] = record
            rows.log_ids[number] = self._log_id(record.topic, record.partition)
            rows.offsets[number] = record.offset
            rows.timestamps_ms[number] = record.timestamp_ms
            rows.is_null[number] = record.value is None
        return None

    def _batches(self, window: LineWindow, rows: WindowRows, last: int) -> Iterator[pa.RecordBatch]:
        is_row = rows.fits.copy()
        is_row[list(rows.records)] = True
        is_row[last:] = False
        if not (is_row.all() and self._wants_all()):
            is_row &= self._wanted(rows.log_ids)
        kept = np.flatnonzero(is_row)
        if not len(kept):
            return
        chosen: Callable[[np.ndarray], np.ndarray] = (
            (lambda column: column) if len(kept) == len(is_row) else (lambda column: column[kept])
        )
        log_ids, starts = chosen(rows.log_ids), chosen(window.starts)
        self._note_logs(log_ids)
        positions = starts + window.base
        record_bytes = chosen(window.ends) + 1 - starts
        # The newline that the last line of a file was given does not count.
        record_bytes[-1] = min(record_bytes[-1], self._split.end - positions[-1])
        columns = [
            log_ids,
            chosen(rows.offsets),
            self._keys(window, rows, kept),
            chosen(rows.timestamps_ms),
            chosen(rows.is_null),
            np.full(len(kept), self._split.split_id, np.int32),
            positions,
            record_bytes.astype(np.int32),
        ]
        schema = index_schema(self._extra)
        columns += [_extra_column(name, rows)[kept] for name in schema.names[len(columns) :]]
        arrays = [c if isinstance(c, pa.Array) else pa.array(c) for c in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _keys(self, window: LineWindow, rows: WindowRows, kept: np.ndarray) -> pa.Array:
        whole = len(kept) == len(rows.fits)
        starts = rows.key_starts if whole else rows.key_starts[kept]
        lengths = rows.key_bytes if whole else rows.key_bytes[kept]
        keys = gather_keys(window, starts, lengths)
        return replace_keys(keys, kept, {n: record.key for n, record in rows.records.items()})

    def _wants_all(self) -> bool:
        return not self._file.topics and not self._file.partitions

    def _wanted(self, log_ids: np.ndarray) -> np.ndarray:
        unwanted = [log_id for log, log_id in self._logs.items() if not self._file.wants(*log)]
        return ~np.isin(log_ids, unwanted)

    def _note_logs(self, log_ids: np.ndarray) -> None:
        if len(self._notes.logs) == len(self._logs):
            return
        present = set(np.unique(log_ids).tolist())
        for log, log_id in self._logs.items():
            if log_id in present:
                self._notes.logs[log_id] = log


def _extra_column(name: str, rows: WindowRows) -> np.ndarray:
    """A column of FAST_EXTRA: what lines that fit say, and what the others were read to say."""
    if name == "value_kind":
        column = np.where(rows.is_null, VALUE_NULL, VALUE_PRESENT).astype(np.int8)
    else:
        column = np.zeros(len(rows.fits), bool)
    for number, record in rows.records.items():
        column[number] = EXTRA[name](record)
    return column
