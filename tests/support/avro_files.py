"""Avro dumps for tests, written with fastavro from records in the shapes that exporters give them."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro

from kcompact.dumps.records.record import Record

SYNC = b"tests use one :-)"[:16]
CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz", "lz4")


@dataclass(frozen=True)
class Shape:
    """An exporter's schema, and how it spells a record."""

    schema: Any
    row: Callable[[Record], dict[str, Any]]


def _schema(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": key, "type": kind} for key, kind in fields.items()],
    }


_HEADER = _schema("Header", key="string", value=["null", "bytes"])

PLAIN = Shape(
    _schema(
        "Plain",
        topic="string",
        partition="int",
        offset="long",
        timestamp={"type": "long", "logicalType": "timestamp-millis"},
        key=["null", "bytes"],
        value=["null", "bytes"],
        headers={"type": "array", "items": _HEADER},
    ),
    lambda r: {
        **_places(r),
        "timestamp": r.timestamp_ms,
        "headers": [{"key": name, "value": value} for name, value in r.headers],
    },
)
SPARK = Shape(
    _schema(
        "topLevelRecord",
        key=["bytes", "null"],
        value=["bytes", "null"],
        topic=["string", "null"],
        partition=["int", "null"],
        offset=["long", "null"],
        timestamp=[{"type": "long", "logicalType": "timestamp-micros"}, "null"],
        timestampType=["int", "null"],
        headers=[{"type": "array", "items": [_HEADER, "null"]}, "null"],
    ),
    lambda r: {
        **_places(r),
        "timestamp": None if r.timestamp_ms < 0 else r.timestamp_ms * 1000 + 7,
        "timestampType": 0,
        "headers": [{"key": name, "value": value} for name, value in r.headers] or None,
    },
)
TRIVADIS = Shape(
    _schema(
        "KafkaRecord",
        topic="string",
        partition="int",
        offset="long",
        timestamp="long",
        key=["bytes", "null"],
        value=["bytes", "null"],
        headers=[{"type": "map", "values": "bytes"}, "null"],
    ),
    lambda r: {**_places(r), "timestamp": r.timestamp_ms, "headers": dict(r.headers) or None},
)
TEXT = Shape(
    _schema(
        "Text",
        Offset="long",
        Key=["null", "string"],
        Value=["null", "string"],
        Topic="string",
        Partition="long",
        note={"type": "map", "values": ["null", "double", {"type": "array", "items": "string"}]},
        Timestamp="long",
    ),
    lambda r: {
        "Offset": r.offset,
        "Key": None if r.key is None else r.key.decode(),
        "Value": None if r.value is None else r.value.decode(),
        "Topic": r.topic,
        "Partition": r.partition,
        "Timestamp": r.timestamp_ms,
        "note": {"a": None, "b": r.offset / 3, "c": ["x", "yy"] * (r.offset % 3)},
    },
)
LENSES = Shape(
    _schema(
        "Envelope",
        key=["null", "bytes"],
        value=["null", "bytes"],
        headers=_schema("Headers", trace=["null", "string"]),
        metadata=_schema("Metadata", timestamp="long", topic="string", partition="int", offset="long"),
    ),
    lambda r: {
        "key": r.key,
        "value": r.value,
        "headers": {"trace": dict(r.headers).get("trace", b"").decode()},
        "metadata": {
            "timestamp": r.timestamp_ms,
            "topic": r.topic,
            "partition": r.partition,
            "offset": r.offset,
        },
    },
)
FLINK = Shape(["null", PLAIN.schema], PLAIN.row)  # the file system connector of Flink SQL writes rows so
NULL_LAST = Shape([PLAIN.schema, "null"], PLAIN.row)
ALONE = Shape([PLAIN.schema], PLAIN.row)
SHAPES = {
    "plain": PLAIN,
    "spark": SPARK,
    "trivadis": TRIVADIS,
    "text": TEXT,
    "lenses": LENSES,
    "flink": FLINK,
    "null-last": NULL_LAST,
    "alone": ALONE,
}


def _places(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("topic", "partition", "offset", "key", "value")}


def avro_bytes(
    shape: Shape,
    records: Sequence[Record],
    *,
    codec: str = "null",
    block_bytes: int = 16_000,
    marker: bytes = SYNC,
) -> bytes:
    """A whole container; a block is closed when it holds ``block_bytes``."""
    out = io.BytesIO()
    rows = [shape.row(record) for record in records]
    fastavro.writer(out, shape.schema, rows, codec=codec, sync_interval=block_bytes, sync_marker=marker)
    return out.getvalue()


def write_avro(path: Path, shape: Shape, records: Sequence[Record], **how: Any) -> Path:
    """The container as a file."""
    path.write_bytes(avro_bytes(shape, records, **how))
    return path


def read_rows(data: bytes) -> list[Any]:
    """All rows of the container, read with fastavro."""
    return list(fastavro.reader(io.BytesIO(data)))
