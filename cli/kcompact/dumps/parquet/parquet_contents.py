"""Checks that a Parquet file's table of contents does not contradict itself, before pyarrow relies on it."""

import io
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kcompact.digits import LONG_MAX

if TYPE_CHECKING:
    from pyarrow import parquet

_FEW_BYTES = 12  # of a buffer: nothing is read into it


class _NoBytes(io.RawIOBase):
    """An endless file whose first read raises _NoBytesError, behind all that a reader checks before it."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return LONG_MAX

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        del offset, whence
        return LONG_MAX

    def read(self, size: int = -1) -> bytes:
        del size
        raise _NoBytesError


class _NoBytesError(Exception):
    """A row group's first byte was asked for, so the table of contents has passed the reader's checks."""


def check_contents(about: "parquet.FileMetaData") -> None:
    """Raise OSError or ValueError where a table of contents contradicts itself.

    Rows that it does not count would not be read. To ask it for a bad column would end the process, as Python
    cannot catch what C++ throws there, so a reader of rows, which raises an error, is asked before.
    """
    from pyarrow import parquet

    groups = list(map(about.row_group, range(about.num_row_groups)))
    rows = sum(group.num_rows for group in groups)
    if rows != about.num_rows:
        raise ValueError(f"it says {about.num_rows:,} rows, and {rows:,} in its row groups")
    if any(group.num_columns != about.num_columns for group in groups):
        raise ValueError("not every row group has all columns")
    with parquet.ParquetFile(_NoBytes(), metadata=about, buffer_size=_FEW_BYTES, pre_buffer=False) as reader:
        for number in range(about.num_row_groups):
            with suppress(_NoBytesError):
                next(reader.iter_batches(1, [number], use_threads=False), None)
    for group in groups:
        _check_row_group(about, group)


def _check_row_group(about: "parquet.FileMetaData", group: "parquet.RowGroupMetaData") -> None:
    values = []
    for index in range(about.num_columns):
        chunk, column = group.column(index), about.schema.column(index)
        if (chunk.path_in_schema, chunk.physical_type) != (column.path, column.physical_type):
            declared = f"{column.path} of type {column.physical_type}"
            raise ValueError(f"{declared} is {chunk.path_in_schema} of type {chunk.physical_type} elsewhere")
        if not column.max_repetition_level:  # not repeated: as many values as rows
            values.append(chunk.num_values)
    if values and max(values) != group.num_rows:
        raise ValueError(f"a row group of {group.num_rows:,} rows has {max(values):,} values in a column")
