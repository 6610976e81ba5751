"""Layouts of JSON values one after another: one on each line, objects over several lines, arrays."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from kcompact.dumps.json.json_reader import JsonReader
from kcompact.dumps.json.json_scan import CLOSE, OPEN, Item, cuts_of, items_of
from kcompact.dumps.loops.line_loop import index_lines
from kcompact.dumps.loops.readiness import are_loops_worth_it, load_loops
from kcompact.dumps.loops.windows import LongLineError
from kcompact.dumps.records.framed import CUT_HINT, MARK_WITHIN, NOT_A_RECORD_HINT, Frame, FramedLayout
from kcompact.dumps.records.layout import DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.records.shown import by_jq
from kcompact.dumps.text.between_records import pass_over
from kcompact.dumps.text.lines import LineLayout, lines_of, ranges_between
from kcompact.errors import UnreadableError


class JsonLines(LineLayout):
    """A record is a line. Blank lines are skipped, and lines that begin with ``%``, such as kcat's own."""

    reader = JsonReader

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """The lines that hold a record."""
        for line in lines_of(file.data_path, start, end):
            if line.data.startswith(b"%"):
                pass_over(line.data, line.position, notes)
            elif not line.data.isspace():
                yield line


_BLANKS = b" \t\r\n"
_CUT_BY_LOOP_BYTES = 128 << 20  # for less, importing numba costs more than it saves


def _cuts(file: DumpFile, split_bytes: int, *, commas: bool) -> list[int]:
    """The positions at which splits begin: the start of the records, and others as in ``cuts_of``."""
    start, end = file.shape.start, file.data_bytes
    if not file.shape.splittable or end - start <= split_bytes:
        return [start]
    if (
        end - start >= _CUT_BY_LOOP_BYTES
        and are_loops_worth_it(file)
        and load_loops(file.layout, compile_now=False)
    ):
        from kcompact.dumps.loops.json.lines_of_values_loop import cuts_by_loop  # needs numba

        with suppress(LongLineError):  # a record that is refused when it is read
            return cuts_by_loop(file, split_bytes)
    return cuts_of(file.data_path, start, end, split_bytes, commas=commas)


class _JsonValues(FramedLayout):
    """Layouts of records that may span lines."""

    reader = JsonReader

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Index rows, by a compiled loop if the dump is large and a loop can read its dialect."""
        yield from index_lines([part], extra, self.index_ranges)


class JsonArray(_JsonValues):
    """A record is an element; brackets, commas and the blanks around them are not part of it."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after commas between elements."""
        return ranges_between(_cuts(file, split_bytes, commas=True), file.data_bytes)

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Elements. Raises UnreadableError where the array is cut off."""
        inside = start != file.shape.start
        for item in items_of(file.data_path, start, end, commas=True, inside=inside):
            data = item.data.strip(_BLANKS)
            if item.opened == CLOSE:
                if data:
                    raise UnreadableError(
                        f"not an array: {data[:60].decode('utf-8', 'replace')!r}",
                        NOT_A_RECORD_HINT,
                        position=item.position,
                    )
            elif item.closed is None:
                if data or end == file.data_bytes:
                    raise UnreadableError(
                        "the array does not end: the file is cut off",
                        CUT_HINT,
                        position=item.position,
                    )
            elif _is_record(item, data, notes):
                lead = len(item.data) - len(item.data.lstrip(_BLANKS))
                yield Frame(item.position + lead, data)


def _is_record(item: Item, data: bytes, notes: SplitNotes) -> bool:
    """Whether an item is a record: not the nothing in ``[]``, and not the null with which Guardian ends."""
    if item.opened == OPEN and item.closed == CLOSE and not data:
        return False
    if data == b"null" and item.closed == CLOSE:
        notes.count("trailing_null_element")
        return False
    return True


def array_texts(head: bytes, tail: bytes, start: int) -> tuple[bytes, bytes, bytes]:
    """The bytes before, between and after the elements of an output array.

    Taken from the beginning (``head``, of which ``start`` bytes are a BOM) and the end (``tail``) of the
    input, so that a pretty array stays pretty.
    """
    opening = head.index(b"[", start) + 1
    first = len(head) - len(head[opening:].lstrip(_BLANKS))
    lead = head[opening:first]
    closing = tail.rfind(b"]")
    before = tail[:closing]
    return head[:opening] + lead, b"," + lead, before[len(before.rstrip(_BLANKS)) :] + tail[closing:]


BLANKS = b" \t\r\n\0\x1e"  # NUL and RS: delimiters that people choose
_PROBE_BYTES = 4096
_NOISE = re.compile(rb"^%[^\n]*$", re.MULTILINE)


class JsonObjects(_JsonValues):
    """A record is an object; the blanks after it belong to it, so that copied objects stay apart."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after objects."""
        start, *others = _cuts(file, split_bytes, commas=False)
        cuts = [start, *(_after_blanks(file.data_path, cut, file.data_bytes) for cut in others)]
        return ranges_between(cuts, file.data_bytes)

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
                elif not _is_blank(item, notes):
                    raise _not_json(item.data, item.position)
                record = None
            else:
                record = Frame(item.position - 1, b"{" + item.data + b"}")

    def content(self, data: bytes) -> bytes:
        """The object without the blanks after it."""
        return data.rstrip(BLANKS)


def _not_json(data: bytes, position: int) -> UnreadableError:
    """The error for text between objects."""
    text = data.strip()
    if text.startswith(BOM_UTF8):
        return UnreadableError(*MARK_WITHIN, position=position)
    hint = NOT_A_RECORD_HINT
    if text == b",":
        hint = (
            "if each record is a line of its own with a comma at its end: sed 's/,[[:space:]]*$//' FILE > NEW"
        )
    elif text.strip(BLANKS) == b"null":
        hint = (
            "it may be the tombstone of the delete before it, so do not remove it: print one value a"
            f" line, which --cdc reads with its nulls: {by_jq('.')}"
        )
    return UnreadableError(f"not JSON: {text[:60].decode('utf-8', 'replace')!r}", hint, position=position)


def _after_blanks(path: str, position: int, end: int) -> int:
    """The end of the blanks from ``position`` on, which belong to the record before them."""
    with Path(path).open("rb") as source:
        source.seek(position)
        while position < end:
            probe = source.read(_PROBE_BYTES)
            remainder = probe.lstrip(BLANKS)
            position += len(probe) - len(remainder)
            if remainder or not probe:
                break
    return position


def _is_blank(item: Item, notes: SplitNotes) -> bool:
    """Whether an item holds nothing but blanks and kcat's own lines, which are counted."""
    if not item.data.strip(BLANKS):
        return True
    for match in _NOISE.finditer(item.data):
        pass_over(match[0], item.position + match.start(), notes)
    return not _NOISE.sub(b"", item.data).strip(BLANKS)


def _with_blanks(record: Frame, after: Item, notes: SplitNotes) -> Frame:
    """The record with the blanks behind it, or those up to the line end if there are kcat's own lines, too.

    Raises UnreadableError for other text.
    """
    if not _is_blank(after, notes):
        raise _not_json(after.data, after.position)
    blanks = after.data[: len(after.data) - len(after.data.lstrip(BLANKS))]
    if len(blanks) < len(after.data):
        blanks = blanks[: blanks.find(b"\n") + 1]
    return record._replace(data=record.data + blanks)
