"""What lies in a log directory: segments and batch headers, read as the broker wrote them."""

import struct
from collections.abc import Iterator
from pathlib import Path

HEADER = struct.Struct(">qiibIhiqqqhii")
COLUMNS = (
    *("topic", "partition", "segment", "baseOffset", "lastOffset", "count", "bytes", "codec"),
    *("timestampType", "producerId", "producerEpoch", "baseSequence", "transactional", "control"),
    *("deleteHorizonMs", "maxTimestamp"),
)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def segment_lines(data: Path, topic: str, partitions: int) -> Iterator[str]:
    """``topic partition base-offset bytes mtime_ms`` of every segment."""
    for partition in range(partitions):
        for path in _segments(data, topic, partition):
            status = path.stat()
            yield f"{topic} {partition} {int(path.stem)} {status.st_size} {status.st_mtime_ns // 1_000_000}"


def batch_lines(data: Path, topic: str, partitions: int) -> Iterator[str]:
    """A header line, then one tab-separated line per batch."""
    yield "\t".join(COLUMNS)
    for partition in range(partitions):
        for path in _segments(data, topic, partition):
            for cells in _batches(path.read_bytes()):
                yield "\t".join(map(str, [topic, partition, int(path.stem), *cells]))


def _segments(data: Path, topic: str, partition: int) -> list[Path]:
    return sorted((data / f"{topic}-{partition}").glob("*.log"))


def _batches(log: bytes) -> Iterator[list[object]]:
    at = 0
    while at + HEADER.size <= len(log):
        base, length, _, _, _, attributes, last_delta, base_ms, max_ms, producer, epoch, sequence, count = (
            HEADER.unpack_from(log, at)
        )
        if length <= 0:
            return
        is_control = bool(attributes & 0x20)
        yield [
            base,
            base + last_delta,
            count,
            length + 12,
            CODECS[attributes & 7],
            "logappend" if attributes & 8 else "create",
            producer,
            epoch,
            sequence,
            int(bool(attributes & 0x10)),
            _marker(log[at + HEADER.size : at + length + 12])
            if is_control and count
            else ("EMPTY" if is_control else "-"),
            base_ms if attributes & 0x40 else "-",
            max_ms,
        ]
        at += length + 12


def _marker(record: bytes) -> str:
    """The kind of a control record: the last two bytes of its key."""
    at = 0
    for number in range(5):  # length, attributes (a plain byte), timestamp delta, offset delta, key length
        while number != 1 and record[at] & 0x80:
            at += 1
        at += 1
    return {0: "ABORT", 1: "COMMIT"}.get(int.from_bytes(record[at + 2 : at + 4], "big"), "OTHER")
