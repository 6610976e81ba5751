"""Index rows made of the columns that a loop has filled, and the notes on them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.count_names import ComposedName, CountName
from kcompact.dumps.dialects.dialect import DataRole, Dialect
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.layout import PARSED_VALUES, DumpFile, NeedsExtra, SplitNotes
from kcompact.dumps.records.record import INDEX_SCHEMA, index_schema, log_id_of
from kcompact.dumps.records.timestamps import DOUBTFUL, PER_MS, SMALLEST_NS, SMALLEST_US

_LARGEST_SECONDS = 9 * 10**15
_COUNTED = {c.MISSING: "missing", c.EMPTY: "empty", c.LITERAL: "literal"}
_FLAGGED: dict[CountName, int] = {
    "quoted_cells": c.QUOTED,
    "freely_quoted_cells": c.FREELY_QUOTED,
    "quoted_words": c.QUOTED_WORD,
    "null_word_value": c.NULL_WORD,
    "null_sign_value": c.NULL_SIGN,
    "null_word_key": c.KEY_NULL_WORD,
    "null_sign_key": c.KEY_NULL_SIGN,
    "cr_lf_rows": c.CR_LF,
    "doubtful_headers": c.DOUBTFUL_HEADERS,
    "upper_literal_value": c.UPPER_LITERAL,
    "upper_literal_key": c.KEY_UPPER_LITERAL,
}

ExtraColumns = Callable[["ScannedRows", pa.Array], list[pa.Array]]
"""A function from rows (at least one) and their keys to the columns after INDEX_SCHEMA. Raises Misfit."""


class Misfit(Exception):  # noqa: N818  it sends records to the reference reader, no user sees it
    """Raised for rows that only the reference can read."""


class RecordPlaces(NamedTuple):
    """The columns of INDEX_SCHEMA that say where each row's record is."""

    split_ids: np.ndarray
    positions: np.ndarray
    record_bytes: np.ndarray


class ScannedRows:
    """The rows that a loop has filled in, or only those ``at`` some indices.

    They are valid until the loop runs again.
    """

    def __init__(
        self,
        file: DumpFile,
        columns: Columns,
        logs: dict[int, LogName],
        at: np.ndarray | None = None,
    ) -> None:
        self._file = file
        self._dialect: Dialect = file.dialect
        self._columns = columns
        self._logs = logs  # by id: all that were met so far
        self.count = int(columns.state[c.ROWS]) if at is None else len(at)
        self._numbers = columns.numbers[:, : self.count] if at is None else columns.numbers.take(at, axis=1)

    def __getitem__(self, column: int) -> np.ndarray:
        """A column of numbers."""
        values: np.ndarray = self._numbers[column]
        return values

    def batch(
        self,
        places: "RecordPlaces",
        extra: frozenset[str],
        more: ExtraColumns,
        needs_extra: NeedsExtra | None,
    ) -> pa.RecordBatch:
        """All rows as ``index_schema(extra)``; ``needs_extra`` as in ``SplitToIndex``. Raises Misfit."""
        keys = self._keys()
        columns = [
            self.log_ids(),
            self[c.OFFSET].copy(),
            keys,
            self._timestamps(),
            self.is_null("value"),
            places.split_ids,
            places.positions,
            places.record_bytes,
        ]
        arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns]
        if extra and needs_extra is None:
            arrays += more(self, keys)
        elif extra and needs_extra is not None:
            is_needed = needs_extra(pa.RecordBatch.from_arrays(arrays, schema=INDEX_SCHEMA))
            arrays += self._more_of(np.flatnonzero(is_needed), keys, extra, more)
        return pa.RecordBatch.from_arrays(arrays, schema=index_schema(extra))

    def _more_of(
        self, at: np.ndarray, keys: pa.Array, extra: frozenset[str], more: ExtraColumns
    ) -> list[pa.Array]:
        """The columns after INDEX_SCHEMA, computed for the rows ``at`` and null in others. Raises Misfit."""
        if not len(at):
            types = [field.type for field in index_schema(extra)][len(INDEX_SCHEMA) :]
            return [pa.nulls(self.count, kind) for kind in types]
        chosen = ScannedRows(self._file, self._columns, self._logs, at)
        numbers = np.full(self.count, -1)
        numbers[at] = np.arange(len(at))
        back = pa.array(numbers, mask=numbers < 0)
        return [column.take(back) for column in more(chosen, keys.take(pa.array(at)))]

    def _keys(self) -> pa.Array:
        """The decoded keys. Raises Misfit."""
        ends = self._columns.key_ends[: self.count + 1].copy()
        data = self._columns.keys[: ends[-1]].copy()
        is_null = self.is_null("key")
        valid = pa.py_buffer(np.packbits(~is_null, bitorder="little")) if is_null.any() else None
        buffers = [valid, pa.py_buffer(ends), pa.py_buffer(data)]
        keys = pa.Array.from_buffers(pa.binary(), self.count, buffers)
        encoding = self._dialect.key.encoding
        return keys if encoding in {"text", "json"} else _decoded(keys, ENCODINGS[encoding])

    def is_null(self, role: DataRole) -> np.ndarray:
        """Whether the key or value of each row is null."""
        kinds = self[c.KEY_KIND if role == "key" else c.VALUE_KIND]
        return self._null_kinds(role)[kinds]

    def _null_kinds(self, role: DataRole) -> np.ndarray:
        """Whether a field is null, by its kind."""
        nulls = np.zeros(c.LITERAL + 1, bool)
        nulls[[c.NULL, c.LITERAL]] = True
        nulls[c.MISSING] = "missing" in self._dialect.of(role).nulls
        nulls[c.EMPTY] = "empty" in self._dialect.of(role).nulls
        return nulls

    def _timestamps(self) -> np.ndarray:
        """Milliseconds, by the rules of timestamps.timestamp_ms. Raises Misfit."""
        raw, clocks = self[c.TIMESTAMP].copy(), self[c.CLOCK]
        is_in_ms = (clocks == c.TEXT) | (clocks == c.ZONELESS)
        return np.where(is_in_ms, raw, self._scaled(raw)) if is_in_ms.any() else self._scaled(raw)

    def _scaled(self, raw: np.ndarray) -> np.ndarray:
        unit = self._dialect.timestamp_unit
        if unit == "s":
            if raw.max(initial=0) > _LARGEST_SECONDS:
                raise Misfit
            return np.where(raw < 0, -1, raw * 1000)
        if unit != "auto":
            return np.where(raw < 0, -1, raw // PER_MS[unit])
        if raw.max(initial=0) < SMALLEST_US:
            return raw
        from_us = np.where(raw >= SMALLEST_US, raw // 1000, raw)
        return np.where(raw >= SMALLEST_NS, raw // 1_000_000, from_us)

    def log_ids(self) -> np.ndarray:
        """The log id of each row. Raises Misfit."""
        topics, partitions = self[c.TOPIC], self._partitions()
        span = int(partitions.max(initial=0)) + 1
        packed = topics * span + partitions
        if packed.max(initial=0) < 1 << 16:
            pairs = np.flatnonzero(np.bincount(packed))
            codes = packed
            table = np.zeros(int(pairs[-1]) + 1, np.int64)
            table[pairs] = [self._log_id(code // span, code % span) for code in pairs.tolist()]
        else:
            pairs, codes = np.unique(packed, return_inverse=True)
            table = np.array([self._log_id(code // span, code % span) for code in pairs.tolist()], np.int64)
        log_ids: np.ndarray = table[codes]
        return log_ids

    def _partitions(self) -> np.ndarray:
        """The partition of each row. Raises Misfit where neither the row nor the file names one."""
        partitions = self[c.PARTITION]
        if self._file.partition is not None:
            return np.where(partitions < 0, self._file.partition, partitions)
        if partitions.min(initial=0) < 0:
            raise Misfit
        return partitions

    def _log_id(self, topic: int, partition: int) -> int:
        """The id of a log, which is added to the logs met. Raises Misfit for a topic that is no UTF-8."""
        try:
            name = str(self._file.topic) if topic == 0 else self._columns.topic(topic).decode()
        except UnicodeDecodeError as error:
            raise Misfit from error
        log = LogName(name, partition)
        log_id = log_id_of(*log)
        self._logs[log_id] = log
        return log_id

    def count_in(self, notes: SplitNotes, first: int, last: int, *, is_table: bool) -> None:
        """Note on rows [first, last) what the reference would note.

        ``is_table``: every record has every column.
        """
        if first == last:
            return
        counts: dict[CountName, int] = {}
        notes.see("record", last - first)
        for role, column in (("key", c.KEY_KIND), ("value", c.VALUE_KIND)):
            kinds = np.bincount(self[column][first:last], minlength=c.LITERAL + 1).tolist()
            notes.see(role, last - first - (0 if is_table else kinds[c.MISSING]))
            counts |= {ComposedName(f"{word}_{role}"): kinds[kind] for kind, word in _COUNTED.items()}
        if not is_table:
            notes.see(PARSED_VALUES, int(np.count_nonzero(self[c.VALUE_KIND][first:last] == c.OTHER)))
            sizes = (self[c.HEADERS_END] - self[c.HEADERS_START])[first:last]
            notes.see("headers", int(np.count_nonzero(sizes)))
        if self._dialect.timestamp_unit == "auto":
            is_number = self[c.CLOCK][first:last] == c.OTHER
            clocks = self[c.TIMESTAMP][first:last][is_number]
            counts["timestamps"] = int(np.count_nonzero(self[c.CLOCK][first:last] >= c.TEXT))
            for name, (least, end) in DOUBTFUL.items():
                counts[name] = int(np.count_nonzero((clocks >= least) & (clocks < end)))
            counts["scaled_timestamps"] = int(np.count_nonzero(clocks >= SMALLEST_US))
        counts["zoneless_timestamps"] = int(np.count_nonzero(self[c.CLOCK][first:last] == c.ZONELESS))
        if is_table:
            flags = self[c.FLAGS][first:last]
            counts |= {name: int(np.count_nonzero(flags & flag)) for name, flag in _FLAGGED.items()}
        for name, count in counts.items():
            notes.count(name, count)


def _decoded(keys: pa.Array, decoder: Callable[[bytes], bytes]) -> pa.Array:
    """The keys decoded, each distinct one once. Raises Misfit."""
    encoded = keys.dictionary_encode()
    try:
        spelt = [decoder(key) for key in encoded.dictionary.to_pylist()]
    except ValueError as error:
        raise Misfit from error
    return pa.array(spelt, pa.binary()).take(encoded.indices)


def note_logs(notes: SplitNotes, file: DumpFile, logs: Mapping[int, LogName], rows: pa.RecordBatch) -> None:
    """Note the logs of rows, and which of them were not asked for; ``logs`` are all that were met so far.

    There is at least one row. It looks at the logs of these rows alone, as there may be ten thousand logs and
    hardly a row between two calls.
    """
    for log_id in logs if len(logs) == 1 else rows.column("log_id").unique().to_pylist():
        if log_id in notes.logs or logs[log_id] in notes.left_out:
            continue
        if file.wants(*logs[log_id]):
            notes.logs[log_id] = logs[log_id]
        else:
            notes.left_out.add(logs[log_id])


def only_wanted(rows: pa.RecordBatch, file: DumpFile, logs: Mapping[int, LogName]) -> pa.RecordBatch:
    """The rows of logs that were asked for. Logs that are not in ``logs`` count as asked for."""
    if file.wants_all:
        return rows
    log_ids = rows.column("log_id")
    unwanted = [
        log_id for log_id in log_ids.unique().to_pylist() if log_id in logs and not file.wants(*logs[log_id])
    ]
    return rows.filter(pa.array(~np.isin(log_ids.to_numpy(), unwanted))) if unwanted else rows
