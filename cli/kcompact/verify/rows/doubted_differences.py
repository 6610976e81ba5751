"""Differences between two copies of a record that may come from how a tool writes records."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, flags_of
from kcompact.verify.rows.key_rows import KeyRows

_SECOND_MS = 1000


def doubts_about(rows: KeyRows, doubted: Collection[str], null_hashes: Collection[bytes]) -> dict[str, Flags]:
    """``KeyRows.doubts``: by column, where a difference may be none.

    ``doubted`` are the columns whose content a tool may not have written as it is. ``null_hashes`` are the
    ``value_hash`` of values that may stand for null in one of the dumps. If neither value of a record is one
    of these, a record that is a tombstone in one dump alone differs for certain.
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
    """Whether the value in either dump may stand for null."""
    likely_nulls = pa.array(null_hashes, pa.binary())
    sides = (rows.before, rows.before_at), (rows.after, rows.after_at)
    flags = [(flags_of(pc.is_in(table["value_hash"], likely_nulls)), at) for table, at in sides]
    may_be_null: Flags = np.any([np.append(of_table, False)[at] for of_table, at in flags], axis=0)
    return may_be_null


def _may_be_cut(rows: KeyRows) -> Flags:
    """Whether one of the two timestamps is a whole second, and less than a second from the other one."""
    sides = (rows.before, rows.before_at), (rows.after, rows.after_at)
    before_ms, after_ms = (np.append(table["timestamp_ms"].to_numpy(), 0)[at] for table, at in sides)
    is_whole = (before_ms % _SECOND_MS == 0) | (after_ms % _SECOND_MS == 0)
    may_be_cut: Flags = is_whole & (np.abs(before_ms - after_ms) < _SECOND_MS)
    return may_be_cut
