"""Up to where AFTER was cleaned: given by a checkpoint, or the smallest end that justifies every removal."""

from dataclasses import dataclass

from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.log_facts import LogFacts


@dataclass(frozen=True)
class Reading:
    """How one log counts as cleaned: what its checkpoint means, and what no round can pass.

    ``is_end_given``: the checkpoint says where cleaning ended; otherwise it says where the last round began.
    ``limit_offset``: no record at or above it can have replaced another one; None: no limit.
    ``is_certain``: whether that is what the checkpoint means is known, or proven by what is gone.
    """

    is_end_given: bool
    limit_offset: int | None
    is_certain: bool = True


def reading_of(facts: LogFacts, bounds: Bounds) -> Reading:
    """Decide how a log counts as cleaned.

    A checkpoint file may have been copied before or after the cleaning: it is read in the way that explains
    more of the removals, and as ``compact`` reads it (where the round begins) if both do.
    """
    checkpoint, is_end, uncleanable = (
        bounds.checkpoint_offset,
        bounds.checkpoint_is_end,
        bounds.cleaned_before_offset,
    )
    unexplained = (facts.unjustified_from, facts.unjustified_up_to)
    is_certain = checkpoint is None or is_end is not None or (min(unexplained) == 0 and max(unexplained) > 0)
    if is_end is None:
        is_end = facts.unjustified_up_to < facts.unjustified_from
    if checkpoint is None or not is_end:
        return Reading(is_end_given=False, limit_offset=uncleanable, is_certain=is_certain)
    limits = [checkpoint] + ([uncleanable] if uncleanable is not None else [])
    return Reading(is_end_given=True, limit_offset=min(limits), is_certain=is_certain)


def first_dirty_offset(facts: LogFacts, reading: Reading, bounds: Bounds) -> int:
    """Where the cleaned section begins, as far as it is known."""
    first = facts.before_first_offset or 0
    return first if reading.is_end_given else max(first, bounds.checkpoint_offset or 0)


def cleaned_end(facts: LogFacts, reading: Reading, bounds: Bounds, needed_end_offset: int | None) -> int:
    """Up to where the log was cleaned (exclusive): as given, or the least that what is gone needs."""
    if reading.is_end_given and bounds.checkpoint_offset is not None:
        return bounds.checkpoint_offset
    return max(first_dirty_offset(facts, reading, bounds), needed_end_offset or 0)
