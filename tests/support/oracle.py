"""The cleaner's rules for a dump without segments, as plainly as possible.

The engine is tested against this. Each record is its own closed segment and its own batch; only the log end
(or ``bound``) ends the dirty section. One call plays one round; for more, call again with its results.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kcompact.dumps.records.record import Record

Log = tuple[str, int]


@dataclass(frozen=True)
class Settings:
    """One round's settings, the same for all logs."""

    now_ms: int = 0
    delete_retention_ms: int = 86_400_000
    limit: int | None = None  # keys that the offset map holds
    bound: int | None = None  # exclusive end of what may be cleaned
    drop_tombstones: bool = False
    null_keys: str = "drop"  # or "keep"


@dataclass
class Cleaned:
    """The result of a round: a verdict for every offset, and the input of the next round."""

    verdicts: dict[tuple[Log, int], str] = field(default_factory=dict)
    retained: list[Record] = field(default_factory=list)  # by log, then offset
    checkpoint: dict[Log, int] = field(default_factory=dict)
    horizons: dict[tuple[Log, int], int] = field(default_factory=dict)


def clean(
    records: Iterable[Record],
    settings: Settings,
    checkpoint: Mapping[Log, int] | None = None,
    horizons: Mapping[tuple[Log, int], int] | None = None,
) -> Cleaned:
    """Play one round over every log. Raises ValueError if two different records have the same offset."""
    logs: defaultdict[Log, dict[int, Record]] = defaultdict(dict)
    for record in records:
        if logs[record.topic, record.partition].setdefault(record.offset, record) != record:
            raise ValueError(f"offset {record.offset} twice, with a difference")
    result = Cleaned(horizons=dict(horizons or {}))
    for log, by_offset in sorted(logs.items()):
        ordered = [by_offset[offset] for offset in sorted(by_offset)]
        first_dirty = (checkpoint or {}).get(log, ordered[0].offset)
        latest, end = offset_map(ordered, first_dirty, settings)
        dirty = any(first_dirty <= record.offset < end for record in ordered)
        clean_values: set[bytes | None] = set()  # keys whose last clean record so far is a value
        for record in ordered:
            key = log, record.offset
            verdict = (
                _verdict(record, latest, end, result.horizons.get(key), settings) if dirty else "retained"
            )
            if record.offset < first_dirty:
                if settings.drop_tombstones and verdict == "expired_tombstone" and record.key in clean_values:
                    verdict = "retained"  # else the value that it deletes would come back
                (clean_values.discard if record.value is None else clean_values.add)(record.key)
            result.verdicts[key] = verdict
            if verdict == "retained":
                result.retained.append(record)
                _stamp(record, end if dirty else 0, settings, result)
            else:
                result.horizons.pop(key, None)
        result.checkpoint[log] = end if dirty else first_dirty
    return result


def offset_map(ordered: list[Record], first_dirty: int, settings: Settings) -> tuple[dict[bytes, int], int]:
    """The latest offset of each key in the dirty section, and where that section ends (exclusive)."""
    end = ordered[-1].offset + 1 if settings.bound is None else min(ordered[-1].offset + 1, settings.bound)
    latest: dict[bytes, int] = {}
    for record in ordered:
        if first_dirty <= record.offset < end and record.key is not None:
            if settings.limit is not None and len(latest) >= settings.limit:
                return latest, record.offset  # full, even if the key is known (R13)
            latest[record.key] = record.offset
    return latest, max(first_dirty, end)


def _verdict(
    record: Record, latest: Mapping[bytes, int], end: int, horizon: int | None, settings: Settings
) -> str:
    if record.offset >= end:
        return "retained"
    if record.key is None:
        return "retained" if settings.null_keys == "keep" else "keyless"
    if record.offset < latest.get(record.key, -1):
        return "superseded"
    due = settings.drop_tombstones or (horizon is not None and horizon <= settings.now_ms)
    return "expired_tombstone" if record.value is None and due else "retained"


def _stamp(record: Record, end: int, settings: Settings, result: Cleaned) -> None:
    horizon = settings.now_ms + settings.delete_retention_ms
    if record.key is not None and record.value is None and record.offset < end and horizon < 2**63:
        result.horizons.setdefault(((record.topic, record.partition), record.offset), horizon)
