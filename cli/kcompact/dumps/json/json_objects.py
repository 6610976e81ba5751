"""JSON objects one after another, over any number of lines: what rpk, kafkactl and ``jq .`` print."""

import re
from collections.abc import Iterator
from pathlib import Path

from kcompact.dumps.json.json_reader import JsonReader
from kcompact.dumps.json.json_scan import CLOSE, OPEN, Item, cuts_of, items_of
from kcompact.dumps.records.framed import (
    CUT_HINT,
    NOISE_LINES,
    NOT_A_RECORD_HINT,
    Frame,
    FramedLayout,
)
from kcompact.dumps.records.layout import DumpFile, SplitNotes, UnreadableError
from kcompact.dumps.text.lines import ranges_between

BLANKS = b" \t\r\n\0\x1e"  # NUL and RS: delimiters that people choose
_PROBE_BYTES = 4096
_NOISE = re.compile(rb"^%[^\n]*$", re.MULTILINE)


class JsonObjects(FramedLayout):
    """A record is an object; the blanks after it belong to it, so that copied objects stay apart."""

    reader = JsonReader

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after objects."""
        start, end = file.shape.start, file.data_bytes
        if not file.shape.splittable or end - start <= split_bytes:
            return [(start, end)]
        cuts = cuts_of(file.data_path, start, end, split_bytes, commas=False)
        cuts[1:] = [_after_blanks(file.data_path, cut, end) for cut in cuts[1:]]
        return ranges_between(cuts, end)

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Objects. Raises UnreadableError for anything else between them."""
        record: Frame | None = None
        for item in items_of(file.data_path, start, end, commas=False):
            if item.opened == OPEN and item.closed is None:
                if record:
                    yield record
                raise UnreadableError(
                    "the last record is cut off",
                    CUT_HINT,
                    position=item.position - 1,
                )
            if item.opened == CLOSE:
                if record:
                    yield _with_blanks(record, item, notes)
                elif not _is_blank(item.data, notes):
                    raise _not_json(item.data, item.position)
                record = None
            else:
                record = Frame(item.position - 1, b"{" + item.data + b"}")

    def content(self, data: bytes) -> bytes:
        """The object without the blanks after it."""
        return data.rstrip(BLANKS)


def _not_json(data: bytes, position: int) -> UnreadableError:
    """The error for what is between objects and is none."""
    text = data.strip()
    hint = NOT_A_RECORD_HINT
    if text.strip(BLANKS) == b"null":
        hint = (
            "it may be the tombstone of the delete before it, so do not remove it: print one value a line"
            " (jq -c .), which --cdc reads with its nulls"
        )
    return UnreadableError(f"not JSON: {text[:60].decode('utf-8', 'replace')!r}", hint, position=position)


def _after_blanks(path: str, position: int, end: int) -> int:
    """Where the blanks that belong to the record before a cut end."""
    with Path(path).open("rb") as source:
        source.seek(position)
        while position < end:
            probe = source.read(_PROBE_BYTES)
            remainder = probe.lstrip(BLANKS)
            position += len(probe) - len(remainder)
            if remainder or not probe:
                break
    return position


def _is_blank(data: bytes, notes: SplitNotes) -> bool:
    """Whether nothing is there but blanks and kcat's messages, which are counted."""
    if not data.strip(BLANKS):
        return True
    remainder, lines = _NOISE.subn(b"", data)
    notes.count(NOISE_LINES, lines)
    return not remainder.strip(BLANKS)


def _with_blanks(record: Frame, after: Item, notes: SplitNotes) -> Frame:
    """The record with the blanks that follow it; up to the line end if other things follow."""
    if not _is_blank(after.data, notes):
        raise _not_json(after.data, after.position)
    blanks = after.data[: len(after.data) - len(after.data.lstrip(BLANKS))]
    if len(blanks) < len(after.data):
        blanks = blanks[: blanks.find(b"\n") + 1]
    return record._replace(data=record.data + blanks)
