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
    """The bytes that a round read and wrote, and how many segments the log has. None stands for unknown."""

    bytes_read: int | None
    bytes_written: int | None
    segments_before: int | None = None
    segments_after: int | None = None


UNKNOWN_SIZES = RoundSizes(None, None)


@dataclass(frozen=True)
class Round:
    """One round, with the figures that a broker logs for it."""

    span: RoundSpan
    map_entries: int
    utilization: float | None  # None: the map was unlimited
    counts: Counts
    sizes: RoundSizes
    delete_horizon_ms: int | None  # the horizon that this round stamps; None: it exceeds 64 bits (R29)


@dataclass(frozen=True)
class LogCleaning:
    """One log after a run."""

    bounds: LogBounds  # before the run
    range: CleanableRange | None  # of the first round; None: cleanup.policy has no compact
    rounds: tuple[Round, ...]
    removed: Mapping[Verdict, int]  # records removed by all rounds and by retention
    checkpoint_offset: int | None  # written to the checkpoint file after the run; None: no entry
    horizons: tuple[DeleteHorizon, ...]  # kept by ``--state`` after the run
    log_start_offset: int  # after retention
    segments: tuple[SegmentState, ...] | None  # after the run; None: not known
    aborted: tuple[AbortedRange, ...]  # known aborted data that no round has reached yet
    removed_aborts_end_offset: int  # below it, this run or an earlier one removed aborted data; 0: none did
    notes: tuple[str, ...] = field(default=())


def checkpoint_after(
    before: int | None, cleanable: CleanableRange | None, spans: tuple[RoundSpan, ...], log_start_offset: int
) -> int | None:
    """The checkpoint offset after a run, or None for no entry (R1, R50).

    It is the next offset of the last round or, without rounds, the checkpoint ``before`` the run, reset where
    a broker resets it. It is at least the log start offset.
    """
    if cleanable is None:
        return before
    reset_to = cleanable.first_dirty_offset if cleanable.checkpoint_reset else before
    after = spans[-1].next_offset if spans else reset_to
    return None if after is None else max(after, log_start_offset)


def horizons_after(
    before: tuple[DeleteHorizon, ...], spans: tuple[RoundSpan, ...], delete_horizon_ms: int | None
) -> tuple[DeleteHorizon, ...]:
    """The delete horizons after a run: each counts from the end of the one before it up to its own end.

    A round stamps the offsets below its rewritten end that no earlier round has stamped (R25 to R29).
    """
    after = list(before)
    for span in spans:
        stamped_before = after[-1].rewritten_end_offset if after else 0
        if delete_horizon_ms is not None and span.rewritten_end_offset > stamped_before:
            after.append(DeleteHorizon(span.rewritten_end_offset, delete_horizon_ms))
    return tuple(after)


def without_past_ends(horizons: tuple[DeleteHorizon, ...], now_ms: int) -> tuple[DeleteHorizon, ...]:
    """``horizons`` with neighbours merged if they have passed: their tombstones may all go by now.

    This way a state holds only the rounds of the last ``delete.retention.ms``, however many there have been.
    """
    joined: list[DeleteHorizon] = []
    for end_offset, horizon_ms in horizons:
        latest_ms = horizon_ms
        if joined and max(horizon_ms, joined[-1].delete_horizon_ms) <= now_ms:
            latest_ms = max(horizon_ms, joined.pop().delete_horizon_ms)
        joined.append(DeleteHorizon(end_offset, latest_ms))
    return tuple(joined)
