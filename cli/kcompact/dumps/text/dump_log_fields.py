"""The fields in lines of kafka-dump-log, by the names of its versions: of a record, or of a batch."""

import re

from kcompact.counted import counted
from kcompact.dumps.records.layout import SplitNotes
from kcompact.errors import UnreadableError

_FIELD = re.compile(rb" (\w+): +(\S+)")
_COUNT = re.compile(rb"baseOffset: \d+ lastOffset: \d+ count: (\d+) ")
_TIMESTAMPS = ("createtime", "logappendtime", "notimestamptype")
_OLD_SIZE = "payloadsize"  # of Kafka 0.10, which prints no keysize where there is no key
_UNPACKED = {b"none", b"nocompressioncodec"}
_READ = {*_TIMESTAMPS, "keysize", "valuesize", _OLD_SIZE}
_TOO_OLD = "a record without a timestamp: kafka-dump-log before 0.10 printed none, and the payload as the key"


def fields_of(text: bytes) -> tuple[dict[str, bytes], str]:
    """The fields by name in lower case, including keysize and valuesize, and the name of the timestamp.

    Raises UnreadableError.
    """
    fields = {name.decode().lower(): value for name, value in _FIELD.findall(text)}
    clock = next((name for name in _TIMESTAMPS if name in fields), None)
    if _OLD_SIZE in fields:
        if clock is None:
            raise UnreadableError(_TOO_OLD, "print the segment with kafka-dump-log of Kafka 2.4 to 3.9")
        if fields.get("compresscodec", b"NONE").lower() not in _UNPACKED:
            raise UnreadableError(
                "compressed messages, as they are on disk", "print with --deep-iteration --print-data-log"
            )
        fields |= {"valuesize": fields[_OLD_SIZE], "keysize": fields.get("keysize", b"-1")}
    if clock is None or not {"keysize", "valuesize"} <= fields.keys():
        raise UnreadableError("a record without its sizes and timestamp", "print with --print-data-log")
    return fields, clock


def names_beside(text: bytes) -> list[str]:
    """The names of the fields that are no part of a record."""
    names = (name.decode() for name, _ in _FIELD.findall(text))
    return [name for name in names if name.lower() not in _READ]


def records_in_batch(line: bytes) -> int:
    """The number of records that the line of a batch announces, else 0; 1 for a line that is cut off."""
    count = _COUNT.match(line)
    return int(count[1]) if count else int(not line.endswith(b"\n"))


def count_damage(line: bytes, notes: SplitNotes) -> bool:
    """Count damage that the tool reports; return whether the line is about a torn end of a segment."""
    notes.count("invalid_batches", int(line.startswith(b"baseOffset: ") and b" isvalid: false" in line))
    is_torn = _TORN.match(line) is not None
    notes.count("torn_segments", int(is_torn))
    return is_torn


_TORN = re.compile(rb"Found \d+ invalid bytes at the end of \d{20}\.log\s*\Z")


def refuse_missing(records: int, position: int) -> None:
    """Raise UnreadableError if ``records`` are missing of the batch whose line is at ``position``."""
    if records > 0:
        reason = f"{counted(records, 'record')} of the batch that begins here did not follow"
        raise UnreadableError(reason, "was the output edited or cut? print it again", position=position)
