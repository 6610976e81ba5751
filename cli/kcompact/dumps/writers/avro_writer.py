"""The plain envelope as an Avro object container: bytes stay bytes."""

import hashlib
import json
from collections.abc import Iterable, Iterator

from kcompact.dumps.avro.avro_container import MAGIC, SYNC_BYTES, Header, encode_long, pack_block
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.writer import Writer

BLOCK_BYTES = 64_000
CODEC = "deflate"  # every reader has to support it and "null"
SCHEMA = {
    "type": "record",
    "name": "KafkaRecord",
    "namespace": "kcompact",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "timestampType", "type": ["null", "string"]},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
        {
            "name": "headers",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Header",
                    "fields": [
                        {"name": "key", "type": "string"},
                        {"name": "value", "type": ["null", "bytes"]},
                    ],
                },
            },
        },
    ],
}
_NULL, _PRESENT = encode_long(0), encode_long(1)  # branches of the unions above


class AvroWriter(Writer):
    """Writes a container with SCHEMA. The sync marker is made of ``seed``: equal inputs give equal files."""

    suffix = ".avro"

    def begin(self) -> bytes:
        """The container's header."""
        return self._header().raw

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """Blocks of about BLOCK_BYTES."""
        header = self._header()
        rows: list[bytes] = []
        size = 0
        for record in records:
            rows.append(_row(record))
            size += len(rows[-1])
            if size >= BLOCK_BYTES:
                yield pack_block(len(rows), b"".join(rows), header)
                rows, size = [], 0
        if rows:
            yield pack_block(len(rows), b"".join(rows), header)

    def _header(self) -> Header:
        schema = json.dumps(SCHEMA, separators=(",", ":"))
        sync = hashlib.blake2b(self.seed.encode("utf-8", "surrogateescape"), digest_size=SYNC_BYTES).digest()
        metadata = {"avro.schema": schema, "avro.codec": CODEC}
        pairs = b"".join(_sized(name.encode()) + _sized(text.encode()) for name, text in metadata.items())
        raw = MAGIC + encode_long(len(metadata)) + pairs + encode_long(0) + sync
        return Header(raw, schema, CODEC, sync)


def _row(record: Record) -> bytes:
    has_time = record.timestamp_ms >= 0
    headers = b"".join(
        _sized(name.encode("utf-8", "surrogateescape")) + _nullable(value) for name, value in record.headers
    )
    return b"".join(
        (
            _sized(record.topic.encode("utf-8", "surrogateescape")),
            encode_long(record.partition),
            encode_long(record.offset),
            _PRESENT + encode_long(record.timestamp_ms) if has_time else _NULL,
            _nullable(None if record.timestamp_type is None else record.timestamp_type.encode()),
            _nullable(record.key),
            _nullable(record.value),
            encode_long(len(record.headers)) + headers + encode_long(0) if headers else encode_long(0),
        )
    )


def _sized(data: bytes) -> bytes:
    return encode_long(len(data)) + data


def _nullable(data: bytes | None) -> bytes:
    return _NULL if data is None else _PRESENT + _sized(data)
