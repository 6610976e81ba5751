"""Index rows of CSV, parsed by Arrow a chunk at a time; a chunk that might read otherwise is left alone.

The rows and notes are those of the exact way (``FramedLayout.index``), or none.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kcompact.dumps.contents import Contents, hashes_of_array, lengths_of
from kcompact.dumps.csv_reader import CsvShape
from kcompact.dumps.dialect import Dialect
from kcompact.dumps.framed import UnreadableError
from kcompact.dumps.layout import DumpFile, Split, SplitNotes
from kcompact.dumps.reading import REPLACEMENT, FieldRules
from kcompact.dumps.record import INDEX_SCHEMA, index_schema, log_id_of

CHUNK_BYTES = 4 << 20
_BOM = b"\xef\xbb\xbf"
_NEWLINE, _RETURN, _QUOTE = ord("\n"), ord("\r"), ord('"')
_SMALLEST_US = 10**14  # larger timestamps are no milliseconds
_TEN_DIGITS = (10**9, 10**10)
_LARGEST_PARTITION = 2**31 - 1
_AS_WRITTEN = ("null", "empty", "null", "empty")


def suits(file: DumpFile) -> bool:
    """Whether the file's dialect is one that Arrow's options can express."""
    dialect: Dialect = file.dialect
    shape: CsvShape = file.shape
    nulls = (dialect.missing_key, dialect.empty_key, dialect.missing_value, dialect.empty_value)
    special = {dialect.key_marker, dialect.value_marker, dialect.key_size, dialect.value_size}
    return (
        shape.quoting in {"rfc4180", "none"}
        and (dialect.key_encoding, dialect.value_encoding) == ("text", "text")
        and nulls == _AS_WRITTEN
        and dialect.null_literal is None
        and not dialect.reads_values
        and dialect.timestamp_unit in {"ms", "auto"}
        and not dialect.labelled
        and not shape.rest
        and not special & set(shape.columns)
        and {dialect.offset, dialect.key, dialect.value} <= set(shape.columns)
        and len(set(shape.columns)) == len(shape.columns)
        and len(shape.delimiter.encode()) == 1
    )


class Chunk:
    """Whole records: their bytes, where they stand in the file, and where each begins and ends in them."""

    def __init__(self, start: int, data: bytes, ends: np.ndarray, quotes: np.ndarray) -> None:
        self.start = start
        self.data = data
        self.quotes = quotes
        starts = np.concatenate([[0], ends[:-1]])
        lengths = ends - starts
        view = np.frombuffer(data, np.uint8)
        blank = (lengths == 1) & (view[starts] == _NEWLINE)
        blank |= (lengths == 2) & (view[starts] == _RETURN) & (view[ends - 1] == _NEWLINE)  # noqa: PLR2004  CR LF
        self.starts, self.lengths = starts[~blank], lengths[~blank]


def chunks_of_records(file: DumpFile, split: Split) -> Iterator[Chunk]:
    """The records of a split, some megabytes at a time."""
    quoted = file.shape.quoting != "none"
    with Path(file.data_path).open("rb") as source:
        source.seek(split.start)
        start, rest = split.start, b""
        while start + len(rest) < split.end:
            more = source.read(min(max(CHUNK_BYTES, len(rest)), split.end - start - len(rest)))
            data = rest + more
            is_last = not more or start + len(data) == split.end
            ends, quotes = _record_ends(data, quoted=quoted)
            if is_last and (not len(ends) or ends[-1] < len(data)):
                ends = np.append(ends, len(data))
            cut = int(ends[-1]) if len(ends) else 0
            if cut:
                yield Chunk(start, data[:cut], ends, quotes[quotes < cut])
            start, rest = start + cut, data[cut:]
            if not more:
                return


def _record_ends(data: bytes, *, quoted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Positions after line ends outside of quotes, and positions of quotes."""
    view = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(view == _NEWLINE)
    quotes = np.flatnonzero(view == _QUOTE) if quoted else np.empty(0, np.int64)
    if len(quotes):
        newlines = newlines[np.searchsorted(quotes, newlines) & 1 == 0]
    return newlines + 1, quotes


def rows_of_chunk(
    file: DumpFile, split_id: int, chunk: Chunk, notes: SplitNotes, extra: frozenset[str] = frozenset()
) -> pa.RecordBatch | None:
    """Rows of ``index_schema(extra)``; None (and no notes) where the exact way might say anything else.

    ``extra`` are columns of CONTENT_EXTRA.
    """
    if not _is_regular(file, chunk):
        return None
    try:
        table = _parsed(file, chunk.data, headers=bool(extra))
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(chunk.starts):
        return None
    columns = _Columns(file, table)
    if not columns.are_plain():
        return None
    try:
        contents = columns.contents() if extra else None
    except UnreadableError:
        return None
    columns.count(notes, _rows_with_quotes(file, chunk))
    schema = index_schema(extra)
    added = [contents.column(name) for name in schema.names[len(INDEX_SCHEMA) :]] if contents else []
    return columns.batch(split_id, chunk, notes, added, schema)


def _is_regular(file: DumpFile, chunk: Chunk) -> bool:
    """Whether quotes stand only where RFC 4180 has them, and nothing else is special."""
    data, quotes = chunk.data, chunk.quotes
    if data.startswith(_BOM) or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        return False
    if REPLACEMENT in data and not file.dialect.byte_exact:
        return False
    if not len(quotes):
        return True
    delimiter = file.shape.delimiter.encode()
    around = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    before, after = around[quotes], around[quotes + 2]
    outside = np.zeros(256, bool)
    outside[[_NEWLINE, _RETURN, delimiter[0], _QUOTE]] = True
    regular = len(quotes) % 2 == 0 and outside[before[::2]].all() and outside[after[1::2]].all()
    return bool(regular and (before[::2] != _RETURN).all())


def _rows_with_quotes(file: DumpFile, chunk: Chunk) -> int:
    if not len(chunk.quotes):
        return 0
    around = np.frombuffer(b"\n" + chunk.data, np.uint8)
    delimiter = file.shape.delimiter.encode()[0]
    before = around[chunk.quotes]
    quotes = chunk.quotes[(before == _NEWLINE) | (before == delimiter)]
    rows = np.searchsorted(chunk.starts, quotes, side="right") - 1
    opening = (around[quotes] == delimiter) | (chunk.starts[rows] == quotes)
    return int(np.count_nonzero(np.bincount(rows[opening])))


def _parsed(file: DumpFile, data: bytes, *, headers: bool) -> pa.Table:
    dialect, shape = file.dialect, file.shape
    types: dict[str, pa.DataType] = {dialect.offset: pa.int64()}
    for role, kind in (
        ("partition", pa.int64()),
        ("timestamp", pa.int64()),
        ("topic", pa.binary()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.binary()),
    ):
        if getattr(dialect, role) in shape.columns and (headers or role != "headers"):
            types[getattr(dialect, role)] = kind
    # Arrow takes an empty last cell without a line end for quoted, if a cell of its row is.
    data = data if data.endswith(b"\n") else data + b"\n"
    return csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(shape.columns)),
        csv.ParseOptions(
            delimiter=shape.delimiter,
            quote_char=False if shape.quoting == "none" else '"',
            double_quote=shape.quoting != "none",
            newlines_in_values=shape.quoting != "none",
        ),
        csv.ConvertOptions(
            check_utf8=False,
            column_types=types,
            include_columns=list(types),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    ).combine_chunks()


class _Columns:
    """The parsed columns by role."""

    def __init__(self, file: DumpFile, table: pa.Table) -> None:
        self._file = file
        self._rows = table.num_rows
        self._by_role: dict[str, pa.Array] = {}
        for role in ("topic", "partition", "offset", "timestamp", "key", "value", "headers"):
            name = getattr(file.dialect, role)
            if name in table.column_names:
                self._by_role[role] = pa.concat_arrays(table.column(name).chunks)

    def are_plain(self) -> bool:
        """Whether all numbers are in range and none is missing that must be there."""
        required = [self._by_role[role] for role in ("topic", "partition", "offset") if role in self._by_role]
        if not self._rows or any(column.null_count for column in required):
            return False
        if "topic" not in self._by_role and self._file.topic is None:
            return False
        lowest = [pc.min(self._by_role[role]).as_py() for role in ("partition", "offset") if self._has(role)]
        if min(lowest) < 0:
            return False
        if self._has("partition") and pc.max(self._by_role["partition"]).as_py() > _LARGEST_PARTITION:
            return False
        latest = pc.max(self._by_role["timestamp"]).as_py() if self._has("timestamp") else None
        return latest is None or latest < _SMALLEST_US

    def _has(self, role: str) -> bool:
        return role in self._by_role

    def count(self, notes: SplitNotes, quoted_rows: int) -> None:
        """Note what the exact way notes."""
        for role in ("record", "key", "value"):
            notes.fields_seen[role] = notes.fields_seen.get(role, 0) + self._rows
        counts = {"quoted_cells": quoted_rows, **self._timestamp_counts()}
        for role in ("key", "value"):
            column = self._by_role[role]
            empty = pc.sum(pc.equal(pc.binary_length(column), 0)).as_py() or 0
            counts |= {f"missing_{role}": column.null_count, f"empty_{role}": empty}
        for name, count in counts.items():
            if count:
                notes.counts[name] = notes.counts.get(name, 0) + count

    def _timestamp_counts(self) -> dict[str, int]:
        if not self._has("timestamp") or self._file.dialect.timestamp_unit != "auto":
            return {}
        column = self._by_role["timestamp"].drop_null().to_numpy()
        short = (column >= _TEN_DIGITS[0]) & (column < _TEN_DIGITS[1])
        return {"timestamps": len(column), "ten_digit_timestamps": int(np.count_nonzero(short))}

    def contents(self) -> Contents:
        """Values and headers. Raises UnreadableError."""
        key, value = self._by_role["key"], self._by_role["value"]
        sizes = lengths_of(key), lengths_of(value)
        if not self._has("headers"):
            return Contents(*sizes, hashes_of_array(value))
        cells = self._by_role["headers"].fill_null(b"").dictionary_encode()
        rules = FieldRules(self._file, SplitNotes())
        texts = [cell.decode("utf-8", "surrogateescape") for cell in cells.dictionary.to_pylist()]
        headers = [rules.to_headers(text, "surrogateescape") for text in texts]
        return Contents(*sizes, hashes_of_array(value), headers, cells.indices.to_numpy())

    def batch(
        self, split_id: int, chunk: Chunk, notes: SplitNotes, added: list[pa.Array], schema: pa.Schema
    ) -> pa.RecordBatch:
        """Rows of the logs that are wanted; ``added`` are the columns of ``schema`` behind INDEX_SCHEMA."""
        log_ids, wanted = self._log_ids(notes)
        columns: list[Any] = [
            log_ids,
            self._by_role["offset"],
            self._by_role["key"],
            self._timestamps(),
            pc.is_null(self._by_role["value"]),
            np.full(self._rows, split_id, np.int32),
            chunk.starts + chunk.start,
            chunk.lengths.astype(np.int32),
            *added,
        ]
        arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns]
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return rows if wanted is None else rows.filter(pa.array(wanted))

    def _timestamps(self) -> np.ndarray:
        if not self._has("timestamp"):
            return np.full(self._rows, -1, np.int64)
        return np.maximum(pc.fill_null(self._by_role["timestamp"], -1).to_numpy(), -1)

    def _log_ids(self, notes: SplitNotes) -> tuple[np.ndarray, np.ndarray | None]:
        """The log of each row; which rows are wanted, None if all are."""
        if self._has("topic"):
            encoded = self._by_role["topic"].dictionary_encode()
            names = [name.decode("utf-8", "surrogateescape") for name in encoded.dictionary.to_pylist()]
            topics = encoded.indices.to_numpy().astype(np.int64)
        else:
            names, topics = [str(self._file.topic)], np.zeros(self._rows, np.int64)
        partitions = (
            self._by_role["partition"].to_numpy()
            if self._has("partition")
            else np.full(self._rows, self._file.partition or 0, np.int64)
        )
        packed, codes = np.unique((topics << 32) | partitions, return_inverse=True)
        logs = [(names[code >> 32], code & 0xFFFFFFFF) for code in packed.tolist()]
        ids = np.array([log_id_of(*log) for log in logs], np.int64)
        wanted = np.array([self._file.wants(*log) for log in logs])
        notes.logs.update({int(ids[n]): log for n, log in enumerate(logs) if wanted[n]})
        notes.left_out.update(log for n, log in enumerate(logs) if not wanted[n])
        return ids[codes], None if wanted.all() else wanted[codes]
