"""The records of each log that a state remembers: how tasks choose them, and look for them in a dump."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.state.known_records import RECORDS_PER_LOG, KnownRecord, chosen, key_digest, rank
from kcompact.cleaner.shares import slices_by_log
from kcompact.rules.verdicts import Verdict

KnownByLog = Mapping[int, tuple[KnownRecord, ...]]

Digests = Mapping[int, Collection[str | None]]
"""Digests of keys, by log id."""

Known = Mapping[tuple[int, str | None], int]
"""Offsets by log id and digest of a key."""


def records_to_know(rows: pa.Table) -> KnownByLog:
    """By log id, the candidates among ``rows`` (of some keys, with verdicts) that a state may remember."""
    return {log_id: _candidates(of_log) for log_id, of_log in slices_by_log(rows.sort_by("log_id"))}


def chosen_of(parts: Iterable[KnownByLog]) -> KnownByLog:
    """The records to remember among the candidates of all tasks (``records_to_know``)."""
    candidates: dict[int, list[KnownRecord]] = defaultdict(list)
    for part in parts:
        for log_id, records in part.items():
            candidates[log_id] += records
    return {log_id: chosen(records) for log_id, records in candidates.items()}


def _candidates(rows: pa.Table) -> tuple[KnownRecord, ...]:
    offsets = rows["offset"].to_numpy()
    kept = np.flatnonzero(rows["verdict"].to_numpy() == int(Verdict.RETAINED))
    few = kept[np.argsort(rank(offsets[kept]), kind="stable")[:RECORDS_PER_LOG]]
    newest = kept[np.argsort(offsets[kept])[-RECORDS_PER_LOG:]]
    last = np.argsort(offsets)[-1:]
    wanted = rows.take(pa.array(np.unique(np.concatenate([few, newest, last])))).to_pylist()
    return tuple(
        KnownRecord(
            row["offset"],
            row["timestamp_ms"],
            row["is_tombstone"],
            row["verdict"] == Verdict.RETAINED,
            key_digest(row["key"]),
        )
        for row in wanted
        if row["verdict"] != Verdict.REPEATED
    )


def records_in(rows: pa.Table, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
    """The records of index rows at the offsets of ``wanted``, by log id and offset."""
    offsets = {
        log_id: pa.array([record.offset for record in of_log], pa.int64())
        for log_id, of_log in wanted.items()
    }
    return {
        (log_id, row["offset"]): KnownRecord(
            row["offset"], row["timestamp_ms"], row["is_tombstone"], True, key_digest(row["key"])
        )
        for log_id, of_log in slices_by_log(rows.sort_by("log_id"))
        if log_id in offsets
        for row in of_log.filter(pc.is_in(of_log["offset"], offsets[log_id])).to_pylist()
    }


def last_offsets_in(rows: pa.Table, offset: str, digests: Digests) -> Known:
    """The largest value in the column ``offset`` for each key with one of the digests."""
    last_offsets: dict[tuple[int, str | None], int] = {}
    for log_id, of_log in slices_by_log(rows.sort_by("log_id")):
        if log_id not in digests:
            continue
        last = of_log.filter(of_log["key"].is_valid()).group_by("key").aggregate([(offset, "max")])
        for key, largest in zip(last["key"].to_pylist(), last[f"{offset}_max"].to_pylist(), strict=True):
            digest = key_digest(key)
            if digest in digests[log_id]:
                last_offsets[log_id, digest] = largest
    return last_offsets
