"""A file that is a single JSON object with all records in ``records``, as AWS Lambda gets them from Kafka."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kcompact.dumps.files.copying import read_ranges
from kcompact.dumps.json.json_reader import JsonReader
from kcompact.dumps.json.json_text import (
    DECODER,
    ParsedJson,
    Repeating,
    member_of,
    past_blanks,
    repeated_member,
)
from kcompact.dumps.records.framed import Frame, FramedLayout, TextShape
from kcompact.dumps.records.layout import Chosen, DumpFile, SplitNotes
from kcompact.dumps.records.reading import FieldRules
from kcompact.dumps.records.record import Record

LARGEST_BYTES = 256 << 20  # as it is read as a whole; Lambda's events have at most 6 MB


@dataclass(frozen=True)
class WrapperShape(TextShape):
    """A TextShape with the arrays of records, each from its first element to the end of its last one."""

    arrays: tuple[tuple[int, int], ...] = ()
    separator: bytes = b","


class JsonWrapper(FramedLayout):
    """A record is an element of one of the arrays, one for each log. The small file is read as a whole."""

    reader = JsonReader

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """The elements of all arrays."""
        del start, end, notes
        text = Path(file.data_path).read_bytes().decode("latin-1")
        for opening, closing in file.shape.arrays:
            at = past_blanks(text, opening)
            while at < closing:
                _, stop = DECODER.raw_decode(text, at)
                yield Frame(at, text[at:stop].encode("latin-1"))
                at = past_blanks(text, stop)
                at = past_blanks(text, at + 1) if text[at] == "," else closing

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """The chosen records. Notes of a conversion get the object's members beside ``records``."""
        FieldRules(chosen.file, notes).see_beside(_members_beside(chosen.file))
        return super().decode_alone(chosen, notes)

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Copy records into the arrays they came from; return the bytes written."""
        file, _, positions, record_bytes = chosen
        arrays = file.shape.arrays
        array_numbers = np.searchsorted([opening for opening, _ in arrays], positions, side="right") - 1
        order = np.argsort(array_numbers, kind="stable")
        whole = memoryview(Path(file.data_path).read_bytes())
        written, current, separator = 0, 0, b""
        pieces = read_ranges(file.data_path, positions[order], record_bytes[order])
        for piece, array in zip(pieces, array_numbers[order].tolist(), strict=True):
            if array != current:
                written += out.write(_between_arrays(whole, arrays, current, array))
                current, separator = array, b""
            written += out.write(separator) + out.write(piece)
            separator = file.shape.separator
        return written + out.write(_between_arrays(whole, arrays, current, len(arrays) - 1))


def _between_arrays(whole: memoryview, arrays: tuple[tuple[int, int], ...], last: int, next_: int) -> bytes:
    """The bytes between two arrays; arrays between these are left empty."""
    return b"".join(bytes(whole[arrays[i][1] : arrays[i + 1][0]]) for i in range(last, next_))


def _members_beside(file: DumpFile) -> list[str]:
    whole, arrays = memoryview(Path(file.data_path).read_bytes()), file.shape.arrays
    pieces = whole[file.shape.start : arrays[0][0]], whole[arrays[-1][1] :]
    emptied = _between_arrays(whole, arrays, 0, len(arrays) - 1).join(map(bytes, pieces))
    members = ParsedJson(emptied).value.items()
    return [name for name, value in members if name != "records" and value is not None]


def wrapper_shape(data: bytes, start: int) -> WrapperShape | None:
    """The shape of a file that is one object with ``records``; None if it is anything else.

    Raises UnreadableError where ``records``, or a log in it, is there twice.
    """
    try:
        whole = ParsedJson(data[start:]).value
    except ValueError:
        return None
    records: Any = whole.get("records") if isinstance(whole, dict) else None
    if not _holds_records(records):
        return None
    text = data.decode("latin-1")
    at, _ = member_of(text, start, "records")
    if isinstance(whole, Repeating) and "records" in whole.twice:
        raise repeated_member("records", "the event", at)
    if isinstance(records, Repeating):
        log = min(records.twice)
        raise repeated_member(log, "the event", member_of(text, at, log)[0])
    starts = [at] if isinstance(records, list) else [member_of(text, at, name)[0] for name in records]
    arrays = [_array_at(text, start) for start in starts]
    first, last = arrays[0][0], arrays[-1][1]
    lead = data[data.rindex(b"[", 0, first) + 1 : first] if arrays[0][0] < arrays[0][1] else b""
    return WrapperShape(
        start=start,
        begin=data[:first],
        end=data[last:],
        splittable=False,
        arrays=tuple(arrays),
        separator=b"," + lead,
    )


def _holds_records(records: Any) -> bool:
    lists = list(records.values()) if isinstance(records, dict) else [records]
    if not lists or not all(isinstance(items, list) for items in lists):
        return False
    return all(isinstance(item, dict) for items in lists for item in items)


def _array_at(text: str, start: int) -> tuple[int, int]:
    """Where the first element of the array at ``start`` begins, and where its last one ends."""
    _, stop = DECODER.raw_decode(text, start)
    opening = past_blanks(text, start + 1)
    return opening, max(opening, len(text[: stop - 1].rstrip()))
