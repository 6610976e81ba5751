"""Verdicts inside Spark's workers: the closed form applied to rows as they stream by."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from kcompact.log.lookups import NO_SEGMENT, rows_of_logs
from kcompact.log.sizes import stamped_bytes
from kcompact.log.verdicts import Decision, Flags, Longs, Rounds, Rows, decide


@dataclass(frozen=True)
class Plan:
    """What the workers need of one log to decide on its rows. Picklable."""

    rounds: Rounds
    first_dirty_offsets: Longs  # one per round
    first_uncleanable_offset: int
    segment_bases: Longs  # empty: each record is a segment of its own


NO_PLAN = Plan(Rounds(), np.empty(0, np.int64), 0, np.empty(0, np.int64))

VERDICT_COLUMNS: dict[str, tuple[DataType, pa.DataType]] = {
    "verdict": (ByteType(), pa.int8()),
    "round": (IntegerType(), pa.int32()),  # from 1; 0: in no round
}
"""What ``with_verdicts`` adds."""

TALLY_COLUMNS: dict[str, tuple[DataType, pa.DataType]] = VERDICT_COLUMNS | {
    "rewritten_round": (IntegerType(), pa.int32()),
    "entry_round": (IntegerType(), pa.int32()),  # the round whose map it opens an entry in; 0: none
    "stamped": (BooleanType(), pa.bool_()),
    "in_range": (BooleanType(), pa.bool_()),  # below the first uncleanable offset
    "segment_base_offset": (LongType(), pa.int64()),
    "stamped_log_bytes": (LongType(), pa.int64()),  # once stamped; else log_bytes
}
"""What ``with_tally_columns`` adds."""


_NEEDED = (
    "log_id",
    "offset",
    "is_tombstone",
    "is_control",
    "is_aborted",
    "is_repeated",
    "superseded_at_offset",
    "delete_horizon_ms",
)
_NEEDED_FOR_TALLIES = (*_NEEDED, "previous_offset", "timestamp_ms", "log_bytes")


def with_verdicts(tracked: DataFrame, plans: Mapping[int, Plan], columns: Sequence[str]) -> DataFrame:
    """These columns of ``tracked``, and VERDICT_COLUMNS. Only what is asked for passes through Python."""
    rows = _decided(tracked, plans, VERDICT_COLUMNS, [*columns, *_NEEDED])
    return rows.select(*columns, *VERDICT_COLUMNS)


def with_tally_columns(tracked: DataFrame, plans: Mapping[int, Plan]) -> DataFrame:
    """What tallies count ``tracked`` by: log_id, offset, sizes, timestamps, has_key and TALLY_COLUMNS."""
    return _decided(tracked, plans, TALLY_COLUMNS, _NEEDED_FOR_TALLIES)


def _decided(
    tracked: DataFrame,
    plans: Mapping[int, Plan],
    added: Mapping[str, tuple[DataType, pa.DataType]],
    columns: Sequence[str],
) -> DataFrame:
    rows = tracked.select(*dict.fromkeys(columns), F.col("key").isNotNull().alias("has_key"))
    fields = [StructField(name, spark_type, nullable=False) for name, (spark_type, _) in added.items()]

    def decide_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = decided(batch, plans, added)
            arrays = [pa.array(found[name], arrow_type) for name, (_, arrow_type) in added.items()]
            yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], [*batch.schema.names, *added])

    return rows.mapInArrow(decide_all, StructType([*rows.schema.fields, *fields]))


def decided(
    batch: pa.RecordBatch, plans: Mapping[int, Plan], wanted: Collection[str]
) -> dict[str, np.ndarray]:
    """The ``wanted`` of TALLY_COLUMNS for rows of any logs."""
    types = {name: arrow_type.to_pandas_dtype() for name, (_, arrow_type) in TALLY_COLUMNS.items()}
    found = {name: np.zeros(batch.num_rows, types[name]) for name in wanted}
    rows = rows_of(batch)
    for log_id, at in rows_of_logs(batch.column("log_id").to_numpy()):
        plan = plans.get(log_id, NO_PLAN)
        of_log = rows.take(at)
        decision = decide(of_log, plan.rounds)
        columns = {"verdict": decision.verdict, "round": decision.round}
        if len(wanted) > len(columns):
            columns |= _tally_columns(of_log, decision, batch.take(pa.array(at)), plan)
        for name in wanted:
            found[name][at] = columns[name]
    return found


def rows_of(batch: pa.RecordBatch) -> Rows:
    """The columns that verdicts depend on."""

    def flags(name: str) -> Flags:
        return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.bool_)

    return Rows(
        batch.column("offset").to_numpy(),
        flags("has_key"),
        flags("is_tombstone"),
        flags("is_control"),
        flags("is_aborted"),
        flags("is_repeated"),
        batch.column("superseded_at_offset").to_numpy(),
        batch.column("delete_horizon_ms").to_numpy(),
    )


def _tally_columns(
    rows: Rows, decision: Decision, batch: pa.RecordBatch, plan: Plan
) -> dict[str, np.ndarray]:
    log_bytes = batch.column("log_bytes").to_numpy().astype(np.int64)
    horizon_ms = plan.rounds.delete_horizon_ms or 0
    stamped = stamped_bytes(log_bytes, batch.column("timestamp_ms").to_numpy(), horizon_ms)
    return {
        "rewritten_round": decision.rewritten_round,
        "entry_round": _entry_rounds(rows, batch.column("previous_offset").to_numpy(), plan),
        "stamped": decision.stamped,
        "in_range": rows.offset < plan.first_uncleanable_offset,
        "segment_base_offset": _segment_bases(rows.offset, plan.segment_bases),
        "stamped_log_bytes": np.where(decision.stamped, stamped, log_bytes),
    }


def _entry_rounds(rows: Rows, previous: Longs, plan: Plan) -> Longs:
    """The round in whose map a row is the first of its key (R13)."""
    starts = plan.first_dirty_offsets
    if not len(starts):
        return np.zeros(len(rows), np.int64)
    reached = np.searchsorted(plan.rounds.next_offsets, rows.offset, side="right")
    inside = (reached < len(starts)) & (rows.offset >= starts[0])
    mapped = rows.has_key & ~rows.is_aborted & ~rows.is_control & ~rows.is_repeated
    start = starts[np.minimum(reached, len(starts) - 1)]
    return np.where(inside & mapped & (previous < start), reached + 1, 0)


def _segment_bases(offsets: Longs, bases: Longs) -> Longs:
    if not len(bases):
        return np.full(len(offsets), NO_SEGMENT, np.int64)
    return bases[np.maximum(np.searchsorted(bases, offsets, side="right") - 1, 0)]
