"""Parquet output: tasks write row groups as Arrow streams, of which a single writer makes the file.

A Parquet file ends with a table of all its row groups, so that parts of it cannot be joined as bytes.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow import parquet

OURS = {b"kcompact": b"plain envelope"}
_LENGTH = struct.Struct("<q")
_ARROW_SCHEMA = b"ARROW:schema"
_CODECS = {  # pyarrow's names for writing, by those it gives when reading; it cannot write Hadoop's LZ4
    "UNCOMPRESSED": "NONE",
    "LZ4_RAW": "LZ4",
    "UNKNOWN": "LZ4",
}
_FEW_ROWS = 1 << 20
_MOST_BYTES = 512 << 20  # of a row group, unpacked


@dataclass(frozen=True)
class ParquetForm:
    """How a file is written. ``compression`` is a codec, or (column, codec) pairs.

    ``dictionaries`` says whether columns have dictionaries, or which of them have.
    """

    schema: pa.Schema
    compression: str | tuple[tuple[str, str], ...] = "snappy"
    dictionaries: bool | tuple[str, ...] = True
    has_statistics: bool = True
    has_int96: bool = False
    has_arrow_schema: bool = False
    most_rows: int = _FEW_ROWS  # of a row group

    def writer(self, out: Any) -> "parquet.ParquetWriter":
        """A writer to an open file or pipe."""
        from pyarrow import parquet

        codecs = self.compression if isinstance(self.compression, str) else dict(self.compression)
        return parquet.ParquetWriter(
            out,
            self.schema,
            compression=codecs,
            use_dictionary=self.dictionaries if isinstance(self.dictionaries, bool) else [*self.dictionaries],
            write_statistics=self.has_statistics,
            use_deprecated_int96_timestamps=self.has_int96,
            store_schema=self.has_arrow_schema,
        )


def is_ours(schema: pa.Schema) -> bool:
    """Whether kcompact wrote the file."""
    return OURS.items() <= (schema.metadata or {}).items()


def form_of(source: "parquet.ParquetFile") -> ParquetForm:
    """The form of a file: schema and metadata, codecs, dictionaries, statistics."""
    about = source.metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    chunks = [group.column(index) for group in groups for index in range(group.num_columns)]
    codecs = {chunk.path_in_schema: _CODECS.get(chunk.compression, chunk.compression) for chunk in chunks}
    with_dictionary = {chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page}
    return ParquetForm(
        schema=source.schema_arrow,
        compression=next(iter(codecs.values())) if len(set(codecs.values())) == 1 else tuple(codecs.items()),
        dictionaries=tuple(sorted(with_dictionary))
        if with_dictionary < codecs.keys()
        else bool(with_dictionary),
        has_statistics=any(chunk.is_stats_set for chunk in chunks),
        has_int96=any(chunk.physical_type == "INT96" for chunk in chunks),
        has_arrow_schema=_ARROW_SCHEMA in (about.metadata or {}),
        most_rows=max((group.num_rows for group in groups), default=0) or _FEW_ROWS,  # 0 if there is none
    )


def framed(rows: pa.Table) -> bytes:
    """A row group as it is in a part of the output: its length, then an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(rows)
    data = sink.getvalue().to_pybytes()
    return _LENGTH.pack(len(data)) + data


def row_groups_in(part: BinaryIO, start: int, end: int) -> Iterator[pa.Table]:
    """The row groups in bytes [start, end) of a part, as ``framed`` made them."""
    part.seek(start)
    while part.tell() < end:
        (length,) = _LENGTH.unpack(part.read(_LENGTH.size))
        with pa.ipc.open_stream(pa.py_buffer(part.read(length))) as stream:
            yield stream.read_all()


def write_parquet(out: BinaryIO, form: ParquetForm, tables: Iterable[pa.Table]) -> None:
    """Write a whole file; row groups that have few rows left are joined."""
    with form.writer(out) as writer:
        for rows in _filled(tables, form.most_rows):
            writer.write_table(rows.cast(form.schema), row_group_size=form.most_rows)
        if not form.has_arrow_schema:  # then pyarrow does not write the schema's metadata, either
            writer.add_key_value_metadata(form.schema.metadata or {})


def _filled(tables: Iterable[pa.Table], most_rows: int) -> Iterator[pa.Table]:
    """Tables joined until they have as many rows as a row group of the input, or _MOST_BYTES."""
    group: list[pa.Table] = []
    rows = row_bytes = 0
    for table in tables:
        if group and (rows + table.num_rows > most_rows or row_bytes + table.nbytes > _MOST_BYTES):
            yield pa.concat_tables(group)
            group, rows, row_bytes = [], 0, 0
        group.append(table)
        rows += table.num_rows
        row_bytes += table.nbytes
    if group:
        yield pa.concat_tables(group)
