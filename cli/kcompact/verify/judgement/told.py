"""Knowledge about BEFORE from options and files: aborted data, horizons, and up to where a round can go."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kcompact.broker.given import GivenLog
from kcompact.cleaner.cleaning import surveyed_cases
from kcompact.cleaner.shares import plan_shares
from kcompact.cleaner.survey import survey
from kcompact.cleaner.tracked import INDEXED, ROWS, track
from kcompact.compact.full_form.full import RECORDS_PER_SHARE
from kcompact.compact.full_form.read_committed import told_by_read_committed
from kcompact.dumps.records.record import index_schema
from kcompact.engine.blocks import block_of
from kcompact.engine.passes.offset_runs import union_of
from kcompact.engine.passes.summaries import LogSummary
from kcompact.engine.shuffle import Block, Sent, Stage
from kcompact.rules.capacity import map_limit
from kcompact.rules.files.segment_files import with_segments_of_batches
from kcompact.rules.files.segments import is_rolled
from kcompact.rules.lookups import Lookup, lookup_for
from kcompact.rules.policy import Policy
from kcompact.verify.judgement.bounds import Bounds, Knowledge
from kcompact.verify.rows.indexed import Indexed
from kcompact.verify.rows.pairs import Pairs

DEFAULT_MAP_LIMIT = 5_033_164  # keys, with the broker's default buffer (R11)


@dataclass(frozen=True)
class Told:
    """By log_id, for the logs of BEFORE: what is given, and the policy. Always the same keys."""

    given: Mapping[int, GivenLog]
    policies: Mapping[int, Policy]
    checkpoint_is_end: bool | None = None  # None: to be found out
    configs: Mapping[int, frozenset[str]] = field(default_factory=dict)  # that are given, by Kafka's names
    tells_checkpoints: bool = False
    tells_transactions: bool = False

    @property
    def lookups(self) -> dict[int, Lookup]:
        """Knowledge about single records."""
        return {log_id: lookup_for(self.given[log_id], policy) for log_id, policy in self.policies.items()}

    @property
    def unbounded(self) -> dict[int, Bounds]:
        """The bounds of every log where nothing keeps a round from its end."""
        return {log_id: Bounds(policy) for log_id, policy in self.policies.items()}

    @property
    def bounds_rounds(self) -> bool:
        """Whether something may keep a round from reaching the end of a log."""
        return any(map(_bounds_rounds, self.given.values())) or any(
            map(_policy_bounds_rounds, self.policies.values())
        )


def replaces_everywhere(policy: Policy) -> bool:
    """Whether, by its policy alone, any record of a log may replace any earlier one."""
    return policy.cleanup_policy == {"compact"} and not _policy_bounds_rounds(policy)


def _policy_bounds_rounds(policy: Policy) -> bool:
    return policy.min_compaction_lag_ms > 0 or is_rolled(policy)


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


def rows_to_track(pairs: Pairs) -> Stage:
    """The rows of BEFORE as ``tracked.send_index`` sends them: keys are together already."""
    names, reader = index_schema(INDEXED).names, pairs.reader

    def work(receiver: int, blocks: list[Block]) -> Sent:
        rows, _ = reader.share(blocks)
        if rows.num_rows:
            yield receiver, block_of(ROWS, rows.select(names))

    return pairs.stage.then(pairs.receivers, work)


def bounds_of(keyed: Stage, summaries: Iterable[LogSummary], told: Told) -> dict[int, Bounds]:
    """The bounds of every log, by the rules that ``compact`` follows (R1 to R3), where any are told."""
    told = replace(told, given={i: with_segments_of_batches(given) for i, given in told.given.items()})
    tracked = track(keyed, plan_shares(summaries, RECORDS_PER_SHARE), told.lookups)
    cases = surveyed_cases(tracked, survey(tracked), told.given, told.policies)
    bounds = {}
    for log_id, case in cases.items():
        given, cleanable = case.given, case.range
        is_bound = cleanable.bounded_by != "log end"
        are_told = given.segments is not None
        bounds[log_id] = Bounds(
            case.policy,
            None if cleanable.checkpoint_reset else given.checkpoint_offset,
            cleanable.first_uncleanable_offset if is_bound else None,
            given.log_start_offset,
            told.checkpoint_is_end,
            tuple((one.base_offset, one.size_bytes) for one in case.segments or () if are_told),
            is_bound_estimated=is_bound and case.segments is not None and not are_told,
        )
    return bounds


def with_knowledge(
    bounds: Bounds, log_id: int, told: Told, runs: Sequence[np.ndarray], after_first_offset: int | None
) -> Bounds:
    """The bounds of a log with all that is given about it.

    ``runs`` are arrays of [start, end) of the offsets that BEFORE holds; AFTER's first offset is None if it
    has no record.
    """
    given = told.given.get(log_id, GivenLog())
    segments = with_segments_of_batches(given).segments or ()
    known = Knowledge(
        configs=told.configs.get(log_id, frozenset()),
        tells_transactions=told.tells_transactions or given.batches is not None or bool(given.aborted),
        tells_log_end=given.log_end_offset is not None,
        tells_horizons=given.batches is not None,
        has_fixed_bound=_is_bound_fixed(bounds, given) and bool(segments),
        has_one_round=_has_one_round(bounds, given, sum(int((run[:, 1] - run[:, 0]).sum()) for run in runs)),
        last_missing_offset=_last_missing_offset(np.concatenate(runs), given) if runs else None,
        first_dirty_offset=_first_dirty_offset(bounds, given, told),
        after_first_offset=after_first_offset,
    )
    sizes = tuple((one.base_offset, one.size_bytes) for one in segments)
    return replace(bounds, known=known, segments=bounds.segments or sizes)


def _is_bound_fixed(bounds: Bounds, given: GivenLog) -> bool:
    """No lag or open transaction ends while nothing is appended."""
    end, stable = given.log_end_offset, given.last_stable_offset
    is_decided = stable is None or (end is not None and stable >= end)
    return bounds.policy.min_compaction_lag_ms == 0 and is_decided


def _has_one_round(bounds: Bounds, given: GivenLog, records: int) -> bool:
    """Nothing becomes cleanable later on, and the map takes all keys."""
    limit = map_limit(bounds.policy)
    fits = records <= (DEFAULT_MAP_LIMIT if limit is None else limit)
    return _is_bound_fixed(bounds, given) and fits and bounds.policy.rounds == 1


def _first_dirty_offset(bounds: Bounds, given: GivenLog, told: Told) -> int | None:
    """Where rounds began at the latest: at the entry of a checkpoint file, or at the start without one."""
    if bounds.checkpoint_offset is not None:
        return bounds.checkpoint_offset
    return 0 if told.tells_checkpoints and given.checkpoint_offset is None else None


def _last_missing_offset(runs: np.ndarray, given: GivenLog) -> int | None:
    """Of the offsets between and behind the runs of those that BEFORE holds.

    A dump ends with the last record, so where offsets are missing elsewhere, a marker may lie behind it.
    """
    runs = union_of(runs)
    present_end_offset = int(runs[-1, 1])
    if given.log_end_offset is not None and given.log_end_offset > present_end_offset:
        return given.log_end_offset - 1
    if len(runs) == 1:
        return None
    return present_end_offset if given.log_end_offset is None else int(runs[-1, 0]) - 1
