"""The verdict on each record, in closed form over all rounds of a run (``shouldRetainRecord``, R17 to R29).

The links of a record (``rules/links.py``) and the offsets of all rounds determine its verdict: a record
superseded at offset ``x``, for example, goes in the first round whose map reaches beyond ``x``. So the rounds
need not be played through record by record.
"""

import enum
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from kcompact.arrays import Flags, Longs
from kcompact.digits import LONG_MAX

NEVER = LONG_MAX
"""``superseded_at_offset`` of the latest record of a key."""

UNKNOWN_HORIZON_MS = -1
"""``delete_horizon_ms`` of a record whose batch has no horizon, or none that is known."""


class Verdict(enum.IntEnum):
    """Why a record goes, or that it stays, as a broker decides.

    ``verify``, which has to infer why a record is gone, has an enumeration of its own: ``Reason``.
    """

    RETAINED = 0
    SUPERSEDED = 1
    EXPIRED_TOMBSTONE = 2
    KEYLESS = 3
    ABORTED = 4
    EXPIRED = 5  # removed by retention, or below the log start
    EXPIRED_MARKER = 6  # a transaction marker whose transaction has gone (R33, R34)
    REPEATED = 7  # a second copy of a record that the dump holds already


@dataclass(frozen=True)
class Rounds:
    """The facts about the rounds over one log that the verdicts on its records depend on.

    The arrays have one element per round and ascend; ends are exclusive. ``markers`` maps the offset of each
    control record that goes to the round (from 1) in which it goes.
    """

    next_offsets: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    rewritten_end_offsets: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    now_ms: int = 0
    delete_horizon_ms: int | None = None  # the horizon that a round stamps; None: it exceeds 64 bits (R29)
    drop_tombstones: bool = False
    keep_keyless: bool = False
    log_start_offset: int = 0  # after retention
    deleted_before_offset: int = 0  # retention removed all records below it before the first round
    markers: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.next_offsets)


@dataclass(frozen=True)
class Rows:
    """Rows of one log, column by column: one element per record, in any order."""

    offset: Longs
    has_key: Flags
    is_tombstone: Flags
    is_control: Flags
    is_aborted: Flags
    is_repeated: Flags
    superseded_at_offset: Longs  # NEVER: no later record supersedes it
    delete_horizon_ms: Longs  # UNKNOWN_HORIZON_MS: none is known
    deletes_clean_value: Flags  # see LINKS in rules/links.py

    def __len__(self) -> int:
        return len(self.offset)

    def take(self, at: Longs) -> "Rows":
        """The rows at these positions."""
        return Rows(*(getattr(self, column.name)[at] for column in fields(self)))


@dataclass(frozen=True)
class Decision:
    """The fate of each row. Rounds count from 1; 0 stands for no round.

    ``verdict`` holds values of ``Verdict``, ``round`` the round in which the record goes, ``rewritten_round``
    the first round that rewrites its batch. ``stamped`` says whether that first round gives the record a
    delete horizon.
    """

    verdict: NDArray[np.int8]
    round: NDArray[np.int32]
    rewritten_round: NDArray[np.int32]
    stamped: Flags


def decide(rows: Rows, rounds: Rounds) -> Decision:
    """The verdict on each row."""
    count = len(rounds)
    reached = np.searchsorted(rounds.next_offsets, rows.offset, side="right")  # first map that reaches beyond
    rewritten = np.searchsorted(rounds.rewritten_end_offsets, rows.offset, side="right")
    goes = np.full(len(rows), count)
    verdict = np.zeros(len(rows), np.int8)

    def let_go(when: Flags, in_round: Longs, why: Verdict) -> None:
        earlier = when & (in_round < goes)
        goes[earlier] = in_round[earlier]
        verdict[earlier] = why

    superseded = np.searchsorted(rounds.next_offsets, rows.superseded_at_offset, side="right")
    data = ~rows.is_control
    keyed = data & rows.has_key & ~rows.is_aborted
    # In the order of R17 to R23: where a record has two reasons to go in one round, the first one counts.
    let_go(data & rows.is_aborted, rewritten, Verdict.ABORTED)
    if not rounds.keep_keyless:
        let_go(data & ~rows.has_key & ~rows.is_aborted, reached, Verdict.KEYLESS)
    let_go(keyed, superseded, Verdict.SUPERSEDED)
    tombstones = keyed & rows.is_tombstone
    let_go(tombstones, _expiry(rows, rounds, reached, rewritten), Verdict.EXPIRED_TOMBSTONE)
    for at in np.flatnonzero(rows.is_control):
        in_round = rounds.markers.get(int(rows.offset[at]))
        if in_round is not None:
            goes[at], verdict[at] = in_round - 1, Verdict.EXPIRED_MARKER
    unstamped = rows.is_tombstone & data & (rows.delete_horizon_ms == UNKNOWN_HORIZON_MS)
    can_stamp = rounds.delete_horizon_ms is not None
    stamped = unstamped & can_stamp & (rewritten < count) & (goes > rewritten) & ~rows.is_repeated
    verdict[(verdict == Verdict.RETAINED) & (rows.offset < rounds.log_start_offset)] = Verdict.EXPIRED
    deleted = rows.offset < rounds.deleted_before_offset
    verdict[deleted], goes[deleted], rewritten[deleted], stamped[deleted] = (
        Verdict.EXPIRED,
        count,
        count,
        False,
    )
    verdict[rows.is_repeated], goes[rows.is_repeated] = Verdict.REPEATED, count
    return Decision(verdict, _from_one(goes, count), _from_one(rewritten, count), stamped)


def _expiry(rows: Rows, rounds: Rounds, reached: Longs, rewritten: Longs) -> Longs:
    """The round (from 0) in which each latest tombstone goes, or the number of rounds if it stays.

    A tombstone never goes in the round that stamps it (R23, R25, R28).
    """
    never = np.full(len(rows), len(rounds))
    if rounds.drop_tombstones:
        # A clean value before the tombstone stays, and would count as the latest one without the tombstone.
        return np.where(rows.deletes_clean_value, never, reached)
    is_known = rows.delete_horizon_ms != UNKNOWN_HORIZON_MS
    due = is_known & (rows.delete_horizon_ms <= rounds.now_ms)
    expiry = np.where(due, reached, never)
    if rounds.delete_horizon_ms is not None and rounds.delete_horizon_ms <= rounds.now_ms:
        after_stamp = np.where(rewritten < reached, reached, reached + 1)
        expiry = np.where(is_known, expiry, np.minimum(after_stamp, never))
    return expiry


def _from_one(rounds: Longs, count: int) -> NDArray[np.int32]:
    """Rounds (from 0, ``count`` for no round) as rounds from 1, with 0 for no round."""
    return np.where(rounds < count, rounds + 1, 0).astype(np.int32)
