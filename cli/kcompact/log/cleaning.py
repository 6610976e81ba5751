"""Kafka's log cleaner on an index: from rows to verdicts, rounds and the state that they leave.

The Spark jobs are few and do not depend on the number of rounds: one computes the offset map and surveys the
logs, one counts fates, and, only where asked for, one each rolls segments, finds full maps, reads logs whose
batches are told, and expires records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from kcompact.broker.given import GivenLog
from kcompact.log.batched import clean_batched
from kcompact.log.cleaned_log import LogCleaning
from kcompact.log.decisions import Plan, with_verdicts
from kcompact.log.expiry import RecordRetention, expire_records
from kcompact.log.fitting import refuse_misfits, refuse_misfitting_batches
from kcompact.log.lookups import LOOKED_UP, NO_SEGMENT, Lookup, look_up, lookup_for
from kcompact.log.offset_map import with_offset_map
from kcompact.log.per_log import MOST_LOGS, per_log
from kcompact.log.policy import Policy
from kcompact.log.rewriting import ROW_COLUMNS, log_rows
from kcompact.log.rolling import roll_segments
from kcompact.log.scanning import scan_maps
from kcompact.log.segments import SegmentState, is_rolled
from kcompact.log.survey import Survey, survey, told_segments
from kcompact.log.tallies import Tally, tally
from kcompact.log.unbatched import (
    LogCase,
    Played,
    case_of,
    needs_scan,
    outcome_of,
    plan_of,
    play_rounds,
    retained_segments,
    scan_limits,
    spans_of_case,
    with_cleanable_bytes,
)
from kcompact.log.verdicts import UNKNOWN_HORIZON_MS

NOTHING_GIVEN = GivenLog()


@dataclass(frozen=True)
class Cleaning:
    """What a run decides: a verdict per row, and per log what a broker would have logged and left."""

    logs: Mapping[int, LogCleaning]
    _tracked: DataFrame
    _plans: Mapping[int, Plan]

    def verdicts(self, *columns: str) -> DataFrame:
        """These columns of the index, verdict (a Verdict) and round (from 1; 0: in none) of every row."""
        return with_verdicts(self._tracked, self._plans, columns)

    def release(self) -> None:
        """Free the rows that Spark keeps for ``verdicts``."""
        self._tracked.unpersist()


def clean(
    index: DataFrame,
    given: Mapping[int, GivenLog],
    policies: Mapping[int, Policy],
    names: Mapping[int, str] | None = None,
) -> Cleaning:
    """Clean every log of ``index`` under its policy, knowing what is given about it.

    ``index`` has INDEX_SCHEMA's columns, log_bytes and is_control, in any order of rows; they are read once.
    ``names`` are for messages. Raises InputError where what is given does not fit the records.
    """
    tracked = track(index, given, policies).persist()
    called = {i: str(i) for i in policies} | dict(names or {})
    with_batches = sorted(i for i in policies if given.get(i, NOTHING_GIVEN).batches is not None)
    logs, plans = _batched(tracked, {i: called[i] for i in with_batches}, given, policies)
    if len(with_batches) < len(policies):
        others = tracked.where(~F.col("log_id").isin(with_batches)) if with_batches else tracked
        found = survey(others)
        for i, one in found.items():
            whole = one.whole
            refuse_misfits(called[i], given.get(i, NOTHING_GIVEN), whole.first_offset, whole.last_offset)
        more_logs, more_plans = _unbatched(others, found, given, policies)
        logs, plans = logs | more_logs, plans | more_plans
    return Cleaning(logs, tracked, plans)


Cleaned = tuple[dict[int, LogCleaning], dict[int, Plan]]
"""By log: what was done, and what the workers need to decide on its records."""


def _unbatched(
    tracked: DataFrame,
    found: Mapping[int, Survey],
    given: Mapping[int, GivenLog],
    policies: Mapping[int, Policy],
) -> Cleaned:
    cases = surveyed_cases(tracked, found, given, policies)
    scans = scan_maps(tracked, {i: scan_limits(case) for i, case in cases.items() if needs_scan(case)})
    spans = {i: spans_of_case(case, scans.get(i)) for i, case in cases.items()}
    plans = {i: plan_of(case, spans[i], 0) for i, case in cases.items()}
    tallies = tally(tracked, plans)
    played = {i: play_rounds(case, spans[i], tallies.get(i, [])) for i, case in cases.items()}
    plans = {i: plan_of(case, played[i].spans, 0) for i, case in cases.items()}
    logs = _after_retention(tracked, cases, played, plans, tallies)
    plans = {i: plan_of(cases[i], played[i].spans, log.log_start_offset) for i, log in logs.items()}
    return logs, plans


def _batched(
    tracked: DataFrame,
    names: Mapping[int, str],
    given: Mapping[int, GivenLog],
    policies: Mapping[int, Policy],
) -> Cleaned:
    """The logs whose batches are told, read into this process: one Spark job."""
    if not names:
        return {}, {}
    rows = (
        tracked.where(F.col("log_id").isin(list(names)))
        .withColumn("has_key", F.col("key").isNotNull())
        .select(*ROW_COLUMNS)
        .toArrow()
        .sort_by([("log_id", "ascending"), ("offset", "ascending")])
    )
    logs: dict[int, LogCleaning] = {}
    plans: dict[int, Plan] = {}
    for log_id, name in names.items():
        of_log = rows.filter(pa.compute.equal(rows["log_id"], log_id)).combine_chunks()
        records = log_rows(of_log)
        if len(records.rows):
            offsets = records.rows.offset
            refuse_misfits(name, given[log_id], int(offsets[0]), int(offsets[-1]))
        refuse_misfitting_batches(name, given[log_id], records)
        logs[log_id], plans[log_id] = clean_batched(given[log_id], policies[log_id], records)
    return logs, plans


def track(index: DataFrame, given: Mapping[int, GivenLog], policies: Mapping[int, Policy]) -> DataFrame:
    """The index with what is told about its records, and its offset map; lazy."""
    lookups = {i: lookup_for(given.get(i, NOTHING_GIVEN), policy) for i, policy in policies.items()}
    return with_offset_map(_looked_up(index, lookups))


def _looked_up(index: DataFrame, lookups: Mapping[int, Lookup]) -> DataFrame:
    if set(LOOKED_UP.names) <= set(index.columns):
        return index  # done where the rows were made

    if len(lookups) <= MOST_LOGS and not any(one.tells_single_records for one in lookups.values()):
        return index.withColumns(_without_looking(lookups))

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield look_up(batch, lookups)

    return index.mapInArrow(add, StructType([*index.schema.fields, *LOOKED_UP_FIELDS]))


def _without_looking(lookups: Mapping[int, Lookup]) -> dict[str, Column]:
    """LOOKED_UP's columns where nothing is told about single records: no row need pass through Python."""
    false, unknown = F.expr("false"), F.lit(UNKNOWN_HORIZON_MS).cast("long")
    first_dirty = F.coalesce(per_log({i: one.first_dirty_offset for i, one in lookups.items()}), F.lit(0))
    young_from = {i: one.young_from_ms for i, one in lookups.items() if one.young_from_ms is not None}
    is_young = (F.col("timestamp_ms") >= per_log(young_from)) & (F.col("offset") >= first_dirty)
    return {
        "is_aborted": false,
        "delete_horizon_ms": unknown,
        "segment_base_offset": F.lit(NO_SEGMENT).cast("long"),
        "first_dirty_offset": first_dirty.cast("long"),
        "is_young": F.coalesce(is_young, false),
    }


LOOKED_UP_FIELDS = [
    StructField(field.name, BooleanType() if pa.types.is_boolean(field.type) else LongType(), nullable=False)
    for field in LOOKED_UP
]
"""LOOKED_UP as Spark has it."""


def surveyed_cases(
    tracked: DataFrame,
    found: Mapping[int, Survey],
    given: Mapping[int, GivenLog],
    policies: Mapping[int, Policy],
) -> dict[int, LogCase]:
    """Each log before its rounds: segments as told or rolled, range, ratio."""
    told = {i: told_segments(given.get(i, NOTHING_GIVEN), one, policies[i]) for i, one in found.items()}
    untold = {i: policies[i] for i in found if told[i] is None and is_rolled(policies[i])}
    rolled = roll_segments(tracked, untold)
    segments: dict[int, tuple[SegmentState, ...] | None] = {
        i: rolled.get(i) if told[i] is None else told[i] for i in found
    }
    cases = {i: case_of(given.get(i, NOTHING_GIVEN), policies[i], found[i], segments[i]) for i in found}
    return cases | _measured(tracked, {i: case for i, case in cases.items() if _bound_cuts_bytes(case)})


def _bound_cuts_bytes(case: LogCase) -> bool:
    """Whether the ratio of an unsegmented log needs another look at its records."""
    is_bounded = case.range.bounded_by != "log end" or case.range.checkpoint_reset
    return case.segments is None and is_bounded


def _measured(tracked: DataFrame, cases: Mapping[int, LogCase]) -> dict[int, LogCase]:
    """The bytes between first dirty and first uncleanable offset of unsegmented logs: one Spark job."""
    if not cases:
        return {}
    first = per_log({i: case.range.first_dirty_offset for i, case in cases.items()})
    end = per_log({i: case.range.first_uncleanable_offset for i, case in cases.items()})
    inside = (F.col("offset") >= first) & (F.col("offset") < end)
    rows = (
        tracked.where(inside & ~F.col("is_repeated"))
        .groupBy("log_id")
        .agg(F.sum(F.col("log_bytes").cast("long")).alias("bytes"))
        .toArrow()
        .to_pylist()
    )
    sums = {row["log_id"]: row["bytes"] for row in rows}
    return {i: with_cleanable_bytes(case, sums.get(i, 0)) for i, case in cases.items()}


def _after_retention(
    tracked: DataFrame,
    cases: Mapping[int, LogCase],
    played: Mapping[int, Played],
    plans: Mapping[int, Plan],
    tallies: Mapping[int, list[Tally]],
) -> dict[int, LogCleaning]:
    retained = {i: retained_segments(case, played[i], tallies.get(i, [])) for i, case in cases.items()}
    by_record = {
        i: RecordRetention(cases[i].bounds, cases[i].policy) for i, r in retained.items() if r is None
    }
    expired = expire_records(tracked, plans, by_record)
    return {
        i: outcome_of(case, played[i], tallies.get(i, []), retained[i] or expired[i])
        for i, case in cases.items()
    }
