"""Sets the CSV loop up for a file, if the loop can read its dialect."""

from functools import partial
from itertools import takewhile

import numpy as np
import pyarrow as pa

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.csv.csv_cells import (
    BACKSLASH,
    BYTE_EXACT,
    CELL_FACTS,
    DELIMITER,
    HAS_NULL_KEYS,
    IS_LAST,
    LABEL,
    NONE,
    QUOTING,
    RFC4180,
    RULES,
    TAKES_REST,
    TOPIC_NEEDED,
    VALUES_ARE_JSON,
    write_cells,
)
from kcompact.dumps.loops.csv.csv_lines_loop import ABSENT, PLACES, scan_csv_lines
from kcompact.dumps.loops.csv.unquoted_lines import (
    OF_DELIVERY,
    OF_EPOCH,
    OF_HEADERS,
    OF_OFFSET,
    OF_PARTITION,
    OF_TIMESTAMP,
    UNLABELLED,
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
_LABELS = {
    "timestamp": OF_TIMESTAMP,
    "partition": OF_PARTITION,
    "offset": OF_OFFSET,
    "delivery": OF_DELIVERY,
    "epoch": OF_EPOCH,
}
_ERRORS = "surrogateescape"


class CsvScanner:
    """The loop set up for a file. See ``line_loop.Scanner``."""

    is_table = True
    cutting = None

    def __init__(self, part: SplitToIndex, extra: frozenset[str]) -> None:
        file, self._part = part.file, part
        shape: CsvShape = file.shape
        dialect: Dialect = file.dialect
        self._dialect, self._extra = dialect, extra
        self._to_headers = FieldRules(file, SplitNotes()).to_headers
        words = [word.encode() for word in dialect.null_words]
        self._words = np.frombuffer((words[0] + words[-1]) if words else b"", np.uint8).copy()
        self._header = np.frombuffer(shape.header, np.uint8).copy()
        columns = {name: index for index, name in enumerate(shape.columns) if name}
        key, value = dialect.key, dialect.value
        beside = (key.error, value.error, key.marker, value.marker, key.size, value.size, dialect.delete_flag)
        places = (*dialect.places.values(), *beside)
        self._places = np.array([columns.get(place or "", ABSENT) for place in places], np.int64)
        assert len(self._places) == PLACES  # noqa: S101  two tables that belong together
        self._rules = np.zeros(RULES, np.int64)
        self._rules[BYTE_EXACT] = dialect.byte_exact
        self._rules[TOPIC_NEEDED] = file.topic is None
        self._rules[QUOTING] = _QUOTINGS[shape.quoting]
        self._rules[DELIMITER] = ord(shape.delimiter)
        self._rules[TAKES_REST] = shape.takes_rest
        self._rules[HAS_NULL_KEYS] = dialect.literal_keys
        self._rules[VALUES_ARE_JSON] = shape.values_are_json
        self._cells = np.zeros((len(shape.columns), CELL_FACTS), np.int64)
        self._cells[:, LABEL] = _labels_of(file, extra)
        self._bounds = np.zeros(1, np.int64)

    def start(self, window: Window) -> None:
        """Prepare for a new window, in which no row reaches from one file into the next."""
        self._bounds = np.array([stretch.last for stretch in window.stretches], np.int64)
        self._rules[IS_LAST] = window.is_last

    def scan(self, window: Window, columns: Columns) -> None:
        """Run the loop; a row that does not end in this window is left to the next one."""
        rules = self._bounds, self._places, self._rules, self._words, self._header, self._cells
        scan_csv_lines(window.data, window.end, *rules, columns)
        if columns.state[c.IS_UNFINISHED]:
            window.next_start = int(columns.state[c.AT])

    def more(self, rows: ScannedRows, window: Window, keys: pa.Array) -> list[pa.Array]:
        """The columns after INDEX_SCHEMA for these rows. Raises Misfit."""
        return added_columns(self._extra, lambda: np.zeros(0), partial(self._contents, rows, window, keys))

    def _contents(
        self, rows: ScannedRows, window: Window, keys: pa.Array, names: frozenset[str]
    ) -> dict[str, pa.Array]:
        values = values_of(write_cells, window, rows, self._dialect.value.encoding, names)
        starts, ends = rows[c.HEADERS_START].copy(), rows[c.HEADERS_END].copy()
        cells, cell_ends = texts_of(write_cells, window, starts, ends, rows[c.FLAGS] & c.HEADERS_ESCAPED)
        bounds = np.concatenate([[0], cell_ends])
        headers = pa.Array.from_buffers(
            pa.large_binary(), rows.count, [None, pa.py_buffer(bounds), pa.py_buffer(cells)]
        ).cast(pa.binary())
        return contents_of(names, keys, *values, headers, self._headers, self._part)

    def _headers(self, cell: bytes) -> Headers:
        """The headers of a cell. Raises ValueError where they cannot be read."""
        return self._to_headers(cell.decode("utf-8", _ERRORS), _ERRORS)


def scanner_for(part: SplitToIndex, extra: frozenset[str]) -> CsvScanner | None:
    """The loop set up for a file; None if only the reference can read its dialect or make these columns."""
    return CsvScanner(part, extra) if extra <= CONTENT_EXTRA and _covers(part.file) else None


def _covers(file: DumpFile) -> bool:
    dialect: Dialect = file.dialect
    shape: CsvShape = file.shape
    key, value = dialect.key, dialect.value
    if not {key.place, value.place, dialect.offset or key.place} <= set(shape.columns):
        return False
    if dialect.labelled and not (shape.takes_rest and dialect.timestamp_unit == "ms"):
        return False
    if "json" in (key.encoding, value.encoding):
        return False
    if len({len(word.encode()) for word in dialect.null_words}) > 1:
        return False
    is_byte = len(shape.delimiter.encode()) == 1 and shape.delimiter not in '"\n\r'
    return is_byte and means_itself(file)


def _labels_of(file: DumpFile, extra: frozenset[str]) -> list[int]:
    """The LABEL of each column. In a labelled dialect, the first columns have labels, as in CsvReader."""
    dialect: Dialect = file.dialect
    shape: CsvShape = file.shape
    if not dialect.labelled:
        return [UNLABELLED] * len(shape.columns)
    labels = [_LABELS[name] for name in takewhile(_LABELS.__contains__, shape.columns)]
    others = shape.columns[len(labels) :]
    return labels + [OF_HEADERS if extra and name == dialect.headers else UNLABELLED for name in others]
