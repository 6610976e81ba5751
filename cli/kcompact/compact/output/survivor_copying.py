"""Copies survivors in the tasks that read them.

This is done stretch by stretch, so that the keys and report lines of a whole task are never in memory at
once.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kcompact.compact.output.compact_job import CompactJob
from kcompact.compact.output.decided_rows import is_kept
from kcompact.compact.output.split_figures import Splits, bounds_of
from kcompact.dumps.output.assemble import Fragment
from kcompact.engine.passes.copy_pass import open_part
from kcompact.engine.passes.grouped_rows import record_bytes_of, split_of
from kcompact.engine.passes.grouping import passes_for

_SAMPLED = 16  # one row out of so many is sampled to cut stretches


class SurvivorCopy:
    """One task's part of the output.

    Where the output has splits in another order than that of their ids, they are copied when all have come.
    """

    def __init__(self, job: CompactJob, number: int) -> None:
        self._part = open_part(job.plan, job.workplace, f"{number:06}", job.copier)
        parts = job.workplace.parts
        self._order = parts.places if parts else {}
        self._waiting: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by split, if there is such an order
        self._split_id: int | None = None
        self._places: list[tuple[np.ndarray, np.ndarray]] = []  # of the survivors of this split so far
        self._fragments: list[Fragment] = []

    def add(self, rows: pa.Table) -> None:
        """Add the next rows (DECIDED_SCHEMA and split_id), split by split, in the order of the output."""
        kept = is_kept(rows)
        splits = Splits.of(rows["split_id"].to_numpy())
        positions = rows["position"].to_numpy()[kept]
        record_bytes = record_bytes_of(rows["location"].to_numpy()[kept]).astype(np.int32)
        bounds = bounds_of(splits.sums(kept)).tolist()
        for split_id, (start, end) in zip(splits.ids.tolist(), itertools.pairwise(bounds), strict=True):
            if split_id != self._split_id:
                self._copy_split()
                self._split_id = split_id
            self._places.append((positions[start:end], record_bytes[start:end]))

    def finish(self) -> list[Fragment]:
        """Close the part, and return its fragments in the order of the output."""
        self._copy_split()
        for split_id in sorted(self._waiting, key=self._order.__getitem__):
            self._fragments.append(self._part.copy(split_id, *self._waiting[split_id]))
        self._part.close()
        return self._fragments

    def _copy_split(self) -> None:
        if self._split_id is not None:
            positions, record_bytes = map(np.concatenate, zip(*self._places, strict=True))
            if self._order:
                self._waiting[self._split_id] = positions, record_bytes
            else:
                self._fragments.append(self._part.copy(self._split_id, positions, record_bytes))
            self._places = []


def by_place(decided: list[pa.RecordBatch]) -> Iterator[pa.Table]:
    """All rows in the order of their records in the dump, with a column ``split_id``, some at a time.

    It does not matter to the output where rows are cut: each stretch continues the report of the one before.
    """
    cuts = _cuts(decided, passes_for(decided))
    stretches = [_stretches_of(batch, cuts) for batch in decided] if cuts else []
    for number in range(len(cuts) + 1):
        batches = decided
        if cuts:
            pairs = zip(decided, stretches, strict=True)
            batches = [batch.filter(pa.array(of_batch == number)) for batch, of_batch in pairs]
        rows = pa.Table.from_batches(batches).combine_chunks()
        split_ids, positions = split_of(rows["location"].to_numpy()), rows["position"].to_numpy()
        order = pa.array(np.lexsort((positions, split_ids)))
        yield rows.append_column("split_id", pa.array(split_ids)).take(order).combine_chunks()


def _places_in(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """The split of each record, and its position there."""
    return split_of(batch.column("location").to_numpy()), batch.column("position").to_numpy()


def _stretches_of(batch: pa.RecordBatch, cuts: list[tuple[int, int]]) -> np.ndarray:
    """The number of the stretch, between cuts, that each row is in."""
    split_ids, positions = _places_in(batch)
    stretches = np.zeros(len(split_ids), np.int32)
    for split_id, position in cuts:
        stretches += (split_ids > split_id) | ((split_ids == split_id) & (positions >= position))
    return stretches


def _cuts(decided: list[pa.RecordBatch], stretches: int) -> list[tuple[int, int]]:
    """Splits and positions that cut all rows into stretches of about the same number of records."""
    if stretches == 1:
        return []
    places = [_places_in(batch) for batch in decided]
    split_ids, positions = (
        np.concatenate([of[::_SAMPLED] for of in column]) for column in zip(*places, strict=True)
    )
    order = np.lexsort((positions, split_ids))
    chosen = order[np.arange(1, stretches) * len(order) // stretches]
    return list(zip(split_ids[chosen].tolist(), positions[chosen].tolist(), strict=True))


def in_output_order(job: CompactJob, decided: list[pa.RecordBatch]) -> pa.Table:
    """All rows split by split, with a column ``split_id``.

    Rows of a split are in the order of the dump, or by topic, partition and offset in ``job.sorted_files``.
    """
    rows = pa.Table.from_batches(decided).combine_chunks()
    split_ids, order = split_of(rows["location"].to_numpy()), rows["position"].to_numpy()
    ids, numbers = np.unique(split_ids, return_inverse=True)
    is_sorted = np.array([job.plan.split(i).file_id in job.sorted_files for i in ids.tolist()])[numbers]
    ranks = {log_id: rank for rank, log_id in enumerate(sorted(job.names, key=job.names.__getitem__))}
    log_ids, logs = np.unique(rows["log_id"].to_numpy(), return_inverse=True)
    rank = np.where(is_sorted, np.array([ranks[i] for i in log_ids.tolist()])[logs], 0)
    order = np.where(is_sorted, rows["last_offset"].to_numpy(), order)
    rows = rows.append_column("split_id", pa.array(split_ids))
    return rows.take(pa.array(np.lexsort((order, rank, split_ids)))).combine_chunks()
