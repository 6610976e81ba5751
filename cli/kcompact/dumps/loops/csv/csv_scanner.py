"""CSV and delimited text read by the loop: for which dialects, and what is asked of it."""

from functools import partial

import numpy as np
import pyarrow as pa

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.csv.csv_cells import BACKSLASH, NONE, RFC4180, write_cells
from kcompact.dumps.loops.csv.csv_lines_loop import (
    ABSENT,
    BYTE_EXACT,
    CELL_FACTS,
    DELIMITER,
    IS_LAST,
    PLACES,
    QUOTING,
    RULES,
    TOPIC_NEEDED,
    scan_csv_lines,
)
from kcompact.dumps.loops.scanned_rows import ScannedRows
from kcompact.dumps.loops.value_columns import added_columns, contents_of, means_itself, texts_of, values_of
from kcompact.dumps.loops.windows import Window
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.records.reading import FieldRules
from kcompact.dumps.text.csv_reader import CsvShape

_QUOTINGS = {"rfc4180": RFC4180, "backslash": BACKSLASH, "none": NONE}
_PARTS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_JUDGED = ("key_error", "value_error", "key_marker", "value_marker")
_PLACED = (*_PARTS, *_JUDGED, "key_size", "value_size", "delete_flag")
_ERRORS = "surrogateescape"


class CsvScanner:
    """Sets the loop up for a file. See ``line_loop.Scanner``."""

    is_table = True
    cutting = None

    def __init__(self, part: SplitToIndex, extra: frozenset[str]) -> None:
        file, self._hash_secret = part.file, part.hash_secret
        shape: CsvShape = file.shape
        dialect: Dialect = file.dialect
        self._dialect, self._extra = dialect, extra
        self._to_headers = FieldRules(file, SplitNotes()).to_headers
        self._literal = np.frombuffer((dialect.null_literal or "").encode(), np.uint8).copy()
        columns = {name: index for index, name in enumerate(shape.columns) if name}
        named = [columns.get(getattr(dialect, role) or "", ABSENT) for role in _PLACED]
        self._places = np.array(named, np.int64)
        assert len(self._places) == PLACES  # noqa: S101  two tables that belong together
        self._rules = np.zeros(RULES, np.int64)
        self._rules[BYTE_EXACT] = dialect.byte_exact
        self._rules[TOPIC_NEEDED] = file.topic is None
        self._rules[QUOTING] = _QUOTINGS[shape.quoting]
        self._rules[DELIMITER] = ord(shape.delimiter)
        self._cells = np.zeros((len(shape.columns), CELL_FACTS), np.int64)
        self._bounds = np.zeros(1, np.int64)

    def start(self, window: Window) -> None:
        """No row reaches from one file into the next."""
        self._bounds = np.array([stretch.last for stretch in window.stretches], np.int64)
        self._rules[IS_LAST] = window.is_last

    def scan(self, window: Window, columns: Columns) -> None:
        """Run the loop."""
        rules = self._bounds, self._places, self._rules, self._literal, self._cells
        scan_csv_lines(window.data, window.end, *rules, columns)
        if columns.state[c.IS_UNFINISHED]:
            window.next_start = int(columns.state[c.AT])

    def more(self, rows: ScannedRows, window: Window, keys: pa.Array) -> list[pa.Array]:
        """Raises Misfit."""
        return added_columns(self._extra, lambda: np.zeros(0), partial(self._contents, rows, window, keys))

    def _contents(
        self, rows: ScannedRows, window: Window, keys: pa.Array, names: frozenset[str]
    ) -> dict[str, pa.Array]:
        values = values_of(write_cells, window, rows, self._dialect.value_encoding, names)
        starts, ends = rows[c.HEADERS_START].copy(), rows[c.HEADERS_END].copy()
        cells, cell_ends = texts_of(write_cells, window, starts, ends, rows[c.FLAGS] & c.HEADERS_ESCAPED)
        bounds = np.concatenate([[0], cell_ends])
        headers = pa.Array.from_buffers(
            pa.large_binary(), rows.count, [None, pa.py_buffer(bounds), pa.py_buffer(cells)]
        ).cast(pa.binary())
        return contents_of(names, keys, *values, headers, self._headers, self._hash_secret)

    def _headers(self, cell: bytes) -> Headers:
        """Raises ValueError where they cannot be read."""
        return self._to_headers(cell.decode("utf-8", _ERRORS), _ERRORS)


def scanner_for(part: SplitToIndex, extra: frozenset[str]) -> CsvScanner | None:
    """The loop set up for a file; None where only the reference can read its dialect or what is asked for."""
    return CsvScanner(part, extra) if extra <= CONTENT_EXTRA and _covers(part.file) else None


def _covers(file: DumpFile) -> bool:
    dialect: Dialect = file.dialect
    shape: CsvShape = file.shape
    if shape.takes_rest or not {dialect.key, dialect.value, dialect.offset} <= set(shape.columns):
        return False
    if "json" in (dialect.key_encoding, dialect.value_encoding):
        return False
    is_byte = len(shape.delimiter.encode()) == 1 and shape.delimiter not in '"\n\r'
    return is_byte and means_itself(dialect)
