"""Bounds of each log, known before any record is classified: policy, checkpoint, end of every round."""

from dataclasses import astuple, dataclass, field

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.broker.aborted import AbortedRange
from kcompact.rules.lookups import within
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import UNKNOWN_HORIZON_MS
from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL


@dataclass(frozen=True)
class Knowledge:
    """The given facts about one log, as far as they decide whether something is certain.

    ``configs`` are the topic configs that are given, by Kafka's names. ``last_missing_offset`` is the last
    offset that BEFORE lacks, where an abort marker can be: the one after its last record, unless the log
    ends there; None: no offset is missing among its records, so nothing speaks for transactions.
    ``undecided`` are ascending ranges of data that may have been aborted after the given files were made;
    ``open_in_batches``: by the batches its transaction was open, else it comes after a read_committed dump.
    ``log_end_given``: the log end offset is given.
    ``first_dirty_offset`` is where the first round began that AFTER went through; None: not known.
    ``after_first_offset`` is AFTER's first offset, None: it has no record.
    ``has_fixed_bound``: nothing becomes cleanable later on, and where segments end is known.
    ``map_size_given``: the size of the offset map is given.
    ``has_one_round``: all that is cleanable fits into one round, and nothing becomes cleanable later on.
    ``may_begin_within_segment``: a map may get full, or the first round is known to begin behind the base of
    a segment.
    """

    configs: frozenset[str] = frozenset()
    transactions_given: bool = False
    log_end_given: bool = False
    batches_given: bool = False
    has_fixed_bound: bool = False
    map_size_given: bool = False
    has_one_round: bool = False
    may_begin_within_segment: bool = False
    last_missing_offset: int | None = None
    undecided: tuple[AbortedRange, ...] = ()
    open_in_batches: bool = False
    first_dirty_offset: int | None = None
    after_first_offset: int | None = None


NOTHING_KNOWN = Knowledge()


@dataclass(frozen=True)
class Replaceable:
    """Of one log: only records at offsets in [``first_offset``, ``end_offset``) can replace others."""

    first_offset: int = BEFORE_ALL
    end_offset: int = BEHIND_ALL


@dataclass(frozen=True)
class Bounds:
    """The facts about one log in the user's files and options; None where they are silent.

    ``checkpoint_offset`` is a cleaner checkpoint's entry. ``uncleanable_offset`` (exclusive) bounds every
    round: active segment, minimum lag, last stable offset. Records below ``log_start_offset`` may be gone.
    """

    policy: Policy = field(default_factory=Policy)
    checkpoint_offset: int | None = None
    uncleanable_offset: int | None = None
    log_start_offset: int | None = None
    checkpoint_is_end: bool | None = None  # whether it was taken after the cleaning; None: unknown
    segments: tuple[tuple[int, int], ...] = ()  # base offset and bytes, ascending; empty: not known
    is_bound_estimated: bool = False  # uncleanable_offset comes from segments estimated from configs
    is_bound_undecided: bool = False  # by the batches, a transaction was open there; it may have ended since
    knowledge: Knowledge = NOTHING_KNOWN

    @property
    def tombstones_due_ms(self) -> int:
        """Tombstones with a later timestamp are younger than ``delete.retention.ms``."""
        return self.policy.now_ms - self.policy.delete_retention_ms

    @property
    def certain_from_offset(self) -> int:
        """No record from this offset on can be unknown aborted data: its marker would leave a gap."""
        if self.knowledge.transactions_given or self.knowledge.last_missing_offset is None:
            return BEFORE_ALL
        return self.knowledge.last_missing_offset

    def may_be_aborted(self, offset: Longs) -> Flags:
        """Which records of the log may be aborted data that nothing given names."""
        ranges = self.knowledge.undecided
        first, last = (np.array([run[at] for run in map(astuple, ranges)], np.int64) for at in (0, 1))
        is_undecided = within(last, np.searchsorted(first, offset, side="right") - 1, offset)
        return is_undecided | (offset < self.certain_from_offset)

    def only_cleaning_takes(self, offset: Longs) -> Flags:
        """Which records only cleaning can have removed: not retention, the log start or an unknown abort."""
        flags: Flags = (offset >= self.cleaned_from_offset) & ~self.may_be_aborted(offset)
        return flags

    @property
    def assumes_no_transactions(self) -> bool:
        """Whether only the lack of gaps speaks against aborted data; a marker may come after BEFORE."""
        facts = self.knowledge
        return facts.last_missing_offset is None and not facts.transactions_given and not facts.log_end_given

    @property
    def assumes_roomy_map(self) -> bool:
        """Whether findings may rest on an offset map with room for all keys, whose size is not given."""
        facts = self.knowledge
        return not facts.map_size_given and (facts.has_one_round or self.may_have_transactions)

    @property
    def assumes_whole_segments(self) -> bool:
        """Whether a round that began within a segment, after an abort marker, would explain duplicates."""
        facts = self.knowledge
        is_asked = facts.may_begin_within_segment and self.may_have_transactions
        return is_asked and not facts.batches_given

    @property
    def aborts_unknown(self) -> bool:
        """Whether offsets are missing where transactions may have ended, and nothing given names any."""
        return self.knowledge.last_missing_offset is not None and not self.knowledge.transactions_given

    def takes_for_committed(self, cleaned_end_offset: int) -> bool:
        """Whether data below the cleaned end counts as committed though it follows a read_committed dump."""
        facts = self.knowledge
        is_behind = bool(facts.undecided) and not facts.open_in_batches
        return is_behind and facts.undecided[0].first_offset < cleaned_end_offset

    @property
    def may_have_transactions(self) -> bool:
        """Whether anything speaks for transactions."""
        return self.knowledge.transactions_given or self.knowledge.last_missing_offset is not None

    @property
    def last_start_offset(self) -> int:
        """The largest offset at which the log may start: AFTER's first one; BEHIND_ALL if it has no record.

        BEFORE_ALL: the policy is given without ``delete``, so nothing can have moved the log start.
        """
        if self.is_given("cleanup.policy") and "delete" not in self.policy.cleanup_policy:
            return BEFORE_ALL
        first = self.knowledge.after_first_offset
        return BEHIND_ALL if first is None else first

    @property
    def front_end_offset(self) -> int:
        """Retention took nothing from this offset on: it takes whole segments before AFTER's first record."""
        last = self.last_start_offset
        if last == BEHIND_ALL:
            return BEHIND_ALL
        return max((base for base, _ in self.segments if base <= last), default=last)

    @property
    def cleaned_from_offset(self) -> int:
        """Neither retention nor a moved log start (R53, R54) took anything from this offset on.

        kafka-delete-records moves the log start only with ``delete`` in the policy
        (``Partition.deleteRecordsOnLeader``); this counts if the policy is given.
        """
        if self.log_start_offset is not None:
            return max(self.log_start_offset, self.front_end_offset)
        return self.last_start_offset if self.is_given("cleanup.policy") else self.front_end_offset

    @property
    def is_size_unknown(self) -> bool:
        """Whether ``retention.bytes`` may have counted markers, which BEFORE has no records of (R53)."""
        is_told = self.segments or self.knowledge.batches_given
        return self.policy.retained_bytes is not None and self.may_have_transactions and not is_told

    @property
    def round_end_offset(self) -> int:
        """Where a round ends (exclusive) unless a full map ends it earlier; BEFORE_ALL: not known."""
        end = self.cleanable_end_offset
        is_known = self.knowledge.has_fixed_bound and not self.is_bound_estimated
        return end if is_known and end != BEHIND_ALL else BEFORE_ALL

    @property
    def has_roomy_map(self) -> bool:
        """Whether the map's size is given and takes all that is cleanable, so that no round ends early."""
        return self.knowledge.map_size_given and self.knowledge.has_one_round

    @property
    def stamps_come_first(self) -> bool:
        """Whether a tombstone without a delete horizon is known to outlive the cleaning (R28)."""
        return self.knowledge.batches_given and self.knowledge.has_one_round

    @property
    def stamps_ascend(self) -> bool:
        """Whether of two tombstones that no round has stamped the earlier one is known to be due first.

        Rounds rewrite from the log's start on, so the earlier one is stamped by the same round or before it.
        """
        return self.knowledge.batches_given and self.is_given("delete.retention.ms")

    @property
    def cleanable_end_offset(self) -> int:
        """The bound of every round (exclusive); 0: the log is not compacted; BEHIND_ALL: there is none."""
        if "compact" not in self.policy.cleanup_policy:
            return 0
        return BEHIND_ALL if self.uncleanable_offset is None else self.uncleanable_offset

    @property
    def replaceable(self) -> Replaceable | None:
        """Which records can have replaced others; None: not known yet, or records may be gone otherwise, too.

        It is not known yet if the removed records are to tell what the checkpoint means.
        """
        is_open = self.checkpoint_offset is not None and self.checkpoint_is_end is None
        if is_open or self.log_start_offset is not None or "delete" in self.policy.cleanup_policy:
            return None
        end = self.cleanable_end_offset
        if self.checkpoint_offset is None:
            return Replaceable(end_offset=end)
        if self.checkpoint_is_end:
            return Replaceable(end_offset=min(end, self.checkpoint_offset))
        return Replaceable(self.checkpoint_offset, end)

    def is_given(self, config: str) -> bool:
        """Whether an option or a file gives a topic config."""
        return config in self.knowledge.configs

    def are_too_early(self, timestamp_ms: Longs, horizon_ms: Longs, *, for_certain: bool = False) -> Flags:
        """Which tombstones of the log could not have gone by themselves yet (R23, R25, R28, R29).

        A known delete horizon decides. Otherwise a round had to set it first, and it cannot be before the
        tombstone's timestamp plus ``delete.retention.ms``; ``for_certain``: only if that config is given.
        """
        policy = self.policy
        if policy.drop_tombstones:
            return np.zeros(len(timestamp_ms), np.bool_)
        counts_age = self.is_given("delete.retention.ms") or not for_certain
        is_young = counts_age & (timestamp_ms > self.tombstones_due_ms)
        is_known = horizon_ms != UNKNOWN_HORIZON_MS
        flags: Flags = np.where(is_known, horizon_ms > policy.now_ms, is_young | self.stamps_come_first)
        return flags
