"""The outcome of cleaning one log: the figures that a broker would log, and the state that it would leave."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.range import CleanableRange, LogBounds
from kcompact.rules.rewriting import Counts
from kcompact.rules.rounds import RoundSpan
from kcompact.rules.verdicts import Verdict


@dataclass(frozen=True)
class RoundSizes:
    """Bytes that a round read and wrote, and how many segments the log has; None: they are not known."""

    bytes_read: int | None
    bytes_written: int | None
    segments_before: int | None = None
    segments_after: int | None = None


UNKNOWN_SIZES = RoundSizes(None, None)


@dataclass(frozen=True)
class Round:
    """One round, in the broker's own terms (section 4 of the rules)."""

    span: RoundSpan
    map_entries: int
    utilization: float | None  # None: the map was unlimited
    counts: Counts
    sizes: RoundSizes
    delete_horizon_ms: int | None  # what this round stamps; None: too late for a long (R29)


@dataclass(frozen=True)
class LogCleaning:
    """One log after a run."""

    bounds: LogBounds  # before
    range: CleanableRange | None  # None: cleanup.policy has no compact
    rounds: tuple[Round, ...]
    removed: Mapping[Verdict, int]  # over all rounds and retention
    checkpoint_offset: int | None  # what the checkpoint file says afterwards; None: no entry
    horizons: tuple[DeleteHorizon, ...]  # what ``--state`` remembers afterwards
    log_start_offset: int  # after retention
    segments: tuple[SegmentState, ...] | None  # after; None: not known
    aborted: tuple[AbortedRange, ...]  # known, and reached by no round
    removed_aborts_end_offset: int  # rounds, of earlier runs, too, removed aborted data below it; 0: none
    notes: tuple[str, ...] = field(default=())


def checkpoint_after(
    before: int | None, cleanable: CleanableRange | None, spans: tuple[RoundSpan, ...], log_start_offset: int
) -> int | None:
    """The checkpoint after a run: next of the last round, or a reset; at least the log start (R1, R50)."""
    if cleanable is None:
        return before
    reset_to = cleanable.first_dirty_offset if cleanable.checkpoint_reset else before
    after = spans[-1].next_offset if spans else reset_to
    return None if after is None else max(after, log_start_offset)


def horizons_after(
    before: tuple[DeleteHorizon, ...], spans: tuple[RoundSpan, ...], delete_horizon_ms: int | None
) -> tuple[DeleteHorizon, ...]:
    """Horizons as intervals of offsets: a round stamps below its rewritten end what none did (R25 to R29)."""
    after = list(before)
    for span in spans:
        stamped_before = after[-1].rewritten_end_offset if after else 0
        if delete_horizon_ms is not None and span.rewritten_end_offset > stamped_before:
            after.append(DeleteHorizon(span.rewritten_end_offset, delete_horizon_ms))
    return tuple(after)


def without_past_ends(horizons: tuple[DeleteHorizon, ...], now_ms: int) -> tuple[DeleteHorizon, ...]:
    """``horizons`` in which neighbours that have passed are one: all of their tombstones may go by now.

    So a state remembers the rounds of one ``delete.retention.ms`` alone, however many there were.
    """
    joined: list[DeleteHorizon] = []
    for end_offset, horizon_ms in horizons:
        latest_ms = horizon_ms
        if joined and max(horizon_ms, joined[-1].delete_horizon_ms) <= now_ms:
            latest_ms = max(horizon_ms, joined.pop().delete_horizon_ms)
        joined.append(DeleteHorizon(end_offset, latest_ms))
    return tuple(joined)
