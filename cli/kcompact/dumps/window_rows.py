"""What the lines of a window say, as columns, and the index rows made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kcompact.dumps.contents import CONTENT_EXTRA
from kcompact.dumps.indexing import EXTRA
from kcompact.dumps.layout import SplitToIndex
from kcompact.dumps.line_contents import LineValues
from kcompact.dumps.line_keys import gather_keys, replace_keys
from kcompact.dumps.line_window import LineWindow
from kcompact.dumps.record import INDEX_SCHEMA, VALUE_NULL, VALUE_PRESENT, Record, index_schema

KIND_EXTRA = frozenset({"value_kind", "is_debezium_delete"})
"""Columns of EXTRA_FIELDS that most lines need not be decoded for."""


@dataclass
class WindowRows:
    """Columns of a window's lines. ``fits`` lines came from templates; the others from ``records``."""

    log_ids: np.ndarray
    offsets: np.ndarray
    timestamps_ms: np.ndarray
    is_null: np.ndarray
    key_starts: np.ndarray
    key_bytes: np.ndarray
    fits: np.ndarray
    marks: np.ndarray
    records: dict[int, Record]
    values: LineValues

    @classmethod
    def of(cls, lines: int) -> "WindowRows":
        """Room for so many lines."""
        log_ids, offsets, timestamps, starts, lengths, marks = (np.zeros(lines, np.int64) for _ in range(6))
        flags = [np.zeros(lines, bool) for _ in range(2)]
        return cls(
            log_ids, offsets, timestamps, flags[0], starts, lengths, flags[1], marks, {}, LineValues.of(lines)
        )


def index_batch(
    window: LineWindow,
    rows: WindowRows,
    kept: np.ndarray,
    parts: Sequence[SplitToIndex],
    extra: frozenset[str],
) -> pa.RecordBatch:
    """Rows of ``index_schema(extra)`` for the lines ``kept`` (ascending numbers) of a window."""
    chosen: Callable[[np.ndarray], np.ndarray] = (
        (lambda column: column) if len(kept) == len(rows.fits) else (lambda column: column[kept])
    )
    splits = [parts[stretch.range_number].split for stretch in window.stretches]
    starts = chosen(window.starts)
    positions = starts + chosen(window.per_line([stretch.base for stretch in window.stretches]))
    # The newline that the last line of a file was given does not count.
    room = chosen(window.per_line([split.end for split in splits])) - positions
    keys = _keys(window, rows, kept)
    columns = [
        chosen(rows.log_ids),
        chosen(rows.offsets),
        keys,
        chosen(rows.timestamps_ms),
        chosen(rows.is_null),
        chosen(window.per_line([split.split_id for split in splits])).astype(np.int32),
        positions,
        np.minimum(chosen(window.ends) + 1 - starts, room).astype(np.int32),
    ]
    columns += _extra_columns(rows, kept, keys, extra)
    arrays = [c if isinstance(c, pa.Array) else pa.array(c) for c in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=index_schema(extra))


def _keys(window: LineWindow, rows: WindowRows, kept: np.ndarray) -> pa.Array:
    whole = len(kept) == len(rows.fits)
    starts = rows.key_starts if whole else rows.key_starts[kept]
    lengths = rows.key_bytes if whole else rows.key_bytes[kept]
    keys = gather_keys(window, starts, lengths)
    return replace_keys(keys, kept, {n: record.key for n, record in rows.records.items()})


def _extra_columns(rows: WindowRows, kept: np.ndarray, keys: pa.Array, extra: frozenset[str]) -> list[Any]:
    """The columns behind INDEX_SCHEMA, in their order."""
    columns: dict[str, Any] = {name: _kinds(name, rows)[kept] for name in extra & KIND_EXTRA}
    if asked := extra & CONTENT_EXTRA:
        contents = rows.values.contents(keys, kept)
        columns |= {name: contents.column(name) for name in asked}
    return [columns[name] for name in index_schema(extra).names[len(INDEX_SCHEMA) :]]


def _kinds(name: str, rows: WindowRows) -> np.ndarray:
    """A column of KIND_EXTRA: what lines that fit say, and what the others were read to say."""
    if name == "value_kind":
        column = np.where(rows.is_null, VALUE_NULL, VALUE_PRESENT).astype(np.int8)
    else:
        column = np.zeros(len(rows.fits), bool)
    for number, record in rows.records.items():
        column[number] = EXTRA[name](record)
    return column
