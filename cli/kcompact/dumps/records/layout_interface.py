"""The interface of a layout: how a file holds records, and how survivors are copied out of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, TypeVar

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.records.indexing import Entry, index_rows
from kcompact.dumps.records.layout import (
    Chosen,
    DumpFile,
    Reject,
    Split,
    SplitNotes,
    SplitToIndex,
)
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError, UnreadableError

Item = TypeVar("Item")


class Layout(ABC):
    """One way in which a file holds records. One module per layout, registered in ``LAYOUTS``."""

    @abstractmethod
    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Byte ranges (start, end) that cover all records, cut near ``split_bytes``; one if unsplittable."""

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """As ``plan``, of an open file of which little is read; None: nearly all would have to be."""
        del file, source, split_bytes
        return None

    @abstractmethod
    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """The records that are asked for, one by one. Raises UnreadableError, with the position.

        Without ``values``, a value may come out as any bytes or None.
        """

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)`` in the order of the split's records, a few MB each.

        Stops at the first record that cannot be read.
        """
        records = until_reject(self.read(part, values=bool(extra)), part)
        yield from index_rows(records, part, extra)

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """As ``index`` of one after another, for small parts of files that are alike (``index_pass.py``).

        A batch may hold rows of several parts. After a reject nothing more may come.
        """
        for part in parts:
            yield from self.index(part, extra)

    def records(self, file: DumpFile, split: Split, notes: SplitNotes | None = None) -> Iterator[Entry]:
        """Every record, decoded in full. Raises InputError."""
        notes = SplitNotes() if notes is None else notes
        try:
            yield from self.read(SplitToIndex(file, split, notes), values=True)
        except UnreadableError as bad:
            raise self.refusal(file, bad) from bad

    def decode(self, chosen: Chosen, notes: SplitNotes | None = None) -> Iterator[Record]:
        """The chosen records, decoded in full for a conversion. Raises InputError.

        All are read, and noted, where one tells something of another.
        """
        notes = SplitNotes() if notes is None else notes
        decode = self._decode_in_order if chosen.file.dialect.in_order else self.decode_alone
        try:
            yield from decode(chosen, notes)
        except UnreadableError as bad:  # perhaps in what the index did not look at
            raise self.refusal(chosen.file, bad) from bad

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """As ``decode``, of records that need no others. Raises UnreadableError, with the position."""
        return self._decode_in_order(chosen, notes)

    def _decode_in_order(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        positions = set(chosen.positions.tolist())
        entries = self.read(SplitToIndex(chosen.file, chosen.split, notes), values=True)
        pairs = ((position, record) for position, _, record in entries if position in positions)
        if (np.diff(chosen.positions) > 0).all():
            yield from (record for _, record in pairs)
        else:
            by_position = dict(pairs)
            yield from (by_position[position] for position in chosen.positions.tolist())

    def refusal(self, file: DumpFile, bad: UnreadableError) -> InputError:
        """The error for a user."""
        return InputError(f"{file.path}: {self.place(bad.position or 0)}: {bad}", hint=bad.hint)

    def place(self, position: int) -> str:
        """How messages name a position where there are no lines."""
        return f"byte {position}"

    @abstractmethod
    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Write the original bytes of the chosen records; return the bytes written.

        Positions usually ascend; where they do not (an input out of offset order), the order given counts.
        """

    def around(self, file: DumpFile) -> tuple[bytes, bytes, bytes]:
        """The bytes of an output file before, between and after non-empty fragments.

        A header line or an Avro header with the input's metadata; ``[``, ``,`` and ``]`` of an array.
        """
        del file
        return b"", b"", b""


def until_reject(items: Iterable[Item], part: SplitToIndex) -> Iterator[Item]:
    """Whatever is read of a part, until something cannot be read, which notes learn."""
    try:
        yield from items
    except UnreadableError as bad:
        part.notes.rejects.append(Reject(bad.position or 0, str(bad), bad.hint))


def asked_for(
    entries: Iterable[Entry], part: SplitToIndex, together: Callable[[Entry, Entry], int] | None = None
) -> Iterator[Entry]:
    """The records of logs that the user asked for; notes learn of the other logs.

    Where keys are those of change events' rows, a tombstone without a key belongs to the delete before it;
    ``together`` says how many bytes the two take (None: the sum of both).
    """
    entries = _wanted(entries, part)
    if not _are_joined(part.file):
        return entries
    together = together or (lambda delete, tombstone: delete[1] + tombstone[1])
    return _joined_tombstones(entries, part.notes, together)


def _are_joined(file: DumpFile) -> bool:
    return bool(file.dialect.cdc and file.dialect.key_fields)


def with_tombstones(chosen: Chosen, entries: Callable[[SplitToIndex], Iterable[Entry]]) -> Chosen:
    """The same records, with the tombstone behind each delete that it belongs to, as records of their own.

    ``entries`` reads all records of a split.
    """
    if not _are_joined(chosen.file) or not len(chosen.positions):
        return chosen
    pairs = zip(chosen.positions.tolist(), chosen.record_bytes.tolist(), strict=True)
    parts = {pair[0]: [pair] for pair in pairs}
    last: Entry | None = None
    part = SplitToIndex(chosen.file, chosen.split, SplitNotes())
    for entry in _wanted(entries(part), part):
        if entry[0] in parts:
            parts[entry[0]] = [entry[:2]]
        if last is not None and _is_tombstone_of(last[2], entry[2]):
            if last[0] in parts:
                parts[last[0]].append(entry[:2])
            last = None
        else:
            last = entry
    expanded = [pair for position in chosen.positions.tolist() for pair in parts[position]]
    positions, sizes = zip(*expanded, strict=True)
    return chosen._replace(positions=np.array(positions, np.int64), record_bytes=np.array(sizes, np.int32))


def _wanted(entries: Iterable[Entry], part: SplitToIndex) -> Iterator[Entry]:
    for entry in entries:
        log = entry[2].topic, entry[2].partition
        if part.file.wants(*log):
            yield entry
        else:
            part.notes.left_out.add(LogName(*log))


def _joined_tombstones(
    entries: Iterable[Entry], notes: SplitNotes, together: Callable[[Entry, Entry], int]
) -> Iterator[Entry]:
    """The records, in which a null without a key directly after a delete is merged into that delete.

    It is the delete's tombstone, but does not say so itself, so the two stay or go together.
    """
    last: Entry | None = None
    for entry in entries:
        if last is not None and _is_tombstone_of(last[2], entry[2]):
            position, _, delete = last
            notes.count("joined_tombstones")
            yield position, together(last, entry), delete._replace(value=None, is_delete=False)
            last = None
            continue
        if last is not None:
            yield last
        last = entry
    if last is not None:
        yield last


def _is_tombstone_of(delete: Record, record: Record) -> bool:
    same_log = (delete.topic, delete.partition) == (record.topic, record.partition)
    return delete.is_delete and same_log and record.key is None and record.value is None
