"""Records among a dump's rows by which a state knows it again."""

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.state.known_records import KnownRecord, key_digest
from kcompact.cleaner.shares import slices_by_log
from kcompact.compact.full_form.remembering import KnownByLog

Digests = Mapping[int, Collection[str | None]]
"""Digests of keys, by log id."""

Known = Mapping[tuple[int, str | None], int]
"""Offsets by log id and digest of a key."""


def records_in(rows: pa.Table, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
    """Those of index rows at known offsets, by log id and offset."""
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
    """The largest of a column of offsets, of each key of such a digest."""
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
