"""The facts of each log, from what the index tasks summed up and from the answers about its keys."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

import numpy as np
import pyarrow as pa

from kcompact.arrays import Longs
from kcompact.dumps.records.record import VALUE_EMPTY, VALUE_NULL, VALUE_PRESENT, VALUE_WORD_NULL
from kcompact.engine.passes.offset_runs import count_below
from kcompact.engine.passes.summaries import LogSummary, merged, runs_by_log
from kcompact.inspect.inspection import Gap, Gaps, LogFacts, Slice, Values
from kcompact.inspect.one_pass import Answers
from kcompact.inspect.questions.key_counts import SLICES, slice_bounds
from kcompact.inspect.questions.tallies import HOUR_MS
from kcompact.rules.capacity import buffer_bytes_for
from kcompact.rules.policy import Policy

_AGES = {"under 1 hour": 1, "under 1 day": 24, "under 7 days": 168, "under 30 days": 720}  # in hours
_LONGEST_GAPS = 10


def log_facts(
    summaries: Sequence[LogSummary], answers: Answers, tallies: Mapping[str, pa.Table]
) -> dict[int, LogFacts]:
    """Facts by log id, in the order of topic and partition."""
    presents = runs_by_log(summaries)
    logs = sorted(merged(summaries).values(), key=attrgetter("log"))
    facts = {log.log_id: _facts_of(log, presents[log.log_id]) for log in logs}
    _add_key_counts(facts, answers["key_counts"])
    _add_values(facts, tallies["value_kinds"])
    for row in tallies["deletes"].to_pylist():
        facts[row["log_id"]].delete_events = row["delete_events"]
    _add_ages(facts, tallies["tombstones"])
    _add_slices(facts, logs, presents, answers["new_keys"])
    return facts


def _facts_of(log: LogSummary, present: Longs) -> LogFacts:
    return LogFacts(
        topic=log.topic,
        partition=log.partition,
        records=log.records,
        record_bytes=log.record_bytes,
        first_offset=log.first_offset,
        last_offset=log.last_offset,
        end_minus_begin=log.last_offset + 1 - log.first_offset,
        repeated_offsets=log.records - int((present[:, 1] - present[:, 0]).sum()),
        in_offset_order=log.ascending,
        null_keys=log.null_keys,
        null_key_offsets=log.null_key_offsets,
        tombstones=log.tombstones,
        min_timestamp_ms=log.min_timestamp_ms,
        max_timestamp_ms=log.max_timestamp_ms,
        gaps=_gaps(present),
    )


def _gaps(present: Longs) -> Gaps:
    """The gaps between runs that are ascending and apart."""
    starts, ends = present[:-1, 1], present[1:, 0]
    lengths = ends - starts
    longest = np.argsort(-lengths, kind="stable")[:_LONGEST_GAPS]
    return Gaps(
        count=len(lengths),
        missing_offsets=int(lengths.sum()),
        single_offset_gaps=int((lengths == 1).sum()),
        longest=tuple(Gap(int(starts[at]), int(ends[at]) - 1, int(lengths[at])) for at in longest),
    )


def _add_key_counts(facts: Mapping[int, LogFacts], counts: pa.Table) -> None:
    for row in counts.to_pylist():
        log = facts[row.pop("log_id")]
        for name, count in row.items():
            setattr(log, name, count)
        log.live_keys = log.keys - log.deleted_keys
    for log in facts.values():  # one without keys has no row of counts
        log.dedupe_buffer_bytes = buffer_bytes_for(log.keys, Policy())


def _add_values(facts: Mapping[int, LogFacts], kinds: pa.Table) -> None:
    counts_by_log: dict[int, dict[int, int]] = defaultdict(dict)
    for row in kinds.to_pylist():
        counts_by_log[row["log_id"]][row["value_kind"]] = row["records"]
    for log_id, counts in counts_by_log.items():
        order = (VALUE_PRESENT, VALUE_NULL, VALUE_EMPTY, VALUE_WORD_NULL)
        facts[log_id].values = Values(*(counts.get(kind, 0) for kind in order))


def _add_ages(facts: Mapping[int, LogFacts], tombstones: pa.Table) -> None:
    """Ages against the newest timestamp of the dump, so that the same dump always has the same ages."""
    newest_hour = max((log.max_timestamp_ms for log in facts.values()), default=-1) // HOUR_MS
    for row in tombstones.to_pylist():
        ages = facts[row["log_id"]].tombstone_ages
        name = _age(newest_hour - row["hour"]) if row["hour"] >= 0 else "unknown"
        ages[name] = ages.get(name, 0) + row["tombstones"]


def _age(hours: int) -> str:
    return next((name for name, limit in _AGES.items() if hours < limit), "30 days and over")


def _add_slices(
    facts: Mapping[int, LogFacts],
    logs: Iterable[LogSummary],
    presents: Mapping[int, Longs],
    new_keys: pa.Table,
) -> None:
    new_by_log: dict[int, dict[int, int]] = defaultdict(dict)
    for row in new_keys.to_pylist():
        new_by_log[row["log_id"]][row["slice"]] = row["new_keys"]
    for log in logs:
        bounds = slice_bounds(log)
        below = count_below(presents[log.log_id], np.append(bounds, log.last_offset + 1))
        facts[log.log_id].slices = [
            Slice(int(bounds[at]), int(below[at + 1] - below[at]), new_by_log[log.log_id].get(at, 0))
            for at in range(SLICES)
        ]
