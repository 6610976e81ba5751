"""Index rows of lines that share templates, a window at a time; whatever does not fit is read one by one.

The rows are those of the exact way (``FramedLayout.index``): a line counts as fitting only where its text
proves that the exact way would read the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from kcompact.dumps.contents import ABSENT, CONTENT_EXTRA
from kcompact.dumps.framed import TOO_LARGE, TOO_LARGE_HINT, ReadRecord, UnreadableError
from kcompact.dumps.layout import Reject, SplitNotes, SplitToIndex
from kcompact.dumps.line_template import LineTemplate, match
from kcompact.dumps.line_window import ByteRange, LineWindow, LongLineError, windows_of
from kcompact.dumps.record import Record, log_id_of
from kcompact.dumps.window_rows import KIND_EXTRA, WindowRows, index_batch

FAST_EXTRA = KIND_EXTRA | CONTENT_EXTRA
"""All that lines which fit a template can be asked for."""

SMALLEST_FAST_BYTES = 256 << 10  # below, templates save nothing
MOST_TEMPLATES = 64
_LEARNED_PER_WINDOW = 8
_LONGEST_LEARNED_BYTES = 1 << 20  # a longer line is rather matched than learned from, or read just once
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
        """Without any of these a line holds no value that KIND_EXTRA tells apart from any other."""

    def unspelt(self, value: bytes) -> bytes:
        """The bytes that a value stands for. Raises ValueError where only the exact way can tell."""

    def count(self, notes: SplitNotes, rows: int, nulls: int) -> None:
        """Note what the exact way would have noted of lines that fit, ``nulls`` of them with null values."""


Exactly = Callable[[SplitToIndex], Iterator[pa.RecordBatch]]
"""Index rows of a part, read record by record."""


@dataclass(frozen=True)
class Scan:
    """What all of a window's bytes say."""

    escapes: bool  # whether there are backslashes
    marks: int  # how many watched bytes there are, in all lines


class FastLines:
    """Indexes one part, or several small ones that are alike in one window."""

    def __init__(
        self,
        rules: LineRules,
        reader: Callable[[SplitNotes], ReadRecord],
        parts: Sequence[SplitToIndex],
        *,
        extra: frozenset[str] = frozenset(),
    ) -> None:
        self._rules = rules
        self._extra = extra
        self._reader = reader
        self._readers: dict[int, ReadRecord] = {}  # by the number of the part
        self._try_to_read = reader(SplitNotes())  # the line will be counted when it is read for good
        self._parts = parts
        self._file = parts[0].file
        self._templates: list[LineTemplate] = []
        self._hopeless = 0
        self._logs: dict[tuple[str, int], int] = {}

    def index(self, exactly: Exactly) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``; stops at the first record that cannot be read.

        ``exactly`` reads the rest of a part where records span lines.
        """
        for window in self._windows():
            scan = self._rules.scan(window)
            if scan is None or self._hopeless == _HOPELESS_WINDOWS:
                for stretch in window.stretches:
                    part = self._parts[stretch.range_number]
                    rest = replace(part.split, start=window.position(stretch.first))
                    yield from exactly(part._replace(split=rest))
                    if part.notes.rejects:
                        return
                return
            rows = WindowRows.of(len(window.starts))
            if self._extra & KIND_EXTRA:
                window.mark_odd(self._rules.telling())
            self._fit(window, rows, scan)
            if self._extra & CONTENT_EXTRA:
                hidden = rows.values.decode(window, np.flatnonzero(rows.fits), self._rules.unspelt)
                rows.fits[hidden] = False
            mostly = 2 * int(np.count_nonzero(rows.fits)) > len(rows.fits)
            self._hopeless = 0 if mostly else self._hopeless + 1
            reject = self._read_others(window, rows)
            last = len(rows.fits) if reject is None else reject
            self._count(window, rows, last)
            kept = self._kept(window, rows, last)
            if len(kept):
                yield index_batch(window, rows, kept, self._parts, self._extra)
            if reject is not None:
                return

    def _windows(self) -> Iterator[LineWindow]:
        try:
            yield from windows_of([ByteRange(f.data_path, s.start, s.end) for f, s, _ in self._parts])
        except LongLineError as long:  # only a part that is read alone may be so large
            _, split, notes = self._parts[0]
            notes.rejects.append(Reject(split.split_id, long.position, TOO_LARGE, TOO_LARGE_HINT))

    def _count(self, window: LineWindow, rows: WindowRows, last: int) -> None:
        """Note of each part what the exact way would have noted of its lines before ``last`` that fit."""
        for stretch in window.stretches:
            lines = slice(stretch.first, min(stretch.last, last))
            fits = rows.fits[lines]
            nulls = int(np.count_nonzero(rows.is_null[lines] & fits))
            notes = self._parts[stretch.range_number].notes
            self._rules.count(notes, int(np.count_nonzero(fits)), nulls)

    def _fit(self, window: LineWindow, rows: WindowRows, scan: Scan) -> None:
        """Fill in the lines that fit a template, known or learned here."""
        left = np.flatnonzero(~window.odd)
        fitting: dict[LineTemplate, int] = {}
        for template in self._templates:
            before = len(left)
            left = self._apply(template, window, rows, left, scan)
            fitting[template] = before - len(left)
        for _ in range(_LEARNED_PER_WINDOW):
            learned = self._learn(window, left)
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

    def _learn(self, window: LineWindow, lines: np.ndarray) -> LineTemplate | None:
        short = lines[window.ends[lines] - window.starts[lines] <= _LONGEST_LEARNED_BYTES]
        if not len(short):
            return None
        number = int(short[0])
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
        if self._extra & CONTENT_EXTRA:
            lengths = np.where(is_null, ABSENT, chosen(found.value_bytes))
            rows.values.set(target, chosen(found.value_starts), lengths)
            rows.values.set_headers(target, template.headers)
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
            line, part_number = window.line(number), window.stretch_of(number).range_number
            _, split, notes = self._parts[part_number]
            if not self._rules.holds_record(line, notes):
                continue
            try:
                record = self._reader_of(part_number)(line, 0)
            except UnreadableError as unreadable:
                position = window.position(number) if unreadable.position is None else unreadable.position
                notes.rejects.append(Reject(split.split_id, position, str(unreadable), unreadable.hint))
                return int(number)
            rows.records[number] = record
            rows.log_ids[number] = self._log_id(record.topic, record.partition)
            rows.offsets[number] = record.offset
            rows.timestamps_ms[number] = record.timestamp_ms
            rows.is_null[number] = record.value is None
            rows.values.read(number, record)
        return None

    def _reader_of(self, part_number: int) -> ReadRecord:
        if part_number not in self._readers:
            self._readers[part_number] = self._reader(self._parts[part_number].notes)
        return self._readers[part_number]

    def _kept(self, window: LineWindow, rows: WindowRows, last: int) -> np.ndarray:
        """The lines before ``last`` that become index rows; notes learn their logs."""
        is_row = rows.fits.copy()
        is_row[list(rows.records)] = True
        is_row[last:] = False
        if not (is_row.all() and self._wants_all()):
            is_row &= self._wanted(rows.log_ids)
        for stretch in window.stretches:
            lines = slice(stretch.first, stretch.last)
            self._note_logs(self._parts[stretch.range_number].notes, rows.log_ids[lines][is_row[lines]])
        return np.flatnonzero(is_row)

    def _wants_all(self) -> bool:
        return not self._file.topics and not self._file.partitions

    def _wanted(self, log_ids: np.ndarray) -> np.ndarray:
        unwanted = {log: log_id for log, log_id in self._logs.items() if not self._file.wants(*log)}
        self._parts[0].notes.left_out.update(unwanted)  # whichever part they are in, of the same dump
        return ~np.isin(log_ids, list(unwanted.values()))

    def _note_logs(self, notes: SplitNotes, log_ids: np.ndarray) -> None:
        if len(notes.logs) == len(self._logs):
            return
        present = set(np.unique(log_ids).tolist())
        for log, log_id in self._logs.items():
            if log_id in present:
                notes.logs[log_id] = log


def are_few_bytes(parts: Sequence[SplitToIndex]) -> bool:
    """Whether templates would save nothing."""
    return sum(part.split.end - part.split.start for part in parts) < SMALLEST_FAST_BYTES
