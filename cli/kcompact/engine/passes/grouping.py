"""Merges the rows of each key into one: by a compiled loop where it is loaded, else table by table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from kcompact.engine.passes.offset_map import OffsetMap, loaded_map, merged_by_map

# The limits of one pass, so that a worker's memory does not grow with the dump. Passes of a million rows
# would take no less time per row, and four times the memory.
MOST_ROWS = 1 << 18
MOST_BYTES = 32 << 20
MOST_KEYS = 1 << 18  # groups that a worker holds; more are sent on, and may go to the disk
_REDUCED = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class KeyGrouping:
    """How rows of ``schema`` with the same log and key are merged into one.

    ``of_records`` makes such rows from index rows, one for each record with a key. ``merge`` names for each
    column the rule by which two rows are merged (see ``OffsetMap``).
    """

    schema: pa.Schema
    merge: Mapping[str, str]
    of_records: Callable[[pa.RecordBatch], pa.RecordBatch]

    def merged(self, batches: list[pa.RecordBatch]) -> pa.Table:
        """One row per (log, key), from rows of any tasks in any order."""
        loop = loaded_map()
        if loop is None:
            return _merged(pa.Table.from_batches(batches, self.schema), self.merge)
        return pa.Table.from_batches(merged_by_map(loop, self.schema, self.merge, batches), self.schema)


class KeyGrouper:
    """Merges the index rows of a task into one row per (log, key).

    ``columns_before`` names the columns that ``before`` tells (see ``OffsetMap``). Tables cannot tell them,
    so where they are asked for without compiled code, each row stays a group of its own.
    """

    def __init__(self, grouping: KeyGrouping, columns_before: Sequence[str] = ()) -> None:
        self._grouping, self._columns_before = grouping, columns_before
        self._grouper: OffsetMap | _TableGrouper | None = None

    @property
    def before(self) -> np.ndarray:
        """For each row of the last ``add``, ``columns_before`` of its group before it; -1 if it is the first.

        int64 of shape (columns, rows).
        """
        if self._grouper is None:
            return np.empty((len(self._columns_before), 0), np.int64)
        return self._grouper.before

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add index rows. Yields groups only when there are too many to hold."""
        if self._grouper is None:  # made with the first rows, as reading them loads the loops
            self._grouper = self._new_grouper()
        yield from self._grouper.add(self._grouping.of_records(batch))

    def _new_grouper(self) -> "OffsetMap | _TableGrouper":
        loop, grouping = loaded_map(), self._grouping
        if loop is None:
            return _TableGrouper(grouping.merge, len(self._columns_before))
        return OffsetMap(
            loop, grouping.schema, grouping.merge, MOST_KEYS, MOST_BYTES, columns_before=self._columns_before
        )

    def finish(self) -> pa.Table:
        """All groups that ``add`` has not yielded."""
        left = self._grouper.finish() if self._grouper else []
        return pa.Table.from_batches(left, self._grouping.schema)


class _TableGrouper:
    """Merges tables of many rows: for small dumps, and where there is no compiled code."""

    def __init__(self, merge: Mapping[str, str], columns_before: int) -> None:
        self._merge, self._columns_before = partial(_merged, merge=merge), columns_before
        self._rows = _Pending(MOST_ROWS)
        self._groups = _Pending(MOST_KEYS)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self.before = np.full((self._columns_before, batch.num_rows), -1)
        if self._columns_before:
            yield batch
            return
        self._rows.add(pa.Table.from_batches([batch]))
        if not self._rows.is_full():
            return
        rows = self._rows.rows
        groups = self._merge(self._rows.take())
        if 2 * groups.num_rows > rows:  # few keys came twice, so holding the groups would hardly pay
            yield from groups.to_batches()
            return
        self._groups.add(groups)
        if self._groups.is_full():
            merged = self._merge(self._groups.take())
            if 2 * merged.num_rows > MOST_KEYS:
                yield from merged.to_batches()
            else:
                self._groups.add(merged)

    def finish(self) -> list[pa.RecordBatch]:
        if self._rows.rows:
            self._groups.add(self._merge(self._rows.take()))
        if not self._groups.rows:
            return []
        several = len(self._groups.tables) > 1
        groups = self._groups.take()
        return (self._merge(groups) if several else groups).to_batches()


class _Pending:
    """Tables that wait until they have enough rows for a pass."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self.tables: list[pa.Table] = []
        self.rows = 0
        self._bytes = 0

    def add(self, table: pa.Table) -> None:
        self.tables.append(table)
        self.rows += table.num_rows
        self._bytes += table.nbytes

    def is_full(self) -> bool:
        return self.rows > self._most_rows or self._bytes > MOST_BYTES

    def take(self) -> pa.Table:
        table = pa.concat_tables(self.tables)
        self.tables, self.rows, self._bytes = [], 0, 0
        return table


def _merged(rows: pa.Table, merge: Mapping[str, str]) -> pa.Table:
    """One row per (log, key), from rows in any order: the same as the offset map, where no loop is loaded.

    Keys are told apart by their numbers in a dictionary encoding; a group_by would take twice as long.
    """
    if not rows.num_rows:
        return rows
    keys = pa.concat_arrays(rows["key"].chunks)
    columns = {name: rows[name].to_numpy() for name in rows.column_names if name != "key"}
    groups = numbered(keys, columns["log_id"])
    order = np.lexsort((columns["last_offset"], groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    latest = np.append(starts[1:], len(order)) - 1
    merged = {name: column[order[latest]] for name, column in columns.items()}
    for name, rule in merge.items():
        if rule in _REDUCED and name in columns:
            merged[name] = _REDUCED[rule].reduceat(columns[name][order], starts)
    for name in (name for name, rule in merge.items() if rule == "second"):
        before_latest = np.where(latest > starts, columns["last_offset"][order[latest - 1]], -1)
        merged[name] = np.maximum(np.maximum.reduceat(columns[name][order], starts), before_latest)
    merged["key"] = keys.take(pa.array(order[latest]))
    return pa.table([merged[name] for name in rows.column_names], schema=rows.schema)


def numbered(keys: pa.Array, log_ids: np.ndarray) -> np.ndarray:
    """A number (int64) for each row, from 0 on without gaps: the same for rows with the same log and key."""
    numbers: np.ndarray = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    log_of = np.empty(int(numbers.max()) + 1, np.int64)
    log_of[numbers] = log_ids
    if bool((log_of[numbers] == log_ids).all()):  # usual: each key is in one log, as keys decide on it
        return numbers
    known, codes = np.unique(log_ids, return_inverse=True)
    pairs = numbers * len(known) + codes
    return np.unique(pairs, return_inverse=True)[1]


def passes_for(batches: list[pa.RecordBatch]) -> int:
    """How many passes the rows of ``batches`` take, at least one."""
    rows, size = sum(batch.num_rows for batch in batches), sum(batch.nbytes for batch in batches)
    return max(-(-rows // MOST_ROWS), -(-size // MOST_BYTES), 1)
