"""The text of ``kafka-dump-log --print-data-log`` of small logs: a batch for each record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TIMESTAMP_MS = 1_766_544_000_000
BATCH_BYTES = 70


@dataclass(frozen=True)
class Logged:
    """A record ``key=value``, or a marker (COMMIT or ABORT); ``producer`` None: outside of transactions."""

    offset: int
    text: str
    producer: int | None = None
    timestamp_ms: int = TIMESTAMP_MS

    @property
    def is_marker(self) -> bool:
        return self.text in {"COMMIT", "ABORT"}

    def lines(self) -> list[str]:
        producer = -1 if self.producer is None else self.producer
        time = f"CreateTime: {self.timestamp_ms}"
        batch = (
            f"baseOffset: {self.offset} lastOffset: {self.offset} count: 1 baseSequence: -1 lastSequence: -1"
            f" producerId: {producer} producerEpoch: 0 partitionLeaderEpoch: 0"
            f" isTransactional: {str(self.producer is not None).lower()}"
            f" isControl: {str(self.is_marker).lower()} deleteHorizonMs: OptionalLong.empty position: 0"
            f" {time} size: {BATCH_BYTES} magic: 2 compresscodec: none crc: 1 isvalid: true"
        )
        key, _, value = self.text.partition("=")
        content = f"key: {key} payload: {value}"
        sizes = f"keySize: {len(key)} valueSize: {len(value)}"
        if self.is_marker:
            content, sizes = f"endTxnMarker: {self.text} coordinatorEpoch: 0", "keySize: 4 valueSize: 6"
        return [batch, f"| offset: {self.offset} {time} {sizes} sequence: -1 headerKeys: [] {content}"]


def write_dump_log(path: Path, segments: Mapping[int, Iterable[Logged]], log: str = "t-0") -> Path:
    """Write the text for a log. ``segments``: by base offset, the records of each segment, if any."""
    lines = []
    for base, records in segments.items():
        lines += [f"Dumping /data/kafka/{log}/{base:020}.log", f"Log starting offset: {base}"]
        lines += [line for record in records for line in record.lines()]
    path.write_text("\n".join(lines) + "\n")
    return path
