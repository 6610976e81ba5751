"""The output of ``kafka-dump-log --print-data-log``: a line for each record, between lines about batches."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePath
from typing import BinaryIO

import numpy as np

from kcompact.broker.log_names import parse_log_name
from kcompact.digits import whole_number
from kcompact.dumps.records.framed import Frame, FramedLayout, TextShape
from kcompact.dumps.records.layout import Chosen, DumpFile, SplitNotes
from kcompact.dumps.records.reading import REPLACEMENT, FieldRules
from kcompact.dumps.records.record import LARGEST_RECORD_BYTES, Record
from kcompact.dumps.records.shown import shown
from kcompact.dumps.records.timestamps import timestamp_type
from kcompact.dumps.text.dump_log_fields import (
    count_damage,
    fields_of,
    names_beside,
    records_in_batch,
    refuse_missing,
)
from kcompact.dumps.text.lines import lines_of, newline_of
from kcompact.errors import UnreadableError

RECORD_STARTS = (b"| offset: ", b"- offset: ", b"offset: ")
_OTHER_STARTS = (b"baseOffset: ", b"Dumping ", b"Starting offset: ", b"Log starting offset: ")
_OF_INDEX = re.compile(rb"Dumping \S[^\n]*\.(?:index|timeindex|txnindex|snapshot)\s")
_FIELD = rb" (?!(?:key|payload|headerKeys): )\w+: +\S+"
_RECORD = re.compile(
    rb"(?:[|-] )?offset: (?P<offset>\d+)(?P<fields>(?:" + _FIELD + rb")+)"
    rb"(?: headerKeys: \[(?P<headers>.*?)\](?= key: | payload: | endTxnMarker: |\s*\Z))?"
)
"""Versions of the tool differ in the fields between offset and key, and in their order."""
_BATCHES = "what lines about batches say"
_CONTROL = re.compile(  # its content is in place of key and payload; it has no headers
    rb"\s*(?:[|-] )?offset: \d+(?:" + _FIELD + rb")+?(?: headerKeys: \[\])? "
    rb"(?:(?:endTxnMarker|controlType|LeaderChange): |(?:SnapshotHeader|KRaftVersion|KRaftVoters) )"
)
_ABORT = b" endTxnMarker: ABORT"


@dataclass(frozen=True)
class Section:
    """The output about one file, from its line ``Dumping FILE`` on; the log is by FILE's folder, or Nones."""

    position: int
    line: bytes
    log: tuple[str | None, int | None]  # topic and partition


@dataclass(frozen=True)
class DumpLogShape(TextShape):
    """A TextShape with the blanks with which every line begins if the output was pasted."""

    indent: bytes = b""
    sections: tuple[Section, ...] = ()  # where the output of several logs was joined

    def section_at(self, position: int) -> Section | None:
        """The section in which a byte is."""
        number = bisect_right([section.position for section in self.sections], position)
        return self.sections[number - 1] if number else None


class DumpLogReader:
    """A reader of the lines of a record."""

    def __init__(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> None:
        del values
        self._rules = FieldRules(file, notes)
        self._rules.see_beside([_BATCHES])
        self._indent: bytes = file.shape.indent

    def __call__(self, data: bytes, ordinal: int) -> Record:
        """Read one record. Raises UnreadableError."""
        del ordinal
        data = data.removeprefix(self._indent)
        try:
            return _record(data, self._rules)
        except UnreadableError:
            if b"\r" not in data:
                raise
            windows = data.replace(b"\r\n", b"\n").removesuffix(b"\r")  # its line ends
            return _record(windows, self._rules)


class DumpLog(FramedLayout):
    """A record is a line, with further lines if its key or payload goes on there.

    The file is one range, as a payload may hold a line that looks like a record's.
    """

    reader = DumpLogReader

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Records; lines about files and batches, and control records, are left out."""
        pending: list[Frame] = []
        missing, batch_position = 0, start
        for line in lines_of(file.data_path, start, end):
            text = line.data.removeprefix(file.shape.indent)
            if _OF_INDEX.match(text):
                raise UnreadableError(
                    "the output about an index, not about a log",
                    "name only .log files: kafka-dump-log --print-data-log --files 00000000000000000000.log",
                    position=line.position,
                )
            is_torn = count_damage(text, notes)
            if is_torn or text.startswith(RECORD_STARTS + _OTHER_STARTS):
                yield from _finished(pending, notes)
                pending = [line] if text.startswith(RECORD_STARTS) else []
                missing -= len(pending)
                if not pending:
                    refuse_missing(missing, batch_position)
                    missing, batch_position = records_in_batch(text), line.position
            elif pending:
                pending.append(line)
            elif line.data.strip():
                raise UnreadableError(
                    f"not a line of kafka-dump-log: {line.data[:60].decode('utf-8', 'replace')!r}",
                    "print with --print-data-log into a file of its own",
                    position=line.position,
                )
        yield from _finished(pending, notes)
        refuse_missing(missing, batch_position)

    def placed(self, file: DumpFile, position: int, record: Record) -> Record:
        """The record in the log of its section."""
        section = file.shape.section_at(position)
        topic, partition = (None, None) if section is None else section.log
        if topic is None or partition is None:
            return record
        return record._replace(topic=topic, partition=partition)

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Copy the original bytes, with the line of a section before the first record of another log."""
        shape: DumpLogShape = chosen.file.shape
        positions, record_bytes = chosen.positions, chosen.record_bytes
        if not shape.sections:
            return super().copy(chosen, out)
        starts = [section.position for section in shape.sections]
        numbers = np.maximum(np.searchsorted(starts, positions, side="right") - 1, 0)
        written, last = 0, shape.sections[0].log
        for first, behind in pairwise([0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(positions)]):
            section = shape.sections[int(numbers[first])]
            if section.log != last:
                written += out.write(section.line)
            columns = positions[first:behind], record_bytes[first:behind]
            written += super().copy(Chosen(chosen.file, chosen.split, *columns), out)
            last = section.log
        return written

    def content(self, data: bytes) -> bytes:
        """The lines without the last line end; a CR before it may be the payload's, as its size tells."""
        return data.removesuffix(b"\n")


def _finished(pending: list[Frame], notes: SplitNotes) -> Iterator[Frame]:
    if not pending:
        return
    first = pending[0]
    if _CONTROL.match(first.data):
        notes.count("skipped_control_records")
        notes.count("abort_markers", int(_ABORT in first.data))
        return
    yield Frame(first.position, b"".join(line.data for line in pending))


def _record(data: bytes, rules: FieldRules) -> Record:
    match = _RECORD.match(data)
    if match is None:
        raise UnreadableError("not a record of kafka-dump-log", "print with --print-data-log")
    remainder = data[match.end() :]
    fields, clock = fields_of(match["fields"])
    if rules.is_conversion:
        rules.see_beside(names_beside(match["fields"]))
    offset = rules.to_offset(match["offset"].decode(), 0)
    key, remainder = _sized(remainder, b" key: ", fields["keysize"], b" payload: ")
    value, remainder = _sized(remainder, b" payload: ", fields["valuesize"], b"")
    if value and REPLACEMENT in value:
        rules.count("replaced_values")
    if remainder.strip():
        raise UnreadableError("more bytes than keySize and valueSize say", "was the output edited?")
    for role in ("record", "key", "value"):
        rules.see(role)
    if key:
        rules.check_key(key, offset)
    listed = (match["headers"] or b"").split(b",")
    headers = tuple((name.decode("utf-8", "surrogateescape"), None) for name in listed if name)
    if headers:
        rules.count("headers_without_values")
    return Record(
        rules.to_topic(None),
        rules.to_partition(None),
        offset,
        rules.to_timestamp_ms(fields[clock].decode()),
        key,
        value,
        headers,
        timestamp_type(clock),
    )


def _sized(data: bytes, label: bytes, size_text: bytes, following: bytes) -> tuple[bytes | None, bytes]:
    """A key or payload of the size that the line gives, and what comes after it."""
    size_spelt = size_text.decode("utf-8", "replace")
    size = whole_number(size_spelt)
    if size is None or size > LARGEST_RECORD_BYTES:
        raise UnreadableError(f"a size of {shown(size_spelt)} bytes", "was the output edited?")
    if size < 0:
        after = data.removeprefix(label + b"null")  # as a port of the tool prints it
        is_word = not after.strip() or (following and after.startswith(following))
        return None, after if is_word else data
    if not data.startswith(label):
        if size == 0:
            return b"", data
        raise UnreadableError(
            f"no{label.decode().rstrip()} in the line",
            "print with --print-data-log, and with kafka-dump-log of Kafka 2.4 or later (KAFKA-8745)",
        )
    text = data[len(label) :]
    after = text[size:]
    is_whole = after in {b"", b"\r"} or not after.strip(b"\n") or (following and after.startswith(following))
    if len(text) >= size and is_whole:
        return text[:size], after
    # Bytes that are no UTF-8 were replaced, so that sizes do not fit: the next field is found by its label.
    content, label_after, remainder = text.partition(following) if following else (text, b"", b"")
    if REPLACEMENT not in content:
        raise UnreadableError(f"not the {size} bytes that the line says", _SIZE_HINT)
    return content, label_after + remainder


_SIZE_HINT = (
    "was the output edited or cut? decoders (--offsets-decoder, --transaction-log-decoder, ...) show other"
    " texts than keys and values are: print without them"
)
_FIRST_LINES = 20
_TOLD = re.compile(
    rb"^([ \t]*)(?:baseOffset: \d+ lastOffset: |[|-] offset: \d+ |offset: \d+ position: |\| offset: "
    rb"|Dumping \S[^\n]*\.(?:index|timeindex|txnindex|snapshot)\s)",
    re.MULTILINE,
)
_STRANGE_LINE = re.compile(
    rb"^(?![ \t]*(?:Dumping |Starting offset: |Log starting offset: ))[^\n]*\n", re.MULTILINE
)
"""A line not of the tool, such as a command. Of an empty segment the tool prints only the excepted lines."""
_DUMPING = re.compile(rb"^[ \t]*Dumping (\S[^\n]*)", re.MULTILINE)
_DUMPING_LINE = re.compile(rb"^[ \t]*Dumping (\S[^\n]*)\n", re.MULTILINE)


def dump_log_facts(head: bytes, start: int) -> tuple[DumpLogShape, str | None, int | None] | None:
    """Shape, topic and partition of the tool's output, from its head; None if the file is no such output.

    The first ``start`` bytes of ``head`` are a byte order mark. A command line may have been pasted, too.
    """
    body = head[start:]
    first = _TOLD.search(body)
    if first is None or len(_STRANGE_LINE.findall(body, 0, first.start())) > _FIRST_LINES:
        return None
    dumping = _DUMPING.search(body, 0, first.end())
    start += first.start()
    newline = newline_of(body)
    shape = DumpLogShape(start, head[:start], newline=newline, splittable=False, indent=first[1])
    if dumping is None:
        return shape, None, None
    return shape, *log_of_folder(dumping[1].decode("utf-8", "replace"))


def sections_of(data_path: str) -> tuple[Section, ...]:
    """The sections of a file that is about several logs; empty if it is about one."""
    with Path(data_path).open("rb") as source, mmap(source.fileno(), 0, access=ACCESS_READ) as data:
        sections = [
            Section(match.start(), match[0], log_of_folder(match[1].decode("utf-8", "replace")))
            for match in _DUMPING_LINE.finditer(data)
        ]
    return tuple(sections) if len({section.log for section in sections}) > 1 else ()


def is_of_segment(path: str) -> bool:
    """Whether a file's name begins as Kafka names segments, such as ``00000000000000000000.log.txt``."""
    return _SEGMENT.match(PurePath(path).name) is not None


_SEGMENT = re.compile(r"[0-9]{20}\.")


def log_of_folder(path: str) -> tuple[str | None, int | None]:
    """Topic and partition by the name of the folder that a file is in, or None twice if it names no log."""
    log = parse_log_name(PurePath(path.replace("\\", "/")).parent.name)
    return log or (None, None)


def holds_no_record(head: bytes) -> bool:
    """Whether nothing but lines about batches was printed."""
    return re.search(rb"^[ \t]*(?:[|-] )?offset: ", head, re.MULTILINE) is None
