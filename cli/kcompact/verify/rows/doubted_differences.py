"""Differences between both dumps' copies of a record that may be none: a tool may not write all as it is."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, flags_of
from kcompact.verify.rows.key_rows import KeyRows

_SECOND_MS = 1000


def doubts_about(rows: KeyRows, doubted: Collection[str], null_hashes: Collection[bytes]) -> dict[str, Flags]:
    """As ``KeyRows.doubts``. ``doubted`` are columns that a tool may have written as others than they are.

    ``null_hashes`` are the ``value_hash`` of what may stand for null in one of the dumps. But for these, a
    record that is a tombstone in one dump alone is not the same in both, whatever a tool does.
    """
    is_null_in_one = rows.is_tombstone != rows.after_is_tombstone
    doubts = dict.fromkeys(rows.differs.keys() & doubted, ~is_null_in_one)
    if "timestamp_ms" in doubts:
        doubts["timestamp_ms"] = _may_be_cut(rows)
    if null_hashes and "value_hash" in rows.differs:
        may_be_null = is_null_in_one & _may_be_null(rows, null_hashes)
        doubts["value_hash"] = doubts.get("value_hash", False) | may_be_null
    return doubts


def _may_be_null(rows: KeyRows, null_hashes: Collection[bytes]) -> Flags:
    """Whether the value of either dump is what may stand for null."""
    likely_nulls = pa.array(null_hashes, pa.binary())
    sides = (rows.before, rows.before_at), (rows.after, rows.after_at)
    flags = [(flags_of(pc.is_in(table["value_hash"], likely_nulls)), at) for table, at in sides]
    may_be_null: Flags = np.any([np.append(of_table, False)[at] for of_table, at in flags], axis=0)
    return may_be_null


def _may_be_cut(rows: KeyRows) -> Flags:
    """Whether one of both timestamps is a whole second, less than a second from the other one."""
    sides = (rows.before, rows.before_at), (rows.after, rows.after_at)
    before_ms, after_ms = (np.append(table["timestamp_ms"].to_numpy(), 0)[at] for table, at in sides)
    is_whole = (before_ms % _SECOND_MS == 0) | (after_ms % _SECOND_MS == 0)
    may_be_cut: Flags = is_whole & (np.abs(before_ms - after_ms) < _SECOND_MS)
    return may_be_cut
