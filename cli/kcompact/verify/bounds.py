"""What is known about each log before it is judged: policy, checkpoint, bounds of every round."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kcompact.log.policy import Policy
from kcompact.log.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.settling import BEHIND_ALL, Replaceable


@dataclass(frozen=True)
class Bounds:
    """What the user's files and options say about one log; None where they are silent.

    ``checkpoint_offset`` is a cleaner checkpoint's entry. ``uncleanable_offset`` (exclusive) bounds every
    round: active segment, minimum lag, last stable offset. Records below ``log_start_offset`` may be gone.
    """

    policy: Policy = field(default_factory=Policy)
    checkpoint_offset: int | None = None
    uncleanable_offset: int | None = None
    log_start_offset: int | None = None
    checkpoint_is_end: bool | None = None  # whether it was taken after the cleaning; None: unknown
    segments: tuple[tuple[int, int], ...] = ()  # base offset and bytes, ascending; empty: not known

    @property
    def retention_bytes(self) -> int | None:
        """The size above which records may have gone from the front; None: any size stays."""
        return _limit(self.policy.retention_bytes) if "delete" in self.policy.cleanup_policy else None

    @property
    def records_expired_ms(self) -> int | None:
        """Records older than this may be gone; None: retention.ms takes nothing."""
        retention_ms = _limit(self.policy.retention_ms)
        if "delete" not in self.policy.cleanup_policy or retention_ms is None:
            return None
        return self.policy.now_ms - retention_ms

    @property
    def cleaned_before_offset(self) -> int | None:
        """What bounds every round: a log that is not compacted has no cleanable section at all."""
        return self.uncleanable_offset if "compact" in self.policy.cleanup_policy else 0

    @property
    def replaceable(self) -> Replaceable | None:
        """Which records can have replaced others; None: what is gone has to tell, or retention took some."""
        is_open = self.checkpoint_offset is not None and self.checkpoint_is_end is None
        if is_open or self.log_start_offset is not None or "delete" in self.policy.cleanup_policy:
            return None
        ends = [one for one in (self.cleaned_before_offset,) if one is not None]
        if self.checkpoint_offset is None:
            return Replaceable(end_offset=min(ends, default=BEHIND_ALL))
        if self.checkpoint_is_end:
            return Replaceable(end_offset=min([*ends, self.checkpoint_offset]))
        return Replaceable(self.checkpoint_offset, min(ends, default=BEHIND_ALL))

    def is_due(self, tombstone: Sequence[int], first_kept_tombstone: int | None) -> bool:
        """Whether a tombstone may have gone by itself, by the rules of ``Judged.is_too_early``.

        It is a row of ``SettledLog.tombstones``.
        """
        offset, _, timestamp_ms, horizon_ms = tombstone
        if self.policy.drop_tombstones:
            return True
        if horizon_ms != UNKNOWN_HORIZON_MS:
            return horizon_ms <= self.policy.now_ms
        by_order = first_kept_tombstone is not None and offset > first_kept_tombstone
        return not by_order and timestamp_ms <= self.policy.now_ms - self.policy.delete_retention_ms


def _limit(value: int | None) -> int | None:
    """A retention config, where it limits anything (-1 does not)."""
    return value if value is not None and value >= 0 else None
