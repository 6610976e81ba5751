"""The facts of each log, from what the index tasks summed up and from the answers about its keys."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from kcompact.arrays import Longs
from kcompact.dumps.records.record import VALUE_EMPTY, VALUE_NULL, VALUE_PRESENT, VALUE_WORD_NULL
from kcompact.engine.passes.offset_runs import count_below, union_of
from kcompact.engine.passes.summaries import LogSummary
from kcompact.inspect.inspection import Gap, Gaps, LogFacts, Slice, Values
from kcompact.inspect.one_pass import Answers
from kcompact.inspect.questions.key_counts import SLICES, slice_bounds
from kcompact.inspect.questions.keys import LogSpan
from kcompact.inspect.questions.tallies import HOUR_MS
from kcompact.rules.capacity import buffer_bytes_for
from kcompact.rules.policy import Policy

_AGES = {"under 1 hour": 1, "under 1 day": 24, "under 7 days": 168, "under 30 days": 720}  # in hours
_EXAMPLES = 5
_LONGEST_GAPS = 10


def log_facts(
    summaries: Iterable[LogSummary], answers: Answers, tallies: Mapping[str, pa.Table]
) -> dict[int, LogFacts]:
    """Facts by log id, in the order of topic and partition."""
    parts: dict[int, list[LogSummary]] = defaultdict(list)
    for summary in summaries:
        parts[summary.log_id].append(summary)
    ordered = sorted(parts.items(), key=lambda item: (item[1][0].topic, item[1][0].partition))
    presents = {log_id: union_of(np.concatenate([part.runs for part in group])) for log_id, group in ordered}
    facts = {log_id: _summed(group, presents[log_id]) for log_id, group in ordered}
    _add_key_counts(facts, answers["key_counts"])
    _add_values(facts, tallies["value_kinds"])
    for row in tallies["deletes"].to_pylist():
        facts[row["log_id"]].delete_events = row["delete_events"]
    _add_ages(facts, tallies["tombstones"])
    _add_slices(facts, presents, answers["new_keys"])
    return facts


def _summed(parts: list[LogSummary], present: Longs) -> LogFacts:
    timestamped = [part for part in parts if part.min_timestamp_ms >= 0]
    start, end = int(present[0, 0]), int(present[-1, 1])
    records = sum(part.records for part in parts)
    in_turn = all(a.last_offset < b.first_offset for a, b in itertools.pairwise(parts))
    return LogFacts(
        topic=parts[0].topic,
        partition=parts[0].partition,
        records=records,
        record_bytes=sum(part.record_bytes for part in parts),
        first_offset=start,
        last_offset=end - 1,
        end_minus_begin=end - start,
        repeated_offsets=records - int((present[:, 1] - present[:, 0]).sum()),
        in_offset_order=in_turn and all(part.ascending for part in parts),
        null_keys=sum(part.null_keys for part in parts),
        null_key_offsets=[offset for part in parts for offset in part.null_key_offsets][:_EXAMPLES],
        tombstones=sum(part.tombstones for part in parts),
        min_timestamp_ms=min((part.min_timestamp_ms for part in timestamped), default=-1),
        max_timestamp_ms=max((part.max_timestamp_ms for part in timestamped), default=-1),
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


def _add_slices(facts: Mapping[int, LogFacts], presents: Mapping[int, Longs], new_keys: pa.Table) -> None:
    new_by_log: dict[int, dict[int, int]] = defaultdict(dict)
    for row in new_keys.to_pylist():
        new_by_log[row["log_id"]][row["slice"]] = row["new_keys"]
    for log_id, log in facts.items():
        span = LogSpan(log.topic, log.partition, log.first_offset, log.last_offset + 1)
        bounds = slice_bounds(span)
        below = count_below(presents[log_id], np.append(bounds, span.end_offset))
        log.slices = [
            Slice(int(bounds[at]), int(below[at + 1] - below[at]), new_by_log[log_id].get(at, 0))
            for at in range(SLICES)
        ]
