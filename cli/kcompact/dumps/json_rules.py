"""What fast_lines.py must know of JSON lines."""

import orjson

from kcompact.dumps.dialect import Dialect
from kcompact.dumps.encodings import ENCODINGS
from kcompact.dumps.fast_lines import Scan
from kcompact.dumps.framed import count_noise
from kcompact.dumps.json_template import escapes_in, learn_template, unescaped_quotes
from kcompact.dumps.layout import SplitNotes
from kcompact.dumps.line_template import LineTemplate
from kcompact.dumps.line_window import QUOTE, LineWindow, mark_replacements
from kcompact.dumps.record import Record


def holds_record(line: bytes, notes: SplitNotes) -> bool:
    """Whether a line is neither blank nor kcat talking about itself, which notes count."""
    if line.startswith(b"%"):
        count_noise(notes, 1)
        return False
    return bool(line) and not line.isspace()


class JsonRules:
    """LineRules for JSON: the bytes to watch are unescaped quotes."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._decoder = ENCODINGS[dialect.value_encoding]

    def holds_record(self, line: bytes, notes: SplitNotes) -> bool:
        """Blank lines and noise hold none."""
        return holds_record(line, notes)

    def scan(self, window: LineWindow) -> Scan:
        """Odd are lines with escapes that are none, and with signs of lost bytes that may be in a key."""
        backslashes, escaped = escapes_in(window)
        if not self._dialect.byte_exact:
            mark_replacements(window)
        return Scan(backslashes, window.count(QUOTE) - escaped)

    def learn(self, line: bytes, record: Record) -> LineTemplate | None:
        """From a line without another line's oddities."""
        return learn_template(line, record, self._dialect)

    def marks_in(self, line: bytes) -> int:
        """Unescaped quotes."""
        return unescaped_quotes(line)

    def telling(self) -> tuple[bytes, ...]:
        """The text null, the name op within a value, and escapes that may spell either."""
        return (b'"null"', b'\\"op\\"', b"\\u00")

    def unspelt(self, value: bytes) -> bytes:
        """Without escapes, and decoded."""
        return self._decoder(orjson.loads(b'"%b"' % value).encode() if b"\\" in value else value)

    def count(self, notes: SplitNotes, rows: int, nulls: int) -> None:
        """All fields stand in a line that fits."""
        del nulls
        if not rows:
            return
        for role in ("record", "key", "value"):
            notes.fields_seen[role] = notes.fields_seen.get(role, 0) + rows
        if self._dialect.timestamp_unit == "auto" and self._dialect.timestamp is not None:
            notes.counts["timestamps"] = notes.counts.get("timestamps", 0) + rows
