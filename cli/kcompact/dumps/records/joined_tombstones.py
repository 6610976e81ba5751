"""Tombstones without a key: in a dump of change events each belongs to the delete before it."""

from collections.abc import Iterable, Iterator

from kcompact.dumps.records.indexing import Found
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import Record


def joined_tombstones(found: Iterable[Found], notes: SplitNotes) -> Iterator[Found]:
    """Records, with a null that has no key directly after a delete made one with it: it is its tombstone.

    By itself it would tell nobody whose tombstone it is, so the two stay or go together.
    """
    last: Found | None = None
    for one in found:
        if last is not None and _is_tombstone_of(last[2], one[2]):
            position, _, delete = last
            notes.counts["joined_tombstones"] = notes.counts.get("joined_tombstones", 0) + 1
            yield position, one[0] + one[1] - position, delete._replace(value=None, is_delete=False)
            last = None
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _is_tombstone_of(delete: Record, record: Record) -> bool:
    same_log = (delete.topic, delete.partition) == (record.topic, record.partition)
    return delete.is_delete and same_log and record.key is None and record.value is None
