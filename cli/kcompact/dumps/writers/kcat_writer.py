"""Key TAB value lines, as ``kcat -P -Z`` with ``-K`` and a TAB reads them for one topic and partition.

With ``-Z`` kcat sends an empty key or value as null: a tombstone is a line that ends behind its TAB, and a
key or value that is really empty cannot be told.
"""

from collections.abc import Iterable, Iterator

from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.writer import Writer, in_chunks, where
from kcompact.errors import OutputError

_HINT = "samples/replay.py replays any dump without loss"


class KcatWriter(Writer):
    """Lines of one log."""

    suffix = ".txt"
    losses = ("offsets", "timestamps", "headers")
    one_log = True

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """A line each. Raises OutputError where kcat would read something else back."""
        return in_chunks(map(_line, records))


def _line(record: Record) -> bytes:
    for role, data, delimiters in (("key", record.key, b"\t\n\0"), ("value", record.value, b"\n")):
        if data == b"":
            raise OutputError(
                f"{where(record)}: an empty {role}, which kcat -Z would send as null", hint=_HINT
            )
        sign = next((byte for byte in delimiters if byte in (data or b"")), None)
        if sign is not None:
            raise OutputError(
                f"{where(record)}: the {role} contains {_NAMES[sign]}, which kcat would split at", hint=_HINT
            )
    return (record.key or b"") + b"\t" + (record.value or b"") + b"\n"


_NAMES = {0x09: "a TAB", 0x0A: "a line end", 0x00: "a zero byte"}
