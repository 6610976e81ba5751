"""Kafka's ``cleaner-offset-checkpoint``: the first dirty offset of each log.

Everything below it has been cleaned once (R48). Files are read and refused as by the broker's
``CheckpointFile.read`` (R46, R47), and written so that a broker could read them.
"""

import re
from collections.abc import Mapping

from kcompact.broker.log_names import LogName
from kcompact.broker.text_lines import read_text, shown
from kcompact.digits import INT_MAX, LONG_MAX, whole_number
from kcompact.errors import InputError

CHECKPOINT_NAME = "cleaner-offset-checkpoint"

_FIELDS_PER_ENTRY = 3
# What Java calls white space in a pattern is ASCII only, and a line ends at \n, \r or both.
_BLANKS = re.compile(r"[ \t\n\x0b\f\r]+")
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_checkpoint(path: str) -> dict[LogName, int]:
    """The content of a checkpoint file: see ``parse_checkpoint``. Raises InputError."""
    return parse_checkpoint(read_text(path), path)


def parse_checkpoint(text: str, path: str) -> dict[LogName, int]:
    """The first dirty offset of each log. Of several lines for a log, the last one counts. Raises InputError.

    Errors name ``path``. An empty file, or one with only a version line, holds no entries. Negative offsets
    are read as they are.
    """
    lines = _LINE_END.split(text)
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return {}
    version = _whole(lines[0], INT_MAX)
    if version is None:
        raise _malformed(path, 1, f"'{shown(lines[0])}' is not a version number")
    if version != 0:
        raise _malformed(path, 1, f"version {version}; only version 0 is known")
    return _read_entries(path, lines[1:]) if len(lines) > 1 else {}


def _read_entries(path: str, lines: list[str]) -> dict[LogName, int]:
    expected = _whole(lines[0], INT_MAX)
    if expected is None:
        raise _malformed(path, 2, f"'{shown(lines[0])}' is not a number of entries")
    if expected < 0:
        raise _malformed(path, 2, f"a negative number of entries, {expected}")
    entries = [_entry(path, number, line) for number, line in enumerate(lines[1:], start=3)]
    if len(entries) != expected:
        raise _malformed(path, 2, f"{expected} entries announced, {len(entries)} follow")
    return dict(entries)


def _entry(path: str, number: int, line: str) -> tuple[LogName, int]:
    fields = _BLANKS.split(line)
    while fields and fields[-1] == "":  # a trailing blank is accepted, a leading one is not
        fields.pop()
    if len(fields) != _FIELDS_PER_ENTRY:
        raise _malformed(path, number, f"'{shown(line)}' is not 'topic partition offset'")
    partition, offset = _whole(fields[1], INT_MAX), _whole(fields[2], LONG_MAX)
    if partition is None or offset is None:
        raise _malformed(
            path, number, f"'{shown(line)}' has a partition or offset that is not a whole number"
        )
    return LogName(fields[0], partition), offset


def _whole(text: str, largest: int) -> int | None:
    """A number as Java's parseInt and parseLong read it (sign and digits, no blanks, in range), or None."""
    number = whole_number(text)
    return number if number is not None and -largest - 1 <= number <= largest else None


def _malformed(path: str, line: int, reason: str) -> InputError:
    return InputError(
        f"{path}:{line}: {reason}",
        hint="a broker refuses this checkpoint file too; copy it again while the cleaner is idle",
    )


def format_checkpoint(entries: Mapping[LogName, int]) -> str:
    """The file's text: version 0, the number of entries, then ``topic partition offset`` sorted by log."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(entries.items())]
    return "\n".join(["0", str(len(lines)), *lines, ""])
