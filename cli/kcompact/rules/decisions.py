"""Columns that the rounds determine for each row: its verdict, the round in which it goes, and figures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.arrays import Longs, flags_of
from kcompact.rules.lookups import NO_SEGMENT, rows_of_logs
from kcompact.rules.sizes import stamped_bytes
from kcompact.rules.verdicts import Decision, Rounds, Rows, decide


@dataclass(frozen=True)
class Plan:
    """The bounds and rounds of one log, by which the workers decide on its rows. Picklable."""

    rounds: Rounds
    first_dirty_offsets: Longs  # one per round
    first_uncleanable_offset: int
    segment_bases: Longs  # base offsets; empty: each record is a segment of its own


NO_PLAN = Plan(Rounds(), np.empty(0, np.int64), 0, np.empty(0, np.int64))

TALLY_COLUMNS: dict[str, pa.DataType] = {
    "verdict": pa.int8(),
    "round": pa.int32(),  # from 1; 0: in no round
    "rewritten_round": pa.int32(),
    "entry_round": pa.int32(),  # the round in whose map the record is the first of its key; 0: none
    "stamped": pa.bool_(),
    "in_range": pa.bool_(),  # below the first uncleanable offset
    "segment_base_offset": pa.int64(),
    "stamped_log_bytes": pa.int64(),  # size after stamping; log_bytes of a record that is not stamped
}
"""The columns that ``decided`` can compute for rows. ``verdict_tallies`` counts records by them."""


def with_verdicts(rows: pa.Table, plans: Mapping[int, Plan]) -> pa.Table:
    """``rows`` (with the columns of TRACKED) with a column ``verdict`` (a Verdict, int8)."""
    return with_columns(rows, plans, ["verdict"])


def with_columns(rows: pa.Table, plans: Mapping[int, Plan], names: Sequence[str]) -> pa.Table:
    """``rows`` (with the columns of TRACKED) with the columns ``names`` of TALLY_COLUMNS.

    A column of ``rows`` with the same name is replaced.
    """
    rows = rows.combine_chunks()
    if not rows.num_rows:
        columns = {name: np.empty(0) for name in names}
    else:
        columns = decided(rows.to_batches()[0], plans, names)
    for name in names:
        column = pa.array(columns[name], TALLY_COLUMNS[name])
        if name in rows.column_names:
            rows = rows.set_column(rows.column_names.index(name), name, column)
        else:
            rows = rows.append_column(name, column)
    return rows


def decided(
    batch: pa.RecordBatch, plans: Mapping[int, Plan], names: Collection[str]
) -> dict[str, np.ndarray]:
    """The columns ``names`` of TALLY_COLUMNS for rows of any logs, one array of the batch's length each."""
    types = {name: arrow_type.to_pandas_dtype() for name, arrow_type in TALLY_COLUMNS.items()}
    arrays = {name: np.zeros(batch.num_rows, types[name]) for name in names}
    rows = rows_of(batch)
    for log_id, at in rows_of_logs(batch.column("log_id").to_numpy()):
        plan = plans.get(log_id, NO_PLAN)
        of_log = rows.take(at)
        decision = decide(of_log, plan.rounds)
        columns = {"verdict": decision.verdict, "round": decision.round}
        if not set(names) <= columns.keys():
            columns |= _tally_columns(of_log, decision, batch.take(pa.array(at)), plan)
        for name in names:
            arrays[name][at] = columns[name]
    return arrays


def rows_of(batch: pa.RecordBatch) -> Rows:
    """The columns that verdicts depend on, as arrays."""
    return Rows(
        batch.column("offset").to_numpy(),
        flags_of(batch.column("has_key")),
        flags_of(batch.column("is_tombstone")),
        flags_of(batch.column("is_control")),
        flags_of(batch.column("is_aborted")),
        flags_of(batch.column("is_repeated")),
        batch.column("superseded_at_offset").to_numpy(),
        batch.column("delete_horizon_ms").to_numpy(),
        flags_of(batch.column("deletes_clean_value")),
    )


def _tally_columns(
    rows: Rows, decision: Decision, batch: pa.RecordBatch, plan: Plan
) -> dict[str, np.ndarray]:
    log_bytes = batch.column("log_bytes").to_numpy().astype(np.int64)
    at = np.flatnonzero(decision.stamped)  # a small part of all records
    timestamps_ms, horizon_ms = batch.column("timestamp_ms").to_numpy()[at], plan.rounds.delete_horizon_ms
    sizes = log_bytes.copy()
    sizes[at] = stamped_bytes(log_bytes[at], timestamps_ms, horizon_ms or 0)
    return {
        "rewritten_round": decision.rewritten_round,
        "entry_round": _entry_rounds(rows, batch.column("previous_offset").to_numpy(), plan),
        "stamped": decision.stamped,
        "in_range": rows.offset < plan.first_uncleanable_offset,
        "segment_base_offset": _segment_bases(rows.offset, plan),
        "stamped_log_bytes": sizes,
    }


def _entry_rounds(rows: Rows, previous: Longs, plan: Plan) -> Longs:
    """The round (from 1) in whose map each row is the first of its key, or 0 (R13)."""
    starts = plan.first_dirty_offsets
    if not len(starts):
        return np.zeros(len(rows), np.int64)
    reached = np.searchsorted(plan.rounds.next_offsets, rows.offset, side="right")
    inside = (reached < len(starts)) & (rows.offset >= starts[0])
    mapped = rows.has_key & ~rows.is_aborted & ~rows.is_control & ~rows.is_repeated
    start = starts[np.minimum(reached, len(starts) - 1)]
    return np.where(inside & mapped & (previous < start), reached + 1, 0)


def _segment_bases(offsets: Longs, plan: Plan) -> Longs:
    """The base offset of the segment of each row.

    NO_SEGMENT where segments are not known, or where retention took the segment before the first round.
    """
    bases = plan.segment_bases
    if not len(bases):
        return np.full(len(offsets), NO_SEGMENT, np.int64)
    row_bases = bases[np.maximum(np.searchsorted(bases, offsets, side="right") - 1, 0)]
    return np.where(offsets < plan.rounds.deleted_before_offset, NO_SEGMENT, row_bases)
