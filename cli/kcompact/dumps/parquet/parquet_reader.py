"""Reads rows of Parquet into index rows, batch by batch, or one by one into Records if there is a need."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_names import LogName
from kcompact.digits import INT_MAX, LARGEST_OFFSET
from kcompact.dumps.dialects.dialect import DATA_ROLES, ERRORS, Dialect
from kcompact.dumps.dialects.paths import columns_beside
from kcompact.dumps.loops.scanned_rows import Misfit, note_logs, only_wanted
from kcompact.dumps.parquet.parquet_columns import (
    bytes_of,
    column_at,
    columns_of,
    key_type,
    nested_of,
    scalars_of,
    type_at,
)
from kcompact.dumps.parquet.parquet_file import GROUP_SHIFT, RowGroup, bad_row_group, batches_of, naming
from kcompact.dumps.parquet.parquet_output import is_ours
from kcompact.dumps.records.layout import DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.records.reading import MISSING, FieldRules
from kcompact.dumps.records.record import INDEX_SCHEMA, Record, log_id_of
from kcompact.dumps.records.structured import headers_of, refuse_rounded
from kcompact.dumps.records.timestamps import PER_MS
from kcompact.dumps.records.value_keys import ValueKeys
from kcompact.errors import UnreadableError

if TYPE_CHECKING:
    from pyarrow import parquet


class ParquetReader:
    """Makes Records of a file's rows. ``values``: read values and headers, not only which values are null."""

    def __init__(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> None:
        self._dialect: Dialect = file.dialect
        self._rules = FieldRules(file, notes)
        self.needs_values = (
            values
            or self._dialect.reads_values
            or self._dialect.null_literal is not None
            or "empty" in self._dialect.value.nulls | self._dialect.value.doubtful
            or "value" in self._rules.sized
        )
        places = self._dialect.places | self._dialect.judging
        self._places = {role: place for role, place in places.items() if place is not None}
        if not values:
            self._places.pop("headers", None)
        value = type_at(file.shape.schema, self._dialect.value.place)
        is_typed = value is not None and (pa.types.is_struct(value) or pa.types.is_map(value))
        keyed = ValueKeys(file, notes, is_typed=is_typed).keyed
        self._keyed = keyed if self._dialect.reads_values else None
        self._ordinal = 0
        kind = type_at(file.shape.schema, self._dialect.key.place)
        if kind is not None and not is_ours(file.shape.schema):
            notes.key_type = key_type(kind)

    def records(self, source: "parquet.ParquetFile", group: RowGroup) -> Iterator[Record]:
        """All records of a row group. Raises UnreadableError."""
        value = self.value_column(source, group)
        names = [place for role, place in self._places.items() if role != "value"]
        columns = [name for name in (*names, value) if name]
        read_columns = None if value == "" else list(dict.fromkeys(columns))
        return self._of(batches_of(source, group, read_columns), group.number, value)

    def decoded(self, rows: pa.Table, number: int) -> Iterator[Record]:
        """The records of rows with all columns. Raises UnreadableError, with the row group ``number``."""
        if self._rules.is_conversion:
            names = columns_of(self._rules.file.path, rows.schema).names
            self._rules.see_beside(columns_beside(names, self._dialect))
        return self._of(rows.to_batches(), number, self._dialect.value.place)

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
        for name in ("record", "key", "value"):  # a schema without the field clearly means null
            rules.see(name)
        timestamp, key, value = fields.get("timestamp", MISSING), fields.get("key"), fields.get("value")
        record = Record(
            rules.to_topic(fields.get("topic", MISSING)),
            rules.to_partition(fields.get("partition", MISSING)),
            rules.to_offset(fields.get("offset", MISSING), self._ordinal),
            rules.to_timestamp_ms(timestamp),
            None if key is None else rules.stored(key, "key", fields.get("key_error")),
            None if value is None else rules.stored(value, "value", fields.get("value_error")),
            headers_of(fields["headers"], rules.notes) if "headers" in fields else (),
            rules.to_timestamp_type(fields.get("timestamp_type", MISSING), timestamp),
        )
        rules.refuse_delete(fields.get("delete_flag", MISSING), value)
        for role, error in ERRORS.items():
            if fields.get(role) is None:
                rules.refuse_error(fields.get(error, MISSING), role)
        self._ordinal += 1
        if record.key:
            rules.check_key(record.key, record.offset)
            if self._dialect.doubles:
                refuse_rounded(float(record.key.strip(b'"')), self._dialect)  # NaN is text in JSON
        return record if self._keyed is None else self._keyed(record)

    def value_column(self, source: "parquet.ParquetFile", group: RowGroup) -> str | None:
        """The column to read for the value; None if the row group says that none of its values is null."""
        value = self._dialect.value.place
        if self.needs_values or not value:
            return value
        leaf = _first_leaf(source.schema_arrow, value)
        return None if leaf == value and has_no_null(source, group, value) else leaf

    def _fields(self, batch: pa.RecordBatch, value: str | None) -> dict[str, list[Any]]:
        """The values of each role that the dump has, as lists."""
        fields: dict[str, list[Any]] = {}
        for role, name in self._places.items():
            if role == "value" and not self.needs_values:
                fields[role] = _presence(batch, name if value else None)
                continue
            column = column_at(batch, name)
            if role == "headers":
                fields[role] = nested_of(column)
            else:
                fields[role] = bytes_of(column) if role in DATA_ROLES else scalars_of(column)
        return fields


def _presence(batch: pa.RecordBatch, name: str | None) -> list[bytes | None]:
    """Any bytes for each row with a value, else None."""
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


_MISCOUNTS_NULLS = "parquet-go version latest"


def has_no_null(source: "parquet.ParquetFile", group: RowGroup, name: str) -> bool:
    """Whether the statistics of a row group say that a column is never null.

    A field of a struct may have the same path as a column whose name has a dot: then both have to say so.
    Files of xitongsys/parquet-go are not believed: its counts leave out the first value of each page.
    """
    with suppress(UnicodeDecodeError):  # a damaged name
        if source.metadata.created_by == _MISCOUNTS_NULLS:
            return False
    about = source.metadata.row_group(group.number)
    columns = (about.column(index) for index in range(about.num_columns))
    figures = [column.statistics for column in columns if column.path_in_schema == name]
    return bool(figures) and all(
        figure is not None and figure.has_null_count and figure.null_count == 0 for figure in figures
    )


_ROLES = ("topic", "partition", "offset", "timestamp", "key")


class RowGroupRows:
    """Index rows of whole batches, where by schema and dialect no record has to be looked at by itself."""

    def __init__(self, part: SplitToIndex, source: "parquet.ParquetFile") -> None:
        self._file, self._split, self._notes, *_ = part
        self._source = source
        self._dialect: Dialect = part.file.dialect
        self._reader = ParquetReader(part.file, SplitNotes(), values=False)
        self._fits = self._is_ordinary()

    def _is_ordinary(self) -> bool:
        dialect, schema = self._dialect, self._source.schema_arrow
        types = {role: type_at(schema, dialect.places[role]) for role in _ROLES}
        time = types["timestamp"]
        return bool(
            not self._reader.needs_values
            and not dialect.is_judged
            and "empty" not in dialect.key.nulls
            and all(types[role] is not None for role in ("topic", "partition", "offset", "key"))
            and pa.types.is_string(types["topic"])
            and pa.types.is_binary(types["key"])
            and pa.types.is_signed_integer(types["partition"])
            and pa.types.is_signed_integer(types["offset"])
            and (time is None or (pa.types.is_timestamp(time) and time.unit in PER_MS))
        )

    def read(self, group: RowGroup) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Batches of the index rows of a row group, each with the number of rows read up to its end.

        Ends before rows that have to be read record by record; roles of the row group are then not counted.
        """
        if not self._fits:
            return
        with suppress(UnreadableError, Misfit):
            yield from self._batches(group)
            for name in ("record", "key", "value"):
                self._notes.see(name, group.rows)

    def _batches(self, group: RowGroup) -> Iterator[tuple[pa.RecordBatch, int]]:
        value = self._reader.value_column(self._source, group)
        names = [self._dialect.places[role] for role in _ROLES]
        read_columns = [name for name in (*names, value) if name]
        least, larger = divmod(group.end - group.start, group.rows)
        start = 0
        for batch in batches_of(self._source, group, read_columns):
            rows = np.arange(start, start + batch.num_rows, dtype=np.int64)
            start += batch.num_rows
            with naming(group.number):
                log_ids, logs = self._logs(batch)
                columns = [
                    log_ids,
                    _whole_numbers(self._column(batch, "offset")),
                    self._column(batch, "key").cast(pa.binary()),
                    self._timestamps(batch),
                    self._is_null(batch, value),
                    np.full(len(rows), self._split.split_id, np.int32),
                    rows | group.number << GROUP_SHIFT,
                    (least + (rows < larger)).astype(np.int32),
                ]
                index_batch = pa.RecordBatch.from_arrays(list(map(pa.array, columns)), schema=INDEX_SCHEMA)
            note_logs(self._notes, self._file, logs, index_batch)
            yield only_wanted(index_batch, self._file, logs), start

    def _column(self, batch: pa.RecordBatch, role: str) -> pa.Array:
        column = column_at(batch, str(self._dialect.places[role]))
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def _logs(self, batch: pa.RecordBatch) -> tuple[np.ndarray, dict[int, LogName]]:
        """The log id of each row, and the names of these logs by id. Raises Misfit."""
        topics = self._column(batch, "topic").dictionary_encode()
        partitions = _whole_numbers(self._column(batch, "partition"))
        if topics.null_count or (len(partitions) and partitions.max() > INT_MAX):
            raise Misfit
        codes = topics.indices.to_numpy().astype(np.int64) << GROUP_SHIFT | partitions
        distinct, inverse = np.unique(codes, return_inverse=True)
        names = topics.dictionary.to_pylist()
        logs = [LogName(names[code >> GROUP_SHIFT], code & INT_MAX) for code in distinct.tolist()]
        ids = [log_id_of(*log) for log in logs]
        return np.array(ids, np.int64)[inverse], dict(zip(ids, logs, strict=True))

    def _timestamps(self, batch: pa.RecordBatch) -> np.ndarray:
        if self._dialect.timestamp is None:
            return np.full(batch.num_rows, -1, np.int64)
        column = self._column(batch, "timestamp")
        stored = pc.fill_null(column.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return np.where(stored < 0, -1, stored // PER_MS[column.type.unit])

    def _is_null(self, batch: pa.RecordBatch, value: str | None) -> np.ndarray:
        place = self._dialect.value.place
        if value is None or place is None:
            return np.full(batch.num_rows, place is None)
        return np.asarray(column_at(batch, place).is_null().to_numpy(zero_copy_only=False), bool)


def _whole_numbers(column: pa.Array) -> np.ndarray:
    if column.null_count:
        raise Misfit
    numbers = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() <= LARGEST_OFFSET:
        raise Misfit
    return np.asarray(numbers)
