"""Builders for records, with defaults for all parts that a test is not about."""

from kcompact.dumps.records.record import Record

TOPIC = "orders"
TIMESTAMP_MS = 1_700_000_000_000


def record(
    key: str | bytes | None,
    value: str | bytes | None,
    *,
    offset: int,
    partition: int = 0,
    topic: str = TOPIC,
    timestamp_ms: int = TIMESTAMP_MS,
    headers: tuple[tuple[str, bytes | None], ...] = (),
    is_control: bool = False,
) -> Record:
    """A record; text stands for its UTF-8 bytes."""
    return Record(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp_ms=timestamp_ms,
        key=_bytes(key),
        value=_bytes(value),
        headers=headers,
        is_control=is_control,
    )


def tombstone(
    key: str | bytes, *, offset: int, partition: int = 0, timestamp_ms: int = TIMESTAMP_MS
) -> Record:
    """A record that deletes its key."""
    return record(key, None, offset=offset, partition=partition, timestamp_ms=timestamp_ms)


def _bytes(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text
