"""What options and files tell about BEFORE: aborted data, horizons, and up to where a round can go."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from kcompact.broker.given import GivenLog
from kcompact.log.cleaning import surveyed_cases, track
from kcompact.log.lookups import Lookup, lookup_for
from kcompact.log.policy import Policy
from kcompact.log.read_committed import told_by_read_committed
from kcompact.log.segments import is_rolled
from kcompact.log.survey import survey
from kcompact.verify.bounds import Bounds
from kcompact.verify.indexed import Indexed


@dataclass(frozen=True)
class Told:
    """By log_id, for the logs of BEFORE: what is given, and the policy. Always the same keys."""

    given: Mapping[int, GivenLog]
    policies: Mapping[int, Policy]
    checkpoint_is_end: bool | None = None  # None: to be found out

    @property
    def lookups(self) -> dict[int, Lookup]:
        """What is told about single records."""
        return {log_id: lookup_for(self.given[log_id], policy) for log_id, policy in self.policies.items()}

    @property
    def unbounded(self) -> dict[int, Bounds]:
        """The bounds of every log where nothing keeps a round from its end."""
        return {log_id: Bounds(policy) for log_id, policy in self.policies.items()}

    @property
    def bounds_rounds(self) -> bool:
        """Whether something may keep a round from reaching the end of a log."""
        return any(map(_bounds_rounds, self.given.values())) or any(
            policy.min_compaction_lag_ms > 0 or is_rolled(policy) for policy in self.policies.values()
        )


def _bounds_rounds(given: GivenLog) -> bool:
    told = (given.segments, given.log_start_offset, given.log_end_offset, given.last_stable_offset)
    return any(one is not None for one in (*told, given.checkpoint_offset))


def with_aborted(given: Mapping[int, GivenLog], before: Indexed, committed: Indexed) -> dict[int, GivenLog]:
    """``given`` with the aborted data that a read_committed dump tells, by not holding it.

    Where the last stable offset is not told, ``compact`` takes what lies behind that dump for open. Here it
    bounds nothing: the broker may have known better.
    """
    told, _ = told_by_read_committed(given, list(before.summaries), list(committed.summaries))
    return {i: replace(told[i], last_stable_offset=given[i].last_stable_offset) for i in given}


def bounds_of(rows: DataFrame, told: Told) -> dict[int, Bounds]:
    """The bounds of every log, by the rules that ``compact`` follows (R1 to R3), where any are told.

    ``rows`` have log_bytes and is_control.
    """
    tracked = track(rows, told.given, told.policies)
    cases = surveyed_cases(tracked, survey(tracked), told.given, told.policies)
    bounds = {}
    for log_id, case in cases.items():
        given, cleanable = case.given, case.range
        is_bound = cleanable.bounded_by != "log end"
        bounds[log_id] = Bounds(
            case.policy,
            None if cleanable.checkpoint_reset else given.checkpoint_offset,
            cleanable.first_uncleanable_offset if is_bound else None,
            given.log_start_offset,
            told.checkpoint_is_end,
            tuple((one.base_offset, one.size_bytes) for one in case.segments or ()),
        )
    return bounds
