"""Knowledge about BEFORE from options and files: aborted data, horizons, and up to where a round can go."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from kcompact.broker.log_context import LogContext
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.cleaner.cleaning import surveyed_cases
from kcompact.cleaner.shares import plan_shares
from kcompact.cleaner.survey import survey
from kcompact.cleaner.tracked import INDEXED, ROW_BLOCKS, track
from kcompact.compact.context.given_batches import refuse_holes, with_open_transactions, with_records_behind
from kcompact.compact.context.left_by_rounds import left_by_rounds
from kcompact.compact.context.read_committed import (
    notes_on_ends,
    notes_on_missing_markers,
    with_read_committed,
)
from kcompact.compact.whole_logs.record_index import RECORDS_PER_SHARE
from kcompact.dumps.records.record import index_schema
from kcompact.engine.blocks import block_of
from kcompact.engine.passes.offset_runs import union_of
from kcompact.engine.passes.summaries import LogSummary
from kcompact.engine.shuffle import Block, Sent, Stage
from kcompact.rules.capacity import DEFAULT_MAP_SLOTS, map_limit
from kcompact.rules.files.segment_files import with_segments_of_batches, without_vague_times
from kcompact.rules.files.segment_roller import with_rolled_segments
from kcompact.rules.files.segments import is_rolled
from kcompact.rules.lookups import Lookup, lookup_for, values_of_logs
from kcompact.rules.policy import Policy
from kcompact.rules.transactions import perhaps_overlooked
from kcompact.verify.classification.bounds import Bounds, Knowledge
from kcompact.verify.rows.indexed import Indexed
from kcompact.verify.rows.key_rows import BEHIND_ALL
from kcompact.verify.rows.pairs import Pairs

_DEFAULT_MAP_LIMIT = int(DEFAULT_MAP_SLOTS * Policy.log_cleaner_io_buffer_load_factor)  # keys


@dataclass(frozen=True)
class VerifyContext:
    """By log id, what is given about each log of BEFORE, and its policy; all mappings have the same keys."""

    contexts: Mapping[int, LogContext]
    policies: Mapping[int, Policy]
    checkpoint_is_end: bool | None = None  # None: to be found out
    configs: Mapping[int, frozenset[str]] = field(default_factory=dict)  # that are given, by Kafka's names
    tells_checkpoints: bool = False
    transactions_given: bool = False

    @property
    def lookups(self) -> dict[int, Lookup]:
        """Knowledge about single records, by log id."""
        return {log_id: lookup_for(self.contexts[log_id], policy) for log_id, policy in self.policies.items()}

    def lookups_under(self, bounds: Mapping[int, Bounds]) -> dict[int, Lookup]:
        """As ``lookups``, with the data that rounds within ``bounds`` may leave out of their maps (R31)."""
        lookups = self.lookups
        for i, lookup in lookups.items():
            batches = self.contexts[i].batches
            if batches is not None and bounds[i].knowledge.may_begin_within_segment:
                lookups[i] = lookup.overlooking(perhaps_overlooked(batches.parts()))
        return lookups

    @property
    def unbounded(self) -> dict[int, Bounds]:
        """The bounds of every log where nothing keeps a round from its end."""
        return {log_id: Bounds(policy) for log_id, policy in self.policies.items()}

    @property
    def bounds_rounds(self) -> bool:
        """Whether something may keep a round from reaching the end of a log."""
        return any(map(_bounds_rounds, self.contexts.values())) or any(
            map(_policy_bounds_rounds, self.policies.values())
        )


def replaces_everywhere(policy: Policy) -> bool:
    """Whether, by its policy alone, any record of a log may replace any earlier one."""
    return policy.cleanup_policy == {"compact"} and not _policy_bounds_rounds(policy)


def _policy_bounds_rounds(policy: Policy) -> bool:
    return policy.min_compaction_lag_ms > 0 or is_rolled(policy)


def _bounds_rounds(context: LogContext) -> bool:
    offsets = context.log_start_offset, context.log_end_offset, context.last_stable_offset
    return any(fact is not None for fact in (*offsets, context.segments, context.checkpoint_offset))


def with_transactions(
    contexts: Mapping[int, LogContext], before: Indexed, committed: Indexed | None, state: CleanerState | None
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` with what is known of BEFORE's transactions, and notes. Raises InputError.

    Unlike in ``compact``, what comes after a read_committed dump bounds nothing: the broker may know better.
    BEFORE begins with the output of ``state``, if there is one and it names an output.
    """
    refuse_holes(contexts, before.summaries)
    contexts, notes = with_open_transactions(contexts, before.logs)
    if committed is None:
        contexts, more_notes = with_records_behind(contexts, before.summaries)
        return contexts, notes + more_notes
    present, seen = list(before.summaries), list(committed.summaries)
    left = left_by_rounds(present, state, contexts, seen)
    notes += notes_on_missing_markers(contexts, present, [*seen, *left])
    notes += notes_on_ends(contexts, present, [*seen, *left])
    full_contexts, _ = with_read_committed(contexts, present, seen, left)
    stable = {i: log.last_stable_offset for i, log in contexts.items()}
    return {i: replace(log, last_stable_offset=stable[i]) for i, log in full_contexts.items()}, notes


def _front_offsets(
    verify_context: VerifyContext, first_offsets: Mapping[int, int], bounds: Mapping[int, Bounds]
) -> dict[int, int]:
    """By log id, the offset below which ``retention.bytes`` may have taken all, if the bound lies below it.

    Retention takes whole segments below AFTER's first record (``first_offsets``), perhaps before the log's
    own round (R52). Then young records in these segments did not hold that round up.
    """
    fronts = {}
    for log_id, policy in verify_context.policies.items():
        segments = with_segments_of_batches(verify_context.contexts[log_id]).segments or ()
        is_estimated = not segments and is_rolled(policy)  # from the log's very first record on
        first = first_offsets.get(log_id)
        if policy.retained_bytes is None or is_estimated or first is None:
            continue
        front = max((s.base_offset for s in segments if s.base_offset <= first), default=first)
        end = bounds[log_id].uncleanable_offset if log_id in bounds else None
        if end is not None and end < front:
            fronts[log_id] = front
    return fronts


def _behind_fronts(
    bounds: Mapping[int, Bounds],
    pairs: Pairs,
    summaries: Iterable[LogSummary],
    verify_context: VerifyContext,
    fronts: Mapping[int, int],
) -> dict[int, Bounds]:
    """``bounds``, raised to where a round could go if the records below its log's front were gone."""
    contexts = {i: _from_front(verify_context.contexts[i], front) for i, front in fronts.items()}
    policies = {i: verify_context.policies[i] for i in fronts}
    of_later = replace(verify_context, contexts=contexts, policies=policies)
    later = bounds_of(rows_to_track(pairs, fronts), [s for s in summaries if s.log_id in fronts], of_later)
    raised = dict(bounds)
    for i, log_bounds in later.items():
        end, later_end = raised[i].uncleanable_offset, log_bounds.uncleanable_offset
        if end is not None and (later_end is None or later_end > end):
            raised[i] = replace(raised[i], uncleanable_offset=later_end)
    return raised


def _from_front(context: LogContext, front: int) -> LogContext:
    context = with_segments_of_batches(context)
    if context.segments is None:
        return context
    return replace(context, segments=tuple(s for s in context.segments if s.base_offset >= front))


def bounds_of_pair(
    pairs: Pairs,
    summaries: Sequence[LogSummary],
    verify_context: VerifyContext,
    first_offsets: Mapping[int, int],
) -> dict[int, Bounds]:
    """As ``bounds_of``, of BEFORE, now that AFTER's ``first_offsets`` show what retention may have taken."""
    bounds = bounds_of(rows_to_track(pairs), summaries, verify_context)
    fronts = _front_offsets(verify_context, first_offsets, bounds)
    return _behind_fronts(bounds, pairs, summaries, verify_context, fronts) if fronts else bounds


def rows_to_track(pairs: Pairs, fronts: Mapping[int, int] | None = None) -> Stage:
    """The rows of BEFORE as ``tracked.send_index`` sends them: keys are together already.

    ``fronts``: only rows of these logs (by log id), from the offset on.
    """
    names, reader = index_schema(INDEXED).names, pairs.reader

    def work(receiver: int, blocks: list[Block]) -> Sent:
        rows, _ = reader.share(blocks)
        if fronts is not None:
            starts = values_of_logs(rows["log_id"].to_numpy(), fronts, BEHIND_ALL)
            rows = rows.filter(pa.array(rows["offset"].to_numpy() >= starts))
        if rows.num_rows:
            yield receiver, block_of(ROW_BLOCKS, rows.select(names))

    return pairs.stage.then(pairs.receivers, work)


def bounds_of(
    keyed: Stage, summaries: Iterable[LogSummary], verify_context: VerifyContext
) -> dict[int, Bounds]:
    """The bounds of every log, by the rules that ``compact`` follows (R1 to R3), where any are known."""
    known = {i: with_segments_of_batches(context) for i, context in verify_context.contexts.items()}
    contexts = {
        i: with_rolled_segments(log, verify_context.policies[i], BEHIND_ALL) for i, log in known.items()
    }
    lookups = replace(verify_context, contexts=contexts).lookups
    tracked = track(keyed, plan_shares(summaries, RECORDS_PER_SHARE), lookups)
    records, by_segment = survey(tracked)
    contexts = {i: without_vague_times(context, by_segment.get(i, {})) for i, context in contexts.items()}
    cases = surveyed_cases(tracked, records, by_segment, contexts, verify_context.policies)
    bounds = {}
    for log_id, case in cases.items():
        context, cleanable = case.context, case.range
        is_bound = cleanable.bounded_by != "log end"
        are_known = known[log_id].segments is not None
        bounds[log_id] = Bounds(
            case.policy,
            None if cleanable.checkpoint_reset else context.checkpoint_offset,
            cleanable.first_uncleanable_offset if is_bound else None,
            context.log_start_offset,
            verify_context.checkpoint_is_end,
            tuple((segment.base_offset, segment.size_bytes) for segment in case.segments or () if are_known),
            is_bound_estimated=is_bound and case.segments is not None and not are_known,
            is_bound_undecided=cleanable.bounded_by == "last stable offset" and bool(context.undecided),
        )
    return bounds


def with_knowledge(
    bounds: Bounds,
    log_id: int,
    verify_context: VerifyContext,
    runs: Sequence[np.ndarray],
    after_first_offset: int | None,
) -> Bounds:
    """The bounds of a log with all that is given about it.

    ``runs`` are arrays of [start, end) of the offsets that BEFORE holds; AFTER's first offset is None if it
    has no record.
    """
    context = verify_context.contexts.get(log_id, LogContext())
    segments = with_segments_of_batches(context).segments or ()
    records = sum(int((run[:, 1] - run[:, 0]).sum()) for run in runs)
    first_dirty_offset = _first_dirty_offset(bounds, context, verify_context)
    starts = {first_dirty_offset, context.log_start_offset} - {None, 0}
    is_bound_fixed, fits_map = _is_bound_fixed(bounds, context), _fits_map(bounds, records)
    configs = verify_context.configs.get(log_id, frozenset())
    knowledge = Knowledge(
        configs=configs,
        transactions_given=verify_context.transactions_given or context.batches is not None,
        log_end_given=context.log_end_offset is not None,
        batches_given=context.batches is not None,
        has_fixed_bound=is_bound_fixed and bool(segments) and "min.compaction.lag.ms" in configs,
        map_size_given=map_limit(bounds.policy) is not None,
        has_one_round=is_bound_fixed and fits_map and bounds.policy.rounds == 1,
        may_begin_within_segment=not (fits_map and starts <= {segment.base_offset for segment in segments}),
        last_missing_offset=_last_missing_offset(np.concatenate(runs), context) if runs else None,
        undecided=context.undecided,
        open_in_batches=bool(context.undecided)
        and (context.last_stable_offset is not None or context.batches is not None),
        first_dirty_offset=first_dirty_offset,
        after_first_offset=after_first_offset,
    )
    sizes = tuple((segment.base_offset, segment.size_bytes) for segment in segments)
    return replace(bounds, knowledge=knowledge, segments=bounds.segments or sizes)


def _is_bound_fixed(bounds: Bounds, context: LogContext) -> bool:
    """Whether the bound stays where it is while nothing is appended: no lag or open transaction can end."""
    end, stable = context.log_end_offset, context.last_stable_offset
    is_decided = stable is None or (end is not None and stable >= end)
    return bounds.policy.min_compaction_lag_ms == 0 and is_decided


def _fits_map(bounds: Bounds, records: int) -> bool:
    """Whether the map takes the keys of this many records."""
    limit = map_limit(bounds.policy)
    return records <= (_DEFAULT_MAP_LIMIT if limit is None else limit)


def _first_dirty_offset(bounds: Bounds, context: LogContext, verify_context: VerifyContext) -> int | None:
    """Where rounds began at the latest: at the entry of a checkpoint file, or at the start without one."""
    if bounds.checkpoint_offset is not None:
        return bounds.checkpoint_offset
    return 0 if verify_context.tells_checkpoints and context.checkpoint_offset is None else None


def _last_missing_offset(runs: np.ndarray, context: LogContext) -> int | None:
    """The last offset that BEFORE lacks, as in ``Knowledge``; ``runs`` are of the offsets that it holds.

    A dump ends with the last record, so if offsets are missing elsewhere, a marker may follow that record.
    """
    runs = union_of(runs)
    present_end_offset = int(runs[-1, 1])
    if context.log_end_offset is not None and context.log_end_offset > present_end_offset:
        return context.log_end_offset - 1
    if len(runs) == 1:
        return None
    return present_end_offset if context.log_end_offset is None else int(runs[-1, 0]) - 1
