"""Which columns of a Parquet file are the Kafka record's parts, by its schema alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from kcompact.dumps.dialects.columns import Columns, column_dialect, forced_among
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.options import ReadOptions

PLAIN = Dialect(
    name="parquet",
    tool="Parquet with the plain envelope's columns",
    layouts=("parquet",),
    sure=False,
    byte_exact=True,
)
PARQUET_DIALECTS = (
    replace(PLAIN, name="spark-parquet", tool="Spark's Kafka source written as Parquet", sure=True),
    replace(PLAIN, name="aiven-parquet", tool="Aiven's sinks, Parquet", timestamp_unit="ms", sure=True),
    replace(PLAIN, name="lenses-parquet", tool="Lenses' sinks, Parquet", timestamp_unit="ms", sure=True),
    PLAIN,
)
_BY_NAME = {dialect.name: dialect for dialect in PARQUET_DIALECTS}
_SPARK = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}


def parquet_dialect(columns: Columns, schema: pa.Schema, options: ReadOptions) -> Dialect:
    """The dialect of a file with that schema, its roles the dotted paths of columns. Raises InputError."""
    tool = _tool(columns.names, schema.metadata or {})
    base = forced_among(columns, _BY_NAME, options) or _BY_NAME[tool]
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

    return Columns(path, "Parquet", [*schema.names, *inner], holds, lone_side="lenses-parquet")


def type_at(schema: pa.Schema, dotted: str | None) -> pa.DataType | None:
    """The type of a column, without its dictionary; None if there is none of that name."""
    if not dotted:
        return None
    names = [dotted] if dotted in schema.names else dotted.split(".")
    found: pa.DataType = pa.struct(list(schema))
    for name in names:
        index = found.get_field_index(name) if pa.types.is_struct(found) else -1
        if index < 0:
            return None
        found = found.field(index).type
    return found.value_type if pa.types.is_dictionary(found) else found


def _tool(names: Sequence[str], metadata: Mapping[bytes, bytes]) -> str:
    if set(names) >= _SPARK:
        return "spark-parquet"
    if b'"name":"connector_records"' in metadata.get(b"parquet.avro.schema", b"") and "topic" not in names:
        return "aiven-parquet"
    if {"metadata.topic", "metadata.offset"} <= set(names):
        return "lenses-parquet"
    return "parquet"
