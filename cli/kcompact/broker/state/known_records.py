"""A few records of each log, by which a state recognises a later dump of the same topic."""

import hashlib
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcompact.arrays import Longs

RECORDS_PER_LOG = 8  # so many spread over the log, and so many of its newest
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class KnownRecord(NamedTuple):
    """A record as a state remembers it: without its value, and with a digest of its key."""

    offset: int
    timestamp_ms: int  # -1: the dump has none
    is_tombstone: bool
    is_kept: bool  # False only of the last record that was read, if the run removed it
    key_sha256: str | None  # the first 16 bytes in hex; None: no key


def key_digest(key: bytes | None) -> str | None:
    """``KnownRecord.key_sha256`` of a key."""
    return None if key is None else hashlib.sha256(key).hexdigest()[:32]


def rank(offsets: Longs) -> NDArray[np.uint64]:
    """The rank by which records are chosen: the same in every task, and scattered over the log."""
    mixed = (offsets.astype(np.uint64) + np.uint64(1)) * _FACTOR
    return (mixed ^ (mixed >> np.uint64(29))) * _FACTOR


def chosen(records: Collection[KnownRecord]) -> tuple[KnownRecord, ...]:
    """The records of a log to remember: the last one, the newest kept ones, and a few of all kept ones.

    Only the newest ones show that an output older than the last was given, beside the records after the last.
    """
    if not records:
        return ()
    survivors = sorted(record for record in records if record.is_kept)
    ranks = rank(np.array([record.offset for record in survivors], np.int64)).tolist()
    few = [record for _, record in sorted(zip(ranks, survivors, strict=True))[:RECORDS_PER_LOG]]
    return tuple(sorted({max(records), *survivors[-RECORDS_PER_LOG:], *few}))


def disagreement(expected: KnownRecord, actual: KnownRecord) -> str | None:
    """In words, a property by which the known record differs from the dump's at its offset, or None."""
    if expected.key_sha256 != actual.key_sha256:
        return "another key"
    if expected.is_tombstone != actual.is_tombstone:
        return f"a {'tombstone' if expected.is_tombstone else 'record with a value'}"
    if min(expected.timestamp_ms, actual.timestamp_ms) >= 0 and expected.timestamp_ms != actual.timestamp_ms:
        return f"the timestamp {expected.timestamp_ms}"
    return None


def explains_absence(record: KnownRecord, last_offset: int | None) -> bool:
    """Whether a broker may have removed a known record since.

    A later record of its key may have superseded it. If the dump has no record of its key, a tombstone may
    have expired. ``last_offset`` is the last offset of its key in the dump; None: there is none.
    """
    if not record.is_kept:
        return True
    return record.is_tombstone if last_offset is None else last_offset > record.offset
