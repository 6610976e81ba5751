"""JSON arrays of records: one, or several one after another."""

from collections.abc import Iterator

from kcompact.dumps.json.json_reader import JsonReader
from kcompact.dumps.json.json_scan import CLOSE, OPEN, Item, cuts_of, items_of
from kcompact.dumps.records.framed import CUT_HINT, NOT_A_RECORD_HINT, Frame, FramedLayout
from kcompact.dumps.records.layout import DumpFile, SplitNotes, UnreadableError
from kcompact.dumps.text.lines import ranges_between

_BLANKS = b" \t\r\n"


class JsonArray(FramedLayout):
    """A record is an element; brackets, commas and the blanks around them are not part of it."""

    reader = JsonReader

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after commas between elements."""
        start, end = file.shape.start, file.data_bytes
        if not file.shape.splittable or end - start <= split_bytes:
            return [(start, end)]
        cuts = cuts_of(file.data_path, start, end, split_bytes, commas=True)
        return ranges_between(cuts, end)

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
    """Whether an element is to be read: not in ``[]``, and not the null that Guardian ends with."""
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
