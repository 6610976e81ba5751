"""Rows of Parquet to Records, by the file's dialect; of a row group only the columns that are needed."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcompact.dumps.dialects.dialect import ROLES, Dialect
from kcompact.dumps.dialects.fields_beside import columns_beside
from kcompact.dumps.parquet.parquet_columns import bytes_of, column_at, nested_of, scalars_of
from kcompact.dumps.parquet.parquet_dialect import columns_of, type_at
from kcompact.dumps.parquet.parquet_file import RowGroup, bad_row_group, batches_of, naming
from kcompact.dumps.records.layout import DumpFile, SplitNotes, UnreadableError
from kcompact.dumps.records.reading import MISSING, FieldRules
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.structured import headers_of
from kcompact.dumps.records.value_keys import ValueKeys

if TYPE_CHECKING:
    from pyarrow import parquet

_PLACES = ("topic", "partition", "offset", "timestamp", "timestamp_type")


class ParquetReader:
    """Makes Records of a file's rows. ``values``: read values and headers, and not only whether they are."""

    def __init__(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> None:
        self._dialect: Dialect = file.dialect
        self._rules = FieldRules(file, notes)
        self.needs_values = values or self._dialect.reads_values or _depends_on_values(self._dialect)
        self._headers = values
        self._keyed = ValueKeys(file, notes).keyed if self._dialect.reads_values else None
        self._ordinal = 0

    def records(self, source: "parquet.ParquetFile", group: RowGroup) -> Iterator[Record]:
        """All records of a row group. Raises UnreadableError."""
        value = self.value_column(source, group)
        names = [getattr(self._dialect, role) for role in self._roles() if role != "value"]
        columns = [name for name in (*names, value) if name]
        read_columns = None if value == "" else list(dict.fromkeys(columns))
        return self._of(batches_of(source, group, read_columns), group.number, value)

    def decoded(self, rows: pa.Table, number: int) -> Iterator[Record]:
        """The records of rows with all columns. Raises UnreadableError for the row group of that number."""
        if self._rules.is_conversion:
            names = columns_of(self._rules.file.path, rows.schema).names
            self._rules.see_beside(columns_beside(names, self._dialect))
        return self._of(rows.to_batches(), number, self._dialect.value)

    def _of(self, batches: Iterable[pa.RecordBatch], number: int, value: str | None) -> Iterator[Record]:
        row = 0
        for batch in batches:
            with naming(number):
                fields = self._fields(batch, value)
            for at in range(batch.num_rows):
                try:
                    yield self.record({role: column[at] for role, column in fields.items()})
                except UnreadableError as error:
                    raise bad_row_group(number, str(error), error.hint, row) from error
                row += 1

    def record(self, fields: dict[str, Any]) -> Record:
        """The Record of a row. Raises UnreadableError."""
        rules = self._rules
        for name in ("record", "key", "value"):  # a schema says null in so many words
            rules.see(name)
        timestamp = fields.get("timestamp", MISSING)
        record = Record(
            rules.to_topic(fields.get("topic", MISSING)),
            rules.to_partition(fields.get("partition", MISSING)),
            rules.to_offset(fields.get("offset", MISSING), self._ordinal),
            rules.to_timestamp_ms(timestamp),
            self._bytes(fields.get("key"), "key"),
            self._bytes(fields.get("value"), "value"),
            headers_of(fields["headers"]) if "headers" in fields else (),
            rules.to_timestamp_type(fields.get("timestamp_type", MISSING), timestamp),
        )
        self._ordinal += 1
        if record.key:
            rules.check_key(record.key, record.offset)
        return record if self._keyed is None else self._keyed(record)

    def _roles(self) -> list[str]:
        return [role for role in ROLES if role != "headers" or self._headers]

    def value_column(self, source: "parquet.ParquetFile", group: RowGroup) -> str | None:
        """The column to read for the value; None: the row group says that none of its values is null."""
        value = self._dialect.value
        if self.needs_values or not value:
            return value
        leaf = _first_leaf(source.schema_arrow, value)
        return None if leaf == value and has_no_null(source, group, value) else leaf

    def _fields(self, batch: pa.RecordBatch, value: str | None) -> dict[str, list[Any]]:
        """A list of values for each role that the dump has."""
        fields: dict[str, list[Any]] = {}
        for role in self._roles():
            name = getattr(self._dialect, role)
            if name is None:
                continue
            if role == "value" and not self.needs_values:
                fields[role] = _presence(batch, name if value else None)
                continue
            column = column_at(batch, name)
            if role in _PLACES:
                fields[role] = scalars_of(column)
            else:
                fields[role] = nested_of(column) if role == "headers" else bytes_of(column)
        return fields

    def _bytes(self, data: bytes | None, role: str) -> bytes | None:
        if data is None:
            return None
        if not data:
            return None if getattr(self._rules.dialect, f"empty_{role}") == "null" else b""
        return None if self._rules.is_literal(data, role) else data


def _depends_on_values(dialect: Dialect) -> bool:
    """Whether only a value's bytes tell whether it is a tombstone."""
    return dialect.null_literal is not None or dialect.empty_value == "null"


def _presence(batch: pa.RecordBatch, name: str | None) -> list[bytes | None]:
    """Any bytes where there is a value."""
    if name is None:
        return [b"."] * batch.num_rows
    return [b"." if is_valid else None for is_valid in column_at(batch, name).is_valid().to_pylist()]


def _first_leaf(schema: pa.Schema, dotted: str) -> str:
    """The first column within a struct, which shows where the struct is null; else the column itself."""
    kind = type_at(schema, dotted)
    while kind is not None and pa.types.is_struct(kind) and kind.num_fields:
        dotted = f"{dotted}.{kind.field(0).name}"
        kind = kind.field(0).type
    return dotted


def has_no_null(source: "parquet.ParquetFile", group: RowGroup, name: str) -> bool:
    """Whether the statistics of a row group say that a column is never null.

    A field of a struct may have the path of another column, whose name has a dot: then both have to say so.
    """
    about = source.metadata.row_group(group.number)
    columns = (about.column(index) for index in range(about.num_columns))
    figures = [column.statistics for column in columns if column.path_in_schema == name]
    return bool(figures) and all(
        figure is not None and figure.has_null_count and figure.null_count == 0 for figure in figures
    )
