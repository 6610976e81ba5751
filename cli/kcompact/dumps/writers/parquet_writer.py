"""The plain envelope as Parquet, with the columns of Spark's Kafka source and sink: bytes stay bytes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from kcompact.dumps.parquet.parquet_output import OURS, ParquetForm, framed
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.writer import Writer, where
from kcompact.errors import OutputError

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("ms", "UTC")),
        pa.field("timestampType", pa.int32()),  # 0 create, 1 logappend, as Kafka numbers them
        pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ],
    metadata=OURS,
)
_TYPES = {"create": 0, "logappend": 1}
_BATCH_ROWS = 16_384
_BATCH_BYTES = 32 << 20


class ParquetWriter(Writer):
    """Writes row groups of SCHEMA, which ``parquet_output.py`` joins into one file."""

    suffix = ".parquet"
    form = ParquetForm(SCHEMA, most_rows=_BATCH_ROWS * 8)

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """Row groups. Raises OutputError for text that is no UTF-8."""
        rows = iter(records)
        while batch := list(_next_batch(rows)):
            columns = zip(*map(_row, batch), strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            yield framed(pa.Table.from_arrays(arrays, schema=SCHEMA))


def _next_batch(records: Iterator[Record]) -> Iterator[Record]:
    size = 0
    for record in islice(records, _BATCH_ROWS):
        yield record
        size += len(record.key or b"") + len(record.value or b"")
        if size > _BATCH_BYTES:
            return


def _row(record: Record) -> tuple[Any, ...]:
    try:
        for name in (record.topic, *(name for name, _ in record.headers)):
            name.encode()
    except UnicodeEncodeError as error:
        raise OutputError(
            f"{where(record)}: the name {name!r} is no UTF-8, which Parquet needs",
            hint="convert to Avro: -o NAME.avro",
        ) from error
    return (
        record.key,
        record.value,
        record.topic,
        record.partition,
        record.offset,
        None if record.timestamp_ms < 0 else record.timestamp_ms,
        _TYPES.get(record.timestamp_type or ""),
        [{"key": name, "value": value} for name, value in record.headers],
    )
