"""Lines between the records of a dump that give a record's place, key or headers.

Sample programs of confluent-kafka-go and librdkafka, and Confluent's CLI, print them beside the values. A
reader that skipped them would merge logs and lose headers. Messages of kcat about itself begin like them.
"""

import re
from typing import Final

from kcompact.dumps.records.framed import NOISE_LINES
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError, UnreadableError

_TELLING = re.compile(
    rb"(?:% ?)?Message on \S+(?:\[\d+\]@\S+| \[\d+\] at offset \d+.*):"  # TopicPartition of Go; C
    rb"|% ?Message (?:\(offset \d+|headers:|timestamp: |Key|Payload)"  # rdkafka_example
    rb"|% ?(?:Headers?|Key|Timestamp): "
    rb"|% ?\S+ \[\d+\] at offset \d+ with key "  # Python
)
_OF_KCAT = re.compile(
    rb"% (?:Reached (?:end of topic|stop timestamp for topic) |Auto-selecting |Reading\b"
    rb"|Waiting for group rebalance|Group .* rebalanced |ERROR: )"
    rb"|%[0-7]\|\d+\.\d+\|"  # librdkafka
)
_WITHIN = re.compile(rb"% Reached end of topic \S+ \[\d+\] at offset \d+(?:: exiting)?\r?\n?\Z")
WITHIN_HINT = "export again with kcat -q, or with what it says in another file (2> LOG)"
UNKNOWN_LINES: Final = "skipped_unknown_lines"  # that begin like kcat's and are not: a count of SplitNotes
TOOL_HINT = (
    "a line that begins with % is a tool's own, most likely kcat's: export again with kcat -q, and with what"
    " it says in another file (2> LOG)"
)
_ANYWHERE = re.compile(b"^(?:" + _TELLING.pattern + b")", re.MULTILINE)
_WHO = "as samples of confluent-kafka-go and librdkafka, or Confluent's CLI, print places and headers"
HINT = "export as JSON lines (kcat -J), in which each record holds its place, its key and its headers"


def is_of_kcat(line: bytes) -> bool:
    """Whether a line is kcat's message about itself, in words that no record has."""
    return _OF_KCAT.match(line) is not None


def is_kcat_within(line: bytes) -> bool:
    """Whether a line ends with a message of kcat about itself, in the middle of a record.

    kcat writes records in pieces of 4 KB, but its messages line by line, with ``2>&1`` into the same file.
    """
    return b"% Reached end of topic " in line and _WITHIN.search(line) is not None


def pass_over(line: bytes, position: int, notes: SplitNotes) -> None:
    """Count a line between JSON records that begins with ``%``; the first that is not kcat's is an example.

    Raises UnreadableError for a line that tells where a record is from.
    """
    refuse_telling(line, position)
    if is_of_kcat(line):
        notes.count(NOISE_LINES)
        return
    notes.count(UNKNOWN_LINES)
    notes.examples.setdefault(UNKNOWN_LINES, [_shown(line)])


def refuse_telling(line: bytes, position: int) -> None:
    """Raise UnreadableError for a line, at a position of a file, that tells where a record is from."""
    if _TELLING.match(line):
        raise UnreadableError(_reason(line), HINT, position=position)


def refuse_kcat_within(line: bytes, position: int) -> None:
    """Raise UnreadableError for a text record with a message of kcat in its middle."""
    if is_kcat_within(line):
        reason = f"a message of kcat itself stands in the middle of a record: {_shown(line)}"
        raise UnreadableError(reason, WITHIN_HINT, position=position)


def refuse_telling_lines(path: str, head: bytes) -> None:
    """Raise InputError for the first line in a file's head that tells where a record is from."""
    may_tell = b"%" in head or b"Message on " in head  # a quick look: a dump may be ten thousand small files
    match = _ANYWHERE.search(head) if may_tell else None
    if match is not None:
        number = head.count(b"\n", 0, match.start()) + 1
        raise InputError(f"{path}:{number}: {_reason(head[match.start() :])}", hint=HINT)


def _reason(text: bytes) -> str:
    return f"{_shown(text)}: a line about the record beside it, {_WHO}"


def _shown(text: bytes) -> str:
    """The first line of a text, as messages quote it."""
    return shown(text.partition(b"\n")[0].rstrip(b"\r").decode("utf-8", "replace"))
