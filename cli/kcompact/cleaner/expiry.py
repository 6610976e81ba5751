"""Retention where no segments are known: it deletes all records before the first that may stay (R53, L1)."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.log_case import LogCase
from kcompact.cleaner.shares import slices_by_log
from kcompact.cleaner.tracked import Tracked
from kcompact.rules.decisions import Plan, with_verdicts
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict


def expire_records(
    tracked: Tracked, plans: Mapping[int, Plan], cases: Mapping[int, LogCase]
) -> dict[int, int]:
    """The start offset of each log, once retention has run on the records that the rounds left.

    Takes two stages at most.
    """
    starts = {i: case.bounds.log_start_offset for i, case in cases.items()}
    limited = {i: case for i, case in cases.items() if _limits(case.policy)}
    if not limited:
        return starts
    counts = tracked.each(lambda rows: {i: _count(part) for i, part in _survivors(rows, plans, limited)})
    totals: dict[int, tuple[int, int]] = {}
    before: list[dict[int, tuple[int, int]]] = []  # by share: records and bytes of each log in earlier shares
    for share in counts:
        before.append({i: totals.get(i, (0, 0)) for i in share})
        for i, (records, log_bytes) in share.items():
            totals[i] = (before[-1][i][0] + records, before[-1][i][1] + log_bytes)
    excess = {
        i: total - most
        for i, (_, total) in totals.items()
        if (most := limited[i].policy.retained_bytes) is not None
    }
    firsts = tracked.each_numbered(
        lambda share, rows: [
            (i, *first_to_stay(part, limited[i].policy.retained_from_ms, excess.get(i), before[share][i][1]))
            for i, part in _survivors(rows, plans, limited)
        ]
    )
    for i, (records, _) in totals.items():
        if records:
            starts[i] = limited[i].bounds.log_end_offset  # kept if no record may stay
    for number in reversed(range(len(firsts))):
        for i, start, expired in firsts[number]:
            if start is not None:
                starts[i] = start if before[number][i][0] + expired else limited[i].bounds.log_start_offset
    return starts


def _limits(policy: Policy) -> bool:
    """Whether the policy limits the age or the size of a log."""
    return policy.retained_from_ms is not None or policy.retained_bytes is not None


def expired_records(tracked: Tracked, plans: Mapping[int, Plan]) -> Counter[int]:
    """By log id, how many records expired: those below the log start offset that no round removed.

    The start offset was moved by retention, or is given by an option and may lie within a segment. Takes one
    stage.
    """
    expired: Counter[int] = Counter()
    if plans:
        for share in tracked.each(lambda rows: _expired_in(rows, plans)):
            expired.update(share)
    return expired


def _expired_in(rows: pa.Table, plans: Mapping[int, Plan]) -> Counter[int]:
    rows = with_verdicts(rows.filter(pc.is_in(rows["log_id"], pa.array(list(plans), pa.int64()))), plans)
    gone = rows.filter(pc.equal(rows["verdict"], int(Verdict.EXPIRED)))
    return Counter({log_id: part.num_rows for log_id, part in slices_by_log(gone)})


def _survivors(
    rows: pa.Table, plans: Mapping[int, Plan], limited: Mapping[int, LogCase]
) -> Iterator[tuple[int, pa.Table]]:
    """The rows that the rounds left of each limited log in a share, from its log start offset on."""
    rows = with_verdicts(rows, plans)
    for log_id, part in slices_by_log(rows.filter(pc.equal(rows["verdict"], int(Verdict.RETAINED)))):
        if log_id in limited:
            start = limited[log_id].bounds.log_start_offset
            yield log_id, part.filter(pc.greater_equal(part["offset"], start))


def _count(rows: pa.Table) -> tuple[int, int]:
    return rows.num_rows, int(rows["log_bytes"].to_numpy().sum(dtype=np.int64))


def first_to_stay(
    rows: pa.Table, oldest_ms: int | None, excess: int | None, bytes_before: int
) -> tuple[int | None, int]:
    """The offset of the first record that may stay, or None, and how many records of ``rows`` precede it.

    ``rows`` are in the order of offsets. Records older than ``oldest_ms`` are too old. ``excess`` is the
    number of bytes by which the log is too large, ``bytes_before`` that of its bytes before ``rows``.
    """
    stays = np.ones(rows.num_rows, np.bool_)
    if excess is not None:
        stays &= bytes_before + np.cumsum(rows["log_bytes"].to_numpy().astype(np.int64)) > excess
    if oldest_ms is not None:
        # A record without a timestamp is as old as its file, which nobody knows: it stays.
        timestamp_ms = rows["timestamp_ms"].to_numpy()
        stays &= (timestamp_ms < 0) | (timestamp_ms >= oldest_ms)
    if not stays.any():
        return None, rows.num_rows
    first = int(np.argmax(stays))
    return int(rows["offset"][first].as_py()), first
