"""What fast_lines.py must know of CSV: lines without quotes are the same few columns over and over."""

import numpy as np

from kcompact.dumps.csv_reader import CsvShape
from kcompact.dumps.dialect import Dialect
from kcompact.dumps.encodings import ENCODINGS
from kcompact.dumps.fast_lines import Scan
from kcompact.dumps.fixed_text import Digits, FixedText, is_number
from kcompact.dumps.framed import count_noise
from kcompact.dumps.layout import DumpFile, SplitNotes
from kcompact.dumps.line_template import LineTemplate, Spelling, is_clock, is_manageable
from kcompact.dumps.line_window import QUOTE, LineWindow, mark_replacements
from kcompact.dumps.record import Record


def covers(file: DumpFile) -> bool:
    """Whether rows can be read off a template: keys and values stand as they are, nothing means null."""
    dialect: Dialect = file.dialect
    special = {dialect.key_marker, dialect.value_marker, dialect.key_size, dialect.value_size}
    names = (dialect.key, dialect.value, dialect.offset)
    return (
        not dialect.labelled
        and not file.shape.rest
        and dialect.key_encoding == "text"
        and dialect.missing_value == "null"
        and dialect.timestamp_unit in {"ms", "auto"}
        and dialect.null_literal is None
        and not dialect.reads_values
        and special.isdisjoint(file.shape.columns)
        and all(name in file.shape.columns for name in names)
        and len(file.shape.delimiter.encode()) == 1
        and len(set(file.shape.columns)) == len(file.shape.columns)
    )


class CsvRules:
    """LineRules for CSV: the bytes to watch are delimiters; lines with quotes are left to the exact way."""

    def __init__(self, file: DumpFile) -> None:
        self._dialect: Dialect = file.dialect
        self._shape: CsvShape = file.shape
        self._decoder = ENCODINGS[self._dialect.value_encoding]
        self._delimiter = self._shape.delimiter.encode()
        self._spelling = Spelling(key_end=self._delimiter[0], quote=b"", null=b"")

    def holds_record(self, line: bytes, notes: SplitNotes) -> bool:
        """Blank lines hold none."""
        count_noise(notes, 0)
        return bool(line)

    def scan(self, window: LineWindow) -> Scan | None:
        """None where a quoted cell may go on in the next line."""
        if self._shape.quoting != "none" and window.holds(QUOTE):
            at = np.flatnonzero(window.data[window.first : window.last] == QUOTE) + window.first
            lines = np.searchsorted(window.ends, at)
            if self._shape.quoting != "rfc4180" or bool((np.bincount(lines) % 2).any()):
                return None
            window.odd[lines] = True
        if not self._dialect.byte_exact:
            mark_replacements(window)
        return Scan(escapes=False, marks=window.count(self._delimiter[0]))

    def learn(self, line: bytes, record: Record) -> LineTemplate | None:
        """From a line whose value comes after its key."""
        cells = self._cells(line)
        key, value = cells[self._dialect.key or ""], cells[self._dialect.value or ""]
        clock = cells.get(self._dialect.timestamp or "")
        if record.key is None or key[1] > value[0] or not is_clock(line, clock, self._dialect):
            return None
        roles = {getattr(self._dialect, role): role for role in ("offset", "partition", "timestamp")}
        numbers = [
            (roles.get(name), start, end)
            for name, (start, end) in cells.items()
            if is_number(line[start:end]) and name != self._dialect.headers
        ]
        texts = []
        for first, last in [(0, key[0]), (key[1], value[0]), (value[1], len(line))]:
            inside = [(role, start, end) for role, start, end in numbers if first <= start and end <= last]
            digits = [Digits(role, start - first, end - start) for role, start, end in inside]
            texts.append(FixedText(line[first:last], tuple(digits)))
        named = {number.role for text in texts for number in text.numbers}
        if "offset" not in named or not all(map(is_manageable, texts)):
            return None
        head, middle, tail = texts
        marks = len(cells) - 1
        constants = record.topic, record.partition, record.timestamp_ms, record.headers
        return LineTemplate(self._spelling, head, middle, tail, True, marks, *constants)

    def marks_in(self, line: bytes) -> int:
        """Delimiters."""
        return line.count(self._delimiter)

    def telling(self) -> tuple[bytes, ...]:
        """Values are not looked into here."""
        return ()

    def unspelt(self, value: bytes) -> bytes:
        """Decoded; nothing is escaped."""
        return self._decoder(value)

    def count(self, notes: SplitNotes, rows: int, nulls: int) -> None:
        """All columns stand in a line that fits; an empty value is a missing one."""
        for role in ("record", "key", "value") if rows else ():
            notes.fields_seen[role] = notes.fields_seen.get(role, 0) + rows
        clocks = rows if self._dialect.timestamp in self._shape.columns else 0
        counts = {
            "missing_value": nulls,
            "timestamps": clocks if self._dialect.timestamp_unit == "auto" else 0,
        }
        for name, count in counts.items():
            if count:
                notes.counts[name] = notes.counts.get(name, 0) + count

    def _cells(self, line: bytes) -> dict[str, tuple[int, int]]:
        """Where each column starts and ends; the line is known to have as many as the header."""
        ends = np.cumsum([len(cell) + 1 for cell in line.removesuffix(b"\r").split(self._delimiter)]) - 1
        starts = [0, *(ends[:-1] + 1).tolist()]
        return dict(zip(self._shape.columns, zip(starts, ends.tolist(), strict=True), strict=True))
