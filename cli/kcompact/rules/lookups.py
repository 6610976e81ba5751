"""Facts about single records that are known beside the dump, looked up by offset in Spark's workers.

They come from options and files of the user. No join is needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kcompact.arrays import Flags, Longs
from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import NONE, PackedBatches
from kcompact.broker.log_context import LogContext
from kcompact.rules.orders import ranked, stretches
from kcompact.rules.policy import Policy
from kcompact.rules.transactions import aborted_ranges
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS

NO_SEGMENT = -1
"""``segment_base_offset`` where no segments are known."""

LOOKED_UP = pa.schema(
    [
        pa.field("is_aborted", pa.bool_(), nullable=False),
        pa.field("is_overlooked", pa.bool_(), nullable=False),  # see ``Lookup.overlooking``
        pa.field("delete_horizon_ms", pa.int64(), nullable=False),  # UNKNOWN_HORIZON_MS: none
        pa.field("segment_base_offset", pa.int64(), nullable=False),  # NO_SEGMENT: none
        pa.field("first_dirty_offset", pa.int64(), nullable=False),  # of the log; 0: its unknown log start
        pa.field("is_young", pa.bool_(), nullable=False),  # dirty, and too young for min.compaction.lag.ms
    ]
)
"""The columns that ``look_up`` adds."""


@dataclass(frozen=True)
class Lookup:
    """The facts about records of one log, as ascending runs of offsets with inclusive ends. Picklable."""

    aborted_first: Longs
    aborted_last: Longs
    horizon_first: Longs
    horizon_last: Longs
    horizon_ms: Longs
    segment_bases: Longs
    first_dirty_offset: int
    young_from_ms: int | None  # timestamps from this one on are too young; None: no minimum lag
    overlooked_first: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    overlooked_last: Longs = field(default_factory=lambda: np.empty(0, np.int64))

    def overlooking(self, ranges: Sequence[AbortedRange]) -> "Lookup":
        """A copy in which ``ranges`` enter no map, as rounds that fill maps take them for aborted (R31)."""
        return replace(
            self,
            overlooked_first=_longs(run.first_offset for run in ranges),
            overlooked_last=_longs(run.last_offset for run in ranges),
        )

    @property
    def tells_single_records(self) -> bool:
        """Whether any fact besides ``is_young`` and the first dirty offset differs from record to record."""
        columns = (self.aborted_first, self.overlooked_first, self.horizon_first, self.segment_bases)
        return any(map(len, columns))


class _HorizonRuns(NamedTuple):
    """Ascending runs of offsets with inclusive ends, and the delete horizon of each."""

    first: Longs
    last: Longs
    horizon_ms: Longs

    @classmethod
    def of(cls, runs: Iterable[tuple[int, int, int]]) -> Self:
        """The runs of rows of first offset, last offset and horizon."""
        return cls(*np.array([*runs], np.int64).reshape(-1, 3).T)

    def at(self, offsets: Longs) -> Longs:
        """The horizon of each offset, or UNKNOWN_HORIZON_MS."""
        run = np.searchsorted(self.first, offsets, side="right") - 1
        inside = within(self.last, run, offsets)
        return np.where(inside, self.horizon_ms[run] if len(self.horizon_ms) else 0, UNKNOWN_HORIZON_MS)

    def below(self, others: Self) -> Self:
        """The runs of both, ascending and without overlap. Where both have a horizon, ``others`` counts."""
        points = np.unique(np.concatenate([self.first, self.last + 1, others.first, others.last + 1]))
        horizon_ms = others.at(points)
        horizon_ms = np.where(horizon_ms == UNKNOWN_HORIZON_MS, self.at(points), horizon_ms)
        is_run = horizon_ms != UNKNOWN_HORIZON_MS  # never true of the last point, where no run begins
        ends = np.append(points[1:], 0) - 1
        return type(self)(points[is_run], ends[is_run], horizon_ms[is_run])


def aborted_data(context: LogContext) -> list[AbortedRange]:
    """All data known to be aborted, as given or by markers of batches; ascending by first offset."""
    ranges = list(context.aborted)
    if context.batches is not None:
        ranges += aborted_ranges(context.batches.parts())
    return sorted(ranges, key=attrgetter("first_offset"))


def lookup_for(context: LogContext, policy: Policy) -> Lookup:
    """The facts about records of one log. Remembered horizons count where batches have no horizon (R26)."""
    aborted = aborted_data(context)
    starts = [0, *(horizon.rewritten_end_offset for horizon in context.horizons)][:-1]
    remembered = (
        (start, end_offset - 1, horizon_ms)
        for start, (end_offset, horizon_ms) in zip(starts, context.horizons, strict=True)
    )
    horizons = _HorizonRuns.of(remembered)
    if context.batches is not None:
        horizons = horizons.below(_HorizonRuns.of(_horizons(context.batches)))
    lag_ms = policy.min_compaction_lag_ms
    return Lookup(
        _longs(run.first_offset for run in aborted),
        np.maximum.accumulate(_longs(run.last_offset for run in aborted)),
        *horizons,
        _longs(segment.base_offset for segment in context.segments or ()),
        _first_dirty(context),
        policy.now_ms - lag_ms + 1 if lag_ms > 0 else None,
    )


def _horizons(batches: PackedBatches) -> Iterator[tuple[int, int, int]]:
    """First offset, last offset and horizon of each stretch of neighbouring batches with one horizon."""
    for batches_in_part in batches.parts():
        part = batches_in_part.take(batches_in_part.delete_horizon_ms != NONE)
        is_next = part.base_offset[1:] == part.last_offset[:-1] + 1
        is_same = part.delete_horizon_ms[1:] == part.delete_horizon_ms[:-1]
        starts = np.flatnonzero(np.concatenate(([True], ~(is_next & is_same)))[: len(part)])
        ends = np.concatenate((starts[1:], [len(part)]))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=False):
            horizon_ms = int(part.delete_horizon_ms[start])
            yield int(part.base_offset[start]), int(part.last_offset[end - 1]), horizon_ms


def look_up(rows: pa.RecordBatch, lookups: Mapping[int, Lookup]) -> pa.RecordBatch:
    """``rows`` (of any logs, with log_id, offset, timestamp_ms) with the columns of LOOKED_UP appended."""
    log_ids = rows.column("log_id").to_numpy()
    offsets = rows.column("offset").to_numpy()
    timestamps_ms = rows.column("timestamp_ms").to_numpy()
    added = [
        np.zeros(len(rows), np.bool_),
        np.zeros(len(rows), np.bool_),
        np.full(len(rows), UNKNOWN_HORIZON_MS, np.int64),
        np.full(len(rows), NO_SEGMENT, np.int64),
        np.zeros(len(rows), np.int64),
        np.zeros(len(rows), np.bool_),
    ]
    for log_id, at in rows_of_logs(log_ids):
        lookup = lookups.get(log_id)
        if lookup is not None:
            for column, values in zip(added, _of_log(lookup, offsets[at], timestamps_ms[at]), strict=True):
                column[at] = values
    columns = [*rows.columns, *(pa.array(c, f.type) for c, f in zip(added, LOOKED_UP, strict=True))]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*rows.schema, *LOOKED_UP]))


def rows_of_logs(log_ids: Longs) -> Iterator[tuple[int, Longs]]:
    """Each log id, ascending, with the positions of its rows, in their order."""
    ids, logs = ranked(log_ids)
    return zip(ids.tolist(), stretches(logs), strict=True)


def values_of_logs(log_ids: Longs, by_log: Mapping[int, int], default: int) -> Longs:
    """For each row the value that ``by_log`` holds for its log (such as a bound), or ``default``."""
    if not by_log:
        return np.full(len(log_ids), default)
    known = np.array(sorted(by_log), np.int64)
    values = np.array([by_log[log_id] for log_id in known.tolist()], np.int64)
    at = np.minimum(np.searchsorted(known, log_ids), len(known) - 1)
    return np.where(known[at] == log_ids, values[at], default)


def _of_log(lookup: Lookup, offsets: Longs, timestamps_ms: Longs) -> Iterator[NDArray[np.generic]]:
    """The columns of LOOKED_UP for rows of one log, in their order."""
    run = np.searchsorted(lookup.aborted_first, offsets, side="right") - 1
    yield within(lookup.aborted_last, run, offsets)
    run = np.searchsorted(lookup.overlooked_first, offsets, side="right") - 1
    yield within(lookup.overlooked_last, run, offsets)
    yield _HorizonRuns(lookup.horizon_first, lookup.horizon_last, lookup.horizon_ms).at(offsets)
    if len(lookup.segment_bases):
        segment = np.searchsorted(lookup.segment_bases, offsets, side="right") - 1
        yield lookup.segment_bases[np.maximum(segment, 0)]
    else:
        yield np.full(len(offsets), NO_SEGMENT)
    yield np.full(len(offsets), lookup.first_dirty_offset)
    if lookup.young_from_ms is None:
        yield np.zeros(len(offsets), np.bool_)
    else:
        yield (timestamps_ms >= lookup.young_from_ms) & (offsets >= lookup.first_dirty_offset)


def within(last: Longs, run: Longs, offsets: Longs) -> Flags:
    """Whether each offset lies in a run.

    ``run`` is the position of the last run that starts at or below the offset (-1: none), ``last`` the
    inclusive ends of all runs.
    """
    if not len(last):
        return np.zeros(len(offsets), np.bool_)
    return (run >= 0) & (offsets <= last[np.maximum(run, 0)])


def _first_dirty(context: LogContext) -> int:
    """The first dirty offset as far as it is known before records are read (R1).

    Where only the dump tells where the log starts, 0 has the same effect: no record lies below the log start.
    """
    checkpoint, start, end = context.checkpoint_offset, context.log_start_offset, context.log_end_offset
    if checkpoint is None or (end is not None and checkpoint > end):
        return start or 0
    return max(checkpoint, start or 0)


def _longs(values: Iterable[int]) -> Longs:
    return np.fromiter(values, np.int64)
