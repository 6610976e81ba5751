"""Index rows of Parquet, a batch of rows at a time. Whatever is out of the ordinary is left to the reader."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.digits import INT_MAX, LARGEST_OFFSET
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.parquet.parquet_columns import column_at
from kcompact.dumps.parquet.parquet_dialect import type_at
from kcompact.dumps.parquet.parquet_file import GROUP_SHIFT, RowGroup, batches_of, naming
from kcompact.dumps.parquet.parquet_reader import ParquetReader
from kcompact.dumps.records.layout import SplitNotes, SplitToIndex, UnreadableError
from kcompact.dumps.records.record import INDEX_SCHEMA, log_id_of

if TYPE_CHECKING:
    from pyarrow import parquet

_PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_ROLES = ("topic", "partition", "offset", "timestamp", "key")


class RowGroupRows:
    """Reads row groups of one file. ``fits``: whether its schema and dialect are ordinary."""

    def __init__(self, part: SplitToIndex, source: "parquet.ParquetFile") -> None:
        self._file, self._split, self._notes, *_ = part
        self._source = source
        self._dialect: Dialect = part.file.dialect
        self._reader = ParquetReader(part.file, SplitNotes(), values=False)
        self.fits = self._is_ordinary()

    def _is_ordinary(self) -> bool:
        dialect, schema = self._dialect, self._source.schema_arrow
        types = {role: type_at(schema, getattr(dialect, role)) for role in _ROLES}
        time = types["timestamp"]
        return bool(
            not self._reader.needs_values
            and dialect.null_literal is None
            and "null" not in {dialect.empty_key, dialect.empty_value}
            and all(types[role] is not None for role in ("topic", "partition", "offset", "key"))
            and pa.types.is_string(types["topic"])
            and pa.types.is_binary(types["key"])
            and pa.types.is_signed_integer(types["partition"])
            and pa.types.is_signed_integer(types["offset"])
            and (time is None or (pa.types.is_timestamp(time) and time.unit in _PER_MS))
        )

    def read(self, group: RowGroup) -> Iterator[tuple[pa.RecordBatch, int]]:
        """The rows of a row group, with how many of it are behind them.

        Ends before rows that the reader has to judge; notes then have seen none of the row group.
        """
        if not self.fits:
            return
        with suppress(UnreadableError, _Misfit):
            yield from self._batches(group)
            for name in ("record", "key", "value"):
                self._notes.see(name, group.rows)

    def _batches(self, group: RowGroup) -> Iterator[tuple[pa.RecordBatch, int]]:
        value = self._reader.value_column(self._source, group)
        names = [getattr(self._dialect, role) for role in _ROLES]
        read_columns = [name for name in (*names, value) if name]
        least, larger = divmod(group.end - group.start, group.rows)
        start = 0
        for batch in batches_of(self._source, group, read_columns):
            rows = np.arange(start, start + batch.num_rows, dtype=np.int64)
            start += batch.num_rows
            with naming(group.number):
                log_ids, is_wanted = self._logs(batch)
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
                wanted = index_batch if is_wanted is None else index_batch.filter(pa.array(is_wanted))
            yield wanted, start

    def _column(self, batch: pa.RecordBatch, role: str) -> pa.Array:
        column = column_at(batch, getattr(self._dialect, role))
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def _logs(self, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray | None]:
        """The log of each row, and which rows are asked for (None: all)."""
        topics = self._column(batch, "topic").dictionary_encode()
        partitions = _whole_numbers(self._column(batch, "partition"))
        if topics.null_count or (len(partitions) and partitions.max() > INT_MAX):
            raise _Misfit
        codes = topics.indices.to_numpy().astype(np.int64) << GROUP_SHIFT | partitions
        distinct, inverse = np.unique(codes, return_inverse=True)
        names = topics.dictionary.to_pylist()
        pairs = [(names[code >> GROUP_SHIFT], code & INT_MAX) for code in distinct.tolist()]
        ids = [log_id_of(*pair) for pair in pairs]
        flags = [self._file.wants(*pair) for pair in pairs]
        self._notes.logs.update(
            (log_id, pair) for log_id, pair, flag in zip(ids, pairs, flags, strict=True) if flag
        )
        self._notes.left_out.update(pair for pair, flag in zip(pairs, flags, strict=True) if not flag)
        return np.array(ids, np.int64)[inverse], None if all(flags) else np.array(flags)[inverse]

    def _timestamps(self, batch: pa.RecordBatch) -> np.ndarray:
        if self._dialect.timestamp is None:
            return np.full(batch.num_rows, -1, np.int64)
        column = self._column(batch, "timestamp")
        stored = pc.fill_null(column.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return np.where(stored < 0, -1, stored // _PER_MS[column.type.unit])

    def _is_null(self, batch: pa.RecordBatch, value: str | None) -> np.ndarray:
        if value is None or self._dialect.value is None:
            return np.full(batch.num_rows, self._dialect.value is None)
        return np.asarray(
            column_at(batch, self._dialect.value).is_null().to_numpy(zero_copy_only=False), bool
        )


class _Misfit(Exception):  # noqa: N818  never leaves this module
    """A row that only the reader can judge."""


def _whole_numbers(column: pa.Array) -> np.ndarray:
    if column.null_count:
        raise _Misfit
    numbers = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() <= LARGEST_OFFSET:
        raise _Misfit
    return np.asarray(numbers)
