"""Which columns of a Parquet file are the Kafka record's parts, by its schema alone."""

from dataclasses import replace

import pyarrow as pa

from kcompact.dumps.dialects.columns import Columns, column_dialect, written_by
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.options import ReadOptions

_SPARK = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}
_AIVEN = b'"name":"connector_records"'


def parquet_dialect(columns: Columns, schema: pa.Schema, options: ReadOptions) -> Dialect:
    """The dialect of a file with that schema, its roles the dotted paths of columns. Raises InputError."""
    is_aiven = _AIVEN in (schema.metadata or {}).get(b"parquet.avro.schema", b"")
    base = written_by(columns, options, spark=set(columns.names) >= _SPARK, aiven=is_aiven)
    dialect = column_dialect(columns, base, options)
    timestamp, key = (type_at(schema, place) for place in (dialect.timestamp, dialect.key))
    if timestamp is not None and pa.types.is_timestamp(timestamp):
        dialect = replace(dialect, timestamp_unit=timestamp.unit)
    # Text may have been damaged on the way (U+FFFD), bytes not.
    is_text = key is not None and (pa.types.is_string(key) or pa.types.is_large_string(key))
    return replace(dialect, byte_exact=not is_text)


def columns_of(path: str, schema: pa.Schema) -> Columns:
    """The columns of the file at ``path``."""
    inner = [
        f"{field.name}.{field.type.field(index).name}"
        for field in schema
        if pa.types.is_struct(field.type)
        for index in range(field.type.num_fields)
    ]

    def holds(dotted: str) -> bool:
        return type_at(schema, dotted) is not None

    return Columns(path, "parquet", [*schema.names, *inner], holds)


def type_at(schema: pa.Schema, dotted: str | None) -> pa.DataType | None:
    """The type of a column, without its dictionary; None if there is none of that name."""
    if not dotted:
        return None
    names = [dotted] if dotted in schema.names else dotted.split(".")
    kind: pa.DataType = pa.struct(list(schema))
    for name in names:
        index = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if index < 0:
            return None
        kind = kind.field(index).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind
