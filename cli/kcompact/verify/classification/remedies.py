"""Options that were not given and could explain a loss: without them nobody can tell whether it is one."""

import enum
from collections.abc import Callable

import numpy as np

from kcompact.arrays import Flags, Longs
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS
from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.classification.known_log import KnownLog


class Remedy(enum.IntEnum):
    """Missing knowledge that could explain a loss. Numbers, since an array holds one for every row."""

    NONE = 0
    RETENTION = enum.auto()
    SIZE = enum.auto()  # the log's bytes with its markers, for retention.bytes
    LOG_START = enum.auto()  # where the log starts, below which all may be gone
    TRANSACTIONS = enum.auto()  # which data was aborted
    TOMBSTONES = enum.auto()  # a shorter delete.retention.ms
    LAG = enum.auto()  # a minimum lag: there may have been several rounds, and an earlier one stamped it
    SEGMENTS = enum.auto()  # segments that end elsewhere than the configs make them end
    OPEN_IN_BATCHES = enum.auto()  # how a transaction ended that was open by the batches
    BEHIND_COMMITTED = enum.auto()  # as above, for one that ends after a read_committed dump
    COMMITTED = enum.auto()  # whether AFTER was read as read_committed, which shows no aborted data
    DOUBTED = enum.auto()  # the record's true content, where a tool does not write all as it is
    NULLS = enum.auto()  # how a dump writes null
    TIMES = enum.auto()  # whether timestamps were cut to seconds


RETENTION_REMEDY = (
    "--cleanup-policy compact,delete with --retention-ms or --retention-bytes, if retention took it"
)
WHOLE_LOG_REMEDY = (
    "--cleanup-policy: compact makes this a finding, as the cleaner never takes a whole log;"
    " compact,delete with --retention-ms or --retention-bytes tells whether retention may have"
)
DOUBTED_REMEDY = (
    "both dumps as kcat -J writes them, if this is U+FFFD for what is no UTF-8, or if headers were not"
    " exported as they are: without quotes, in another order, in part or not at all (--fields headers= leaves"
    " them out)"
)
_WORDS = {
    Remedy.RETENTION: RETENTION_REMEDY,
    Remedy.LOG_START: "--log-start-offset, if kafka-delete-records moved the log start beyond it",
    Remedy.LAG: "--min-compaction-lag-ms, if the topic has one: an earlier round may have set its delete"
    " horizon",
    Remedy.SIZE: "--segments, if retention.bytes took it: the markers of transactions are a part of a log's"
    " size",
    Remedy.TRANSACTIONS: "--batches or --read-committed, if its transaction was aborted"
    " (BEFORE itself as --read-committed, if the topic has no transactions)",
    Remedy.SEGMENTS: "--segments, if segments do not end where segment.bytes and segment.ms make them end",
    Remedy.OPEN_IN_BATCHES: "--batches printed at the time of the cleaning, if the transaction that was open,"
    " or after the last batch given, had ended by then",
    Remedy.BEHIND_COMMITTED: "--last-stable-offset after it, if its transaction was aborted:"
    " --read-committed ends before it",
    Remedy.COMMITTED: "an AFTER of isolation.level=read_uncommitted, if this one is of read_committed: the"
    " transaction of the record was aborted",
    Remedy.DOUBTED: DOUBTED_REMEDY,
    Remedy.NULLS: "--tombstone missing, empty or literal:TEXT, if one of the dumps has that for null",
    Remedy.TIMES: "--fields timestamp=, which leaves them out, if one of the dumps has them cut to seconds",
    Remedy.TOMBSTONES: "--delete-retention-ms {age_ms} or less, if that was the topic's",
}


def words_of(remedy: int, now_ms: int, timestamp_ms: int) -> str:
    """The option to give, and what it would say; ``timestamp_ms`` is that of the lost record."""
    if remedy == Remedy.TOMBSTONES and now_ms < timestamp_ms:
        return (
            f"--now {timestamp_ms} or later, if the cleaning was, with --delete-retention-ms as it was then"
        )
    return _WORDS[Remedy(remedy)].format(age_ms=now_ms - timestamp_ms)


def remedies_of(classified: ClassifiedRows) -> Longs:
    """A ``Remedy`` for every row; only those of lost records mean anything."""
    rows = classified.rows
    is_unstamped = _is_unstamped(classified)
    comes_first = _is(classified, lambda log: log.bounds.stamps_come_first)
    is_retention_given = _is_given(classified, "delete.retention.ms")
    is_young = rows.timestamp_ms > classified.of_log(lambda log: log.bounds.tombstones_due_ms)
    # Without the bound the record might have gone: a later one replaces it, or it is aborted, without a key,
    # or a tombstone.
    is_last_value = rows.is_data & ~rows.is_tombstone & (rows.next_offset == NEVER)
    is_estimated = _is(classified, lambda log: log.bounds.is_bound_estimated)
    is_undecided = _is(classified, lambda log: log.bounds.is_bound_undecided)
    goes_further_on = rows.is_aborted | (~is_last_value & ~classified.is_outlived)
    is_front = rows.offset < classified.front_end_offset
    in_front = is_front & ~_is_given(classified, "cleanup.policy")
    is_start_given = _is(classified, lambda log: log.bounds.log_start_offset is not None)
    aborted = classified.may_be_aborted
    # An active segment that is the bound may have been closed since, as the transaction may have ended.
    is_open = aborted & ~in_front & _is(classified, lambda log: log.bounds.knowledge.open_in_batches)
    conditions = {
        Remedy.TOMBSTONES: is_young & is_unstamped & ~comes_first & ~is_retention_given,
        Remedy.SIZE: is_front & _is(classified, lambda log: log.bounds.is_size_unknown),
        Remedy.OPEN_IN_BATCHES: (is_undecided & (goes_further_on | aborted)) | is_open,
        Remedy.SEGMENTS: is_estimated & goes_further_on,
        Remedy.COMMITTED: rows.is_aborted,
        Remedy.RETENTION: in_front,
        # A bound that is only estimated does not rule out other explanations of the loss.
        Remedy.BEHIND_COMMITTED: aborted & _is(classified, lambda log: bool(log.bounds.knowledge.undecided)),
        Remedy.TRANSACTIONS: aborted & (is_estimated | (rows.offset < classified.cleanable_end_offset)),
        Remedy.LOG_START: ~is_start_given & (rows.offset < classified.cleaned_from_offset),
        Remedy.LAG: is_unstamped & comes_first & ~_is_given(classified, "min.compaction.lag.ms"),
    }
    return np.select(list(conditions.values()), list(conditions), Remedy.NONE)


def _is_unstamped(classified: ClassifiedRows) -> Flags:
    """Whether a round may have removed a tombstone, if an earlier round had set its delete horizon."""
    rows = classified.rows
    flags: Flags = (
        rows.is_data
        & rows.is_tombstone
        & (rows.delete_horizon_ms == UNKNOWN_HORIZON_MS)
        & ~classified.is_outlived
        & (rows.offset < classified.limit_offset)
    )
    return flags


def _is_given(classified: ClassifiedRows, config: str) -> Flags:
    return _is(classified, lambda log: log.bounds.is_given(config))


def _is(classified: ClassifiedRows, condition: Callable[[KnownLog], bool]) -> Flags:
    """Whether something holds for each row's log."""
    flags: Flags = classified.of_log(condition) > 0
    return flags
