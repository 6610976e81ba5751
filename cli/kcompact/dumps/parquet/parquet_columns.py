"""Columns of Parquet: those that are parts of a record, and their cells as plain values, bytes and JSON."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.envelope import Columns, column_dialect, refuse_no_timestamp, written_by
from kcompact.dumps.json.json_text import repeated_member
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.headers import bytes_of_array
from kcompact.dumps.records.structured import NO_UTF8, as_json
from kcompact.errors import UnreadableError

_SPARK = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}
_AIVEN = b'"name":"connector_records"'
_KAFKA_DUMP = {"value", "topic", "partition", "offset", "key", "headers", "timestamp", "timestamptype"}


def parquet_dialect(columns: Columns, schema: pa.Schema, options: ReadOptions) -> Dialect:
    """The dialect of a file with that schema; roles are at dotted paths of columns. Raises InputError."""
    is_aiven = _AIVEN in (schema.metadata or {}).get(b"parquet.avro.schema", b"")
    is_spark, is_dump = {*columns.names} >= _SPARK, _is_of_kafka_dump(schema)
    base = written_by(columns, options, spark=is_spark, aiven=is_aiven, kafka_dump=is_dump)
    dialect = column_dialect(columns, base, options)
    timestamp, key = (type_at(schema, place) for place in (dialect.timestamp, dialect.key.place))
    if timestamp is not None and pa.types.is_timestamp(timestamp):
        dialect = replace(dialect, timestamp_unit=timestamp.unit, is_zoneless=timestamp.tz is None)
    elif timestamp is not None and pa.types.is_temporal(timestamp):
        refuse_no_timestamp(columns.path, dialect.timestamp, str(timestamp))
    # Text may have been damaged by a tool (U+FFFD), bytes may not.
    is_text = key is not None and _is_text(key)
    doubles = key is not None and pa.types.is_floating(key) and options.dialect is None
    return replace(dialect, byte_exact=not is_text, doubles=doubles)


def _is_of_kafka_dump(schema: pa.Schema) -> bool:
    """Whether huantt/kafka-dump wrote the file: its columns are text, even offsets."""
    texts = {column.name for column in schema if pa.types.is_string(column.type)}
    return {*schema.names} == _KAFKA_DUMP and texts >= _KAFKA_DUMP - {"partition"}


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
    """The type of a column, without dictionary or extension around it; None if there is no such column."""
    field = _field_at(schema, dotted)
    return None if field is None else _without_wrapping(field.type)


def _field_at(schema: pa.Schema, dotted: str | None) -> pa.Field | None:
    if not dotted:
        return None
    names = [dotted] if dotted in schema.names else dotted.split(".")
    field = pa.field("", pa.struct(list(schema)))
    for name in names:
        index = field.type.get_field_index(name) if pa.types.is_struct(field.type) else -1
        if index < 0:
            return None
        field = field.type.field(index)
    return field


_TEMPORAL_32 = (pa.types.is_date32, pa.types.is_time32)
_TEMPORAL = (
    *_TEMPORAL_32,
    pa.types.is_timestamp,
    pa.types.is_date64,
    pa.types.is_time64,
    pa.types.is_duration,
)


def column_at(batch: pa.RecordBatch, dotted: str) -> pa.Array:
    """The column at a path, null where a struct around it is null; ``""`` is the row as a struct."""
    if not dotted:
        return pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
    names = [dotted] if dotted in batch.schema.names else dotted.split(".")
    column = batch.column(names[0])
    for name in names[1:]:
        column = pc.struct_field(column, column.type.get_field_index(name))
    return column


def scalars_of(column: pa.Array) -> list[Any]:
    """The cells as plain Python values, with text for bytes, and numbers for times and whole decimals.

    Bytes that are no UTF-8 have surrogate escapes.
    """
    values = _stored(column, keep_text=False).to_pylist()
    if pa.types.is_decimal(column.type) and not column.type.scale:  # whole numbers of some databases
        return [None if cell is None else int(cell) for cell in values]
    return [cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell for cell in values]


def nested_of(column: pa.Array) -> list[Any]:
    """The cells of lists, maps and structs as Python values, with text as bytes."""
    return list(_stored(column, keep_text=False).to_pylist())


def bytes_of(column: pa.Array) -> list[bytes | None]:
    """The bytes for which keys or values stand: their own, a number's digits, a UUID's text, else JSON.

    Lists of numbers of 8 bits are bytes: serde_arrow writes a Vec<u8> as a list. Raises UnreadableError.
    """
    kind = _without_wrapping(column.type)
    if _is_bytes(kind):
        return list(_stored(column, keep_text=False).to_pylist())
    if _is_list_of_bytes(kind):
        return [
            None if cell is None else _joined(cell) for cell in _stored(column, keep_text=False).to_pylist()
        ]
    try:
        cells = [_plain(cell, kind) for cell in _stored(column, keep_text=True).to_pylist()]
    except UnicodeDecodeError as error:
        raise UnreadableError(*NO_UTF8) from error
    if isinstance(kind, pa.UuidType):
        return [None if cell is None else cell.encode() for cell in cells]
    return [None if cell is None else as_json(cell) for cell in cells]


def _joined(numbers: list[int | None]) -> bytes:
    try:
        return bytes_of_array(numbers)
    except ValueError as error:
        raise UnreadableError(
            "a null in the list of numbers that holds the bytes of a key or value"
        ) from error


def _stored(column: pa.Array, *, keep_text: bool) -> pa.Array:
    """The column as it is stored: dictionaries looked up, times as numbers, text as bytes.

    With ``keep_text``, text stays text. Raises UnreadableError for a struct that has a field twice, of
    which a Python dict would keep one.
    """
    target = _stored_type(column.type, keep_text=keep_text)
    return column if target.equals(column.type) else column.cast(target, safe=False)


def _stored_type(kind: pa.DataType, *, keep_text: bool) -> pa.DataType:
    def inner(child: pa.DataType) -> pa.DataType:
        return _stored_type(child, keep_text=keep_text)

    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        return inner(kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type)
    if any(is_type(kind) for is_type in _TEMPORAL):
        return pa.int32() if any(is_type(kind) for is_type in _TEMPORAL_32) else pa.int64()
    if _is_bytes(kind):
        return kind if keep_text and _is_text(kind) else pa.large_binary()
    return _stored_nested(kind, inner)


def _stored_nested(kind: pa.DataType, inner: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    if pa.types.is_struct(kind):
        _refuse_repeated([field.name for field in kind], "a struct")
        return pa.struct([field.with_type(inner(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(inner(kind.key_type), inner(kind.item_type))
    if _is_list(kind):
        return pa.list_(kind.value_field.with_type(inner(kind.value_type)))
    return kind


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


_OF_BYTES = (pa.uint8(), pa.int8())


def is_bytes_at(schema: pa.Schema, dotted: str) -> bool:
    """Whether a column holds bytes, not text."""
    kind = type_at(schema, dotted)
    return kind is not None and not _is_text(kind) and (_is_bytes(kind) or _is_list_of_bytes(kind))


def takes_no_null(schema: pa.Schema, dotted: str) -> bool:
    """Whether a column is declared to have no nulls; structs around it may be null."""
    field = _field_at(schema, dotted)
    return field is not None and not field.nullable


def key_type(kind: pa.DataType) -> str:
    """A text that differs between types of keys that spell equal keys differently, such as 7 and ``7.0``."""
    kind = _without_wrapping(kind)
    if pa.types.is_struct(kind):
        return str([(field.name, key_type(field.type)) for field in kind])
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        return str(kind)
    return f"[{key_type(kind.value_type)}]" if _is_list(kind) and not _is_list_of_bytes(kind) else "plain"


def _is_list_of_bytes(kind: pa.DataType) -> bool:
    return _is_list(kind) and kind.value_type in _OF_BYTES


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    of_bytes = (
        *(pa.types.is_binary, pa.types.is_large_binary),
        *(pa.types.is_fixed_size_binary, pa.types.is_binary_view),
    )
    return _is_text(kind) or any(is_type(kind) for is_type in of_bytes)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value that JSON can hold: a map as an object, a decimal or UUID as text; ``kind`` is the file's.

    Raises UnreadableError for a map that has a key twice, which Parquet does not rule out.
    """
    kind = _without_wrapping(kind)
    if value is None:
        return None
    if pa.types.is_map(kind):
        names = [key.decode("latin-1") if isinstance(key, bytes) else str(key) for key, _ in value]
        _refuse_repeated(names, "a map")
        return {name: _plain(item, kind.item_type) for name, (_, item) in zip(names, value, strict=True)}
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if isinstance(value, list):
        return [_plain(item, kind.value_type) for item in value]
    if isinstance(kind, pa.UuidType):
        return str(UUID(bytes=value))
    return format(value, "f") if isinstance(value, Decimal) else value


def _refuse_repeated(names: list[str], owner: str) -> None:
    if len({*names}) < len(names):
        raise repeated_member(next(name for name in names if names.count(name) > 1), owner)


def _without_wrapping(kind: pa.DataType) -> pa.DataType:
    """The type of a dictionary's values, or of an extension's storage; a UUID's extension is kept."""
    if pa.types.is_dictionary(kind):
        return _without_wrapping(kind.value_type)
    is_storage = isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.UuidType)
    return _without_wrapping(kind.storage_type) if is_storage else kind


def without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with plain text and bytes for Arrow's views of them: Arrow cannot take rows of views."""
    plain = [column.with_type(_without_views(column.type)) for column in schema]
    return pa.schema(plain, schema.metadata)


def _without_views(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([inner.with_type(_without_views(inner.type)) for inner in kind])
    if pa.types.is_map(kind):
        names, items = (
            field.with_type(_without_views(field.type)) for field in (kind.key_field, kind.item_field)
        )
        return pa.map_(names, items, keys_sorted=kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_item_without_views(kind), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_item_without_views(kind))
    return pa.list_(_item_without_views(kind)) if pa.types.is_list(kind) else _PLAIN.get(kind, kind)


def _item_without_views(kind: pa.DataType) -> pa.Field:
    return kind.value_field.with_type(_without_views(kind.value_type))


_PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
