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
    """One way in which a file holds records. Each layout has a module and is registered in ``LAYOUTS``."""

    @abstractmethod
    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Byte ranges (start, end) of about ``split_bytes`` that cover all records.

        A single range if the file cannot be split.
        """

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """The ranges of ``plan`` for an open file, from a few reads of it.

        None if nearly all of the file would have to be read for that.
        """
        del file, source, split_bytes
        return None

    @abstractmethod
    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """The records of the logs that the user asked for, one by one.

        If ``values`` is False, a value may come out as any bytes or None. Raises UnreadableError, with the
        position.
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
        """The rows of ``index`` for several parts, in order: small parts of files that are alike.

        A batch may hold rows of several parts. After a reject no further rows need to come. The caller is
        ``index_pass.py``.
        """
        for part in parts:
            yield from self.index(part, extra)

    def records(self, file: DumpFile, split: Split, notes: SplitNotes | None = None) -> Iterator[Entry]:
        """All records of a split that are asked for, decoded in full. Raises InputError."""
        notes = SplitNotes() if notes is None else notes
        try:
            yield from self.read(SplitToIndex(file, split, notes), values=True)
        except UnreadableError as bad:
            raise self.refusal(file, bad) from bad

    def decode(self, chosen: Chosen, notes: SplitNotes | None = None) -> Iterator[Record]:
        """The chosen records, decoded in full for a conversion. Raises InputError.

        Where reading a record depends on those before it (``Dialect.in_order``), the whole split is read, and
        notes are about all of its records.
        """
        notes = SplitNotes() if notes is None else notes
        decode = self._decode_in_order if chosen.file.dialect.in_order else self.decode_alone
        try:
            yield from decode(chosen, notes)
        except UnreadableError as bad:  # perhaps in a field that the index did not look at
            raise self.refusal(chosen.file, bad) from bad

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """As ``decode``, where each record can be read alone. Raises UnreadableError, with the position."""
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
        """The error that a user sees for a record that cannot be read."""
        return InputError(f"{file.path}: {self.place(bad.position or 0)}: {bad}", hint=bad.hint)

    def place(self, position: int) -> str:
        """The position as messages name it, for files that have no lines."""
        return f"byte {position}"

    @abstractmethod
    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Write the original bytes of the chosen records in the order given; return the bytes written.

        Positions usually ascend; they do not for an input that is out of offset order.
        """

    def around(self, file: DumpFile) -> tuple[bytes, bytes, bytes]:
        """The bytes of an output file before, between and after fragments that are not empty.

        For example a header line, an Avro header with the input's metadata, or ``[``, ``,`` and ``]`` of a
        JSON array.
        """
        del file
        return b"", b"", b""


def until_reject(items: Iterable[Item], part: SplitToIndex) -> Iterator[Item]:
    """The items before the first one that cannot be read, which the part's notes get as a reject."""
    try:
        yield from items
    except UnreadableError as bad:
        part.notes.rejects.append(Reject(bad.position or 0, str(bad), bad.hint))


def asked_for(
    entries: Iterable[Entry], part: SplitToIndex, together: Callable[[Entry, Entry], int] | None = None
) -> Iterator[Entry]:
    """The records of the logs that the user asked for; the other logs are noted as left out.

    Where keys are made of the rows in change events, a tombstone without a key is merged into the delete
    before it; ``together`` gives the bytes that both take (None: the sum of both sizes).
    """
    entries = _wanted(entries, part)
    if not _are_joined(part.file):
        return entries
    together = together or (lambda delete, tombstone: delete[1] + tombstone[1])
    return _joined_tombstones(entries, part.notes, together)


def _are_joined(file: DumpFile) -> bool:
    return bool(file.dialect.cdc and file.dialect.key_fields)


def with_tombstones(chosen: Chosen, entries: Callable[[SplitToIndex], Iterable[Entry]]) -> Chosen:
    """The chosen records, with the tombstones that ``asked_for`` had merged as separate records again.

    Each comes directly after its delete. ``entries`` reads all records of a split.
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
    """The records, where a null without a key directly after a delete is merged into that delete.

    Such a null is the tombstone of the delete's row, which only the delete names: both have to stay or go
    together.
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
