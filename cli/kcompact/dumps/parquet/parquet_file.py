"""A Parquet file as pyarrow reads it: row groups, their rows in batches, and errors that name a row group."""

import os
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.dumps.records.layout import DumpFile
from kcompact.errors import InputError, UnreadableError
from kcompact.storage.object_stores import is_address

if TYPE_CHECKING:
    from pyarrow import parquet

MAGIC = b"PAR1"
GROUP_SHIFT = 32  # a record's position: its row group, shifted so far, and its row there
DAMAGED_HINT = "copy or export it again; what can still be read is not the whole dump"
_CUT_HINT = (
    "a Parquet file ends in its table of contents, so nothing of a cut one can be read: export it again"
)
_UNKNOWN_HINT = "write it again with plain encodings, and without dictionaries among its types"
_ENCRYPTED_HINT = "decrypt it first, or export as JSON lines, CSV or Avro"
_INT96_HINT = (
    "if none of them is beyond the year 2262, write it again with timestamps of 64 bits, as pyarrow does:"
    " from pyarrow import parquet; parquet.write_table(parquet.read_table(FILE), NEW)"
)
_VARIANT_HINT = "write it as JSON: in DuckDB COLUMN::JSON, in Spark to_json(COLUMN)"
_VARIANT = re.compile(r" group field_id=\S+ (.+) \(Variant\(\d+\)\) \{$", re.MULTILINE)
_SPARK = b"org.apache.spark.version"
_SIGNATURE_BYTES = 12 + 16  # nonce and tag, behind a plain footer of encrypted columns
_END = struct.Struct(f"<I{len(MAGIC)}s")  # the footer's length with its signature, and the magic
_BATCH_ROWS = 16_384
_BATCH_BYTES = 64 << 20  # unpacked
_HUGE_BATCH_BYTES = 1 << 30  # of batches that may be larger, dictionaries are looked at
_PAGE_BYTES = 1 << 20  # as most writers make them


ParquetInput = str | BinaryIO
"""The path of a file on this disk, or an opened object, of which ranges are read as they are needed."""


@dataclass(frozen=True)
class RowGroup:
    """One row group. ``start`` and ``end`` count the packed bytes of all row groups, one after another."""

    data: ParquetInput
    number: int
    start: int
    end: int
    rows: int
    unpacked_bytes: int

    def batch_rows(self, row_bytes: int = 1) -> int:
        """The number of rows to read at a time, if some of them may have ``row_bytes``."""
        row_bytes = max(row_bytes, self.unpacked_bytes // self.rows)
        return max(1, min(_BATCH_ROWS, self.rows, _BATCH_BYTES // row_bytes))


def bad_row_group(number: int, reason: str, hint: str | None = DAMAGED_HINT, row: int = 0) -> UnreadableError:
    """The error for a row group, or one of its rows, that cannot be read."""
    return UnreadableError(reason, hint, position=number << GROUP_SHIFT | row)


def input_of(file: DumpFile) -> ParquetInput:
    """Where the file of a dump is read. Raises InputError if the object in its store has changed."""
    if file.origin is not None and is_address(file.data_path):
        return file.origin.opened()
    return file.data_path


def open_parquet(path: str, data: ParquetInput) -> "parquet.ParquetFile":
    """The opened file; messages name it ``path``. Raises InputError."""
    from pyarrow import parquet

    with reading_footer(path, data):
        # Spark's INT96 counts microseconds at most: in nanoseconds the year 9999 would overflow.
        return parquet.ParquetFile(
            _source_of(data),
            coerce_int96_timestamp_unit="us",
            page_checksum_verification=True,
            pre_buffer=not isinstance(data, str),  # adjacent columns come with one request
        )


def _source_of(data: ParquetInput) -> Any:
    """The input as pyarrow takes it: of paths it only takes UTF-8, while names of files may be any bytes."""
    return pa.OSFile(os.fsencode(data)) if isinstance(data, str) else data


def refuse_encrypted(path: str, data: ParquetInput, file: "parquet.ParquetFile") -> None:
    """Raise InputError for a signed footer: at an encrypted column, pyarrow would end the process."""
    source = open(data, "rb") if isinstance(data, str) else data  # noqa: PTH123, SIM115  closed below
    try:
        at = source.tell()
        source.seek(-_END.size, os.SEEK_END)
        footer_bytes, _ = _END.unpack(source.read(_END.size))
        source.seek(at)
    finally:
        if source is not data:
            source.close()
    if footer_bytes - file.metadata.serialized_size == _SIGNATURE_BYTES:
        raise InputError(f"{path}: Parquet with encrypted columns", hint=_ENCRYPTED_HINT)


def refuse_variants(path: str, file: "parquet.ParquetFile") -> None:
    """Raise InputError for columns of type VARIANT, which Arrow reads as structs of their inner parts."""
    column = _VARIANT.search(repr(file.schema))
    if column:
        raise InputError(f"{path}: the column {column[1]} is of Parquet's type VARIANT", hint=_VARIANT_HINT)


def refuse_nanoseconds(path: str, data: ParquetInput, file: "parquet.ParquetFile") -> None:
    """Raise InputError for columns of INT96 that count nanoseconds, which would be lost; Spark's never do.

    Row groups that cannot be read are passed over here, and reported when all of the file is read.
    """
    from pyarrow import parquet

    about, names = file.metadata, _int96_columns(file)
    if not names or _SPARK in (about.metadata or {}):
        return
    with parquet.ParquetFile(_source_of(data), metadata=about, coerce_int96_timestamp_unit="ns") as exact:
        for number in range(about.num_row_groups):
            with suppress(UnreadableError), naming(number):
                us, ns = (_numbers(source.read_row_group(number, names)) for source in (file, exact))
                for name, least, most in zip(names, us, ns, strict=True):
                    # Beyond the year 2262 both overflow 64 bits alike, and stay equal.
                    if (least * 1000 != most).any():
                        reason = f"the column {name} has timestamps of 96 bits with nanoseconds"
                        raise InputError(f"{path}: {reason}, which would be lost", hint=_INT96_HINT)


def instants_of_spark(file: "parquet.ParquetFile") -> list[str]:
    """The columns of INT96 that Spark wrote: instants in UTC, though Arrow's type for them has no zone."""
    return _int96_columns(file) if _SPARK in (file.metadata.metadata or {}) else []


def _int96_columns(file: "parquet.ParquetFile") -> list[str]:
    columns = map(file.metadata.schema.column, range(file.metadata.num_columns))
    return [
        column.path for column in columns if column.physical_type == "INT96" and column.name == column.path
    ]


def _numbers(rows: pa.Table) -> list[np.ndarray]:
    return [pc.fill_null(column.cast(pa.int64()), 0).to_numpy() for column in rows.columns]


@contextmanager
def reading_footer(path: str, data: ParquetInput) -> Iterator[None]:
    """Turn all errors of pyarrow about a bad footer into an InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        with Path(data).open("rb") if isinstance(data, str) else data as source:
            source.seek(0, 2)
            source.seek(max(0, source.tell() - len(MAGIC)))
            is_cut = source.read() != MAGIC
        if is_cut:
            raise InputError(
                f"{path}: the Parquet file is cut off: its end is missing", hint=_CUT_HINT
            ) from error
        reason = f"the Parquet file's table of contents cannot be read ({first_line(error)})"
        raise InputError(f"{path}: {reason}", hint=DAMAGED_HINT) from error


def row_groups(file: "parquet.ParquetFile", data: ParquetInput) -> list[RowGroup]:
    """All row groups that have rows, of a file that is read from ``data``."""
    groups, start = [], 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        packed = sum(group.column(column).total_compressed_size for column in range(group.num_columns))
        end = start + max(1, packed)
        if group.num_rows:
            groups.append(RowGroup(data, number, start, end, group.num_rows, group.total_byte_size))
        start = end
    return groups


def batches_of(
    file: "parquet.ParquetFile", group: RowGroup, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """The rows of a row group, with some columns (dotted paths; None: all). Raises UnreadableError."""
    rows = 0
    names = None if columns is None else list(columns)
    with naming(group.number):
        batch_rows = group.batch_rows(_longest_repeated_bytes(file, group, names))
        for batch in file.iter_batches(batch_rows, [group.number], names, use_threads=False):
            rows += batch.num_rows
            yield batch
    if rows != group.rows:
        raise bad_row_group(group.number, f"it says that it has {group.rows:,} rows, and has {rows:,}")


def _longest_repeated_bytes(file: "parquet.ParquetFile", group: RowGroup, names: Sequence[str] | None) -> int:
    """The bytes of the longest value that a row group stores once, in a dictionary, for possibly many rows.

    1 where no batch could be huge, and for an object in a store, where a look at dictionaries is a request.
    """
    from pyarrow import parquet

    chunks = map(file.metadata.row_group(group.number).column, range(file.metadata.num_columns))
    paths = [
        chunk.path_in_schema
        for chunk in chunks
        if (names is None or any(f"{chunk.path_in_schema}.".startswith(f"{name}.") for name in names))
        and (chunk.has_dictionary_page and chunk.physical_type == "BYTE_ARRAY")
        and chunk.total_uncompressed_size * group.batch_rows() > _HUGE_BATCH_BYTES
    ]
    if not paths or not isinstance(group.data, str):
        return 1
    with parquet.ParquetFile(
        _source_of(group.data),
        metadata=file.metadata,
        read_dictionary=paths,
        buffer_size=_PAGE_BYTES,
        page_checksum_verification=True,
    ) as by_dictionary:
        row = next(by_dictionary.iter_batches(1, [group.number], paths, use_threads=False))
    return max([1, *map(_longest_bytes, row.columns)])


def _longest_bytes(column: pa.Array) -> int:
    """The bytes of the longest value in the dictionaries of a column, or of the fields within it."""
    if isinstance(column, pa.DictionaryArray):
        return pc.max(pc.binary_length(column.dictionary)).as_py() or 1
    if pa.types.is_struct(column.type):
        return max(map(_longest_bytes, column.flatten()), default=1)
    return _longest_bytes(column.values) if hasattr(column, "values") else 1


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Turn all errors of pyarrow about damage into an UnreadableError, with the row group as its position.

    An UnreadableError without a position gets that, too.
    """
    try:
        yield
    except UnreadableError as error:
        if error.position is not None:
            raise
        raise bad_row_group(number, str(error), error.hint) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        reason = first_line(error)
        hint = _UNKNOWN_HINT if reason.startswith("Not yet implemented") else DAMAGED_HINT
        raise bad_row_group(number, f"cannot be read ({reason})", hint) from error


def first_line(error: Any) -> str:
    """The first line of an error of pyarrow, without its stack."""
    return str(error).partition("\n")[0].strip().rstrip(".")
