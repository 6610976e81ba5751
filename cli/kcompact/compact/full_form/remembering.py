"""The records of each log that a state remembers, chosen where their keys are."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from kcompact.broker.state.known_records import RECORDS_PER_LOG, KnownRecord, chosen, key_digest, rank
from kcompact.cleaner.shares import slices_by_log
from kcompact.rules.verdicts import Verdict

KnownByLog = Mapping[int, tuple[KnownRecord, ...]]


def records_to_know(rows: pa.Table) -> KnownByLog:
    """Of rows of some keys, with verdicts, those of each log (by its id) that may be among the chosen."""
    return {log_id: _candidates(of_log) for log_id, of_log in slices_by_log(rows.sort_by("log_id"))}


def together(parts: Iterable[KnownByLog]) -> KnownByLog:
    """The chosen of all tasks' candidates."""
    candidates: dict[int, list[KnownRecord]] = defaultdict(list)
    for part in parts:
        for log_id, records in part.items():
            candidates[log_id] += records
    return {log_id: chosen(records) for log_id, records in candidates.items()}


def _candidates(rows: pa.Table) -> tuple[KnownRecord, ...]:
    offsets = rows["offset"].to_numpy()
    kept = np.flatnonzero(rows["verdict"].to_numpy() == int(Verdict.RETAINED))
    few = kept[np.argsort(rank(offsets[kept]), kind="stable")[:RECORDS_PER_LOG]]
    last = [part[np.argmax(offsets[part])] for part in (kept, np.arange(len(offsets))) if len(part)]
    wanted = rows.take(pa.array(np.unique([*few, *last]).astype(np.int64))).to_pylist()
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
