"""Sets the JSON loop up for a file, if the loop can read its dialect."""

import re
from functools import partial

import numpy as np
import pyarrow as pa

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.json.json_text import ParsedJson
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import Columns
from kcompact.dumps.loops.json.json_lines_loop import (
    BARE_END,
    BARE_START,
    BYTE_EXACT,
    CONTENTS,
    IS_NUMBERED,
    JSON_KEYS,
    KINDS,
    RULES,
    TOPIC_NEEDED,
    TYPED_KEYS,
    scan_json_lines,
)
from kcompact.dumps.loops.json.json_members import no_guesses
from kcompact.dumps.loops.json.json_names import JsonNames, json_names
from kcompact.dumps.loops.json.json_text_loop import write_texts
from kcompact.dumps.loops.json.lines_of_values_loop import cutting_of
from kcompact.dumps.loops.scanned_rows import ScannedRows
from kcompact.dumps.loops.value_columns import (
    KIND_EXTRA,
    SPELT,
    added_columns,
    contents_of,
    gathered,
    means_itself,
    values_of,
)
from kcompact.dumps.loops.windows import Window
from kcompact.dumps.records.content_hashes import ABSENT
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import SplitToIndex
from kcompact.dumps.records.reading import FieldRules

_DOUBTFUL = re.compile(rb"\\u|\d{16}")  # surrogates, and numbers that parsers read differently


class JsonScanner:
    """The loop set up for a file. See ``line_loop.Scanner``."""

    is_table = False

    def __init__(self, part: SplitToIndex, names: JsonNames, extra: frozenset[str]) -> None:
        file, self._part = part.file, part
        dialect: Dialect = file.dialect
        self._dialect, self._names, self._extra = dialect, names, extra
        self._read_headers = FieldRules(file, part.notes).to_headers
        self._literal = np.frombuffer((dialect.null_literal or "").encode(), np.uint8).copy()
        self._rules = np.zeros(RULES, np.int64)
        self._rules[BYTE_EXACT] = dialect.byte_exact
        self._rules[JSON_KEYS] = dialect.key.encoding == "json" or dialect.canonical_keys
        self._rules[TYPED_KEYS] = dialect.key.encoding == "json"
        self._rules[TOPIC_NEEDED] = file.topic is None
        self._rules[CONTENTS] = bool(extra)
        self._rules[KINDS] = bool(extra & KIND_EXTRA)
        self._rules[IS_NUMBERED] = dialect.offset is None
        self._rules[BARE_START] = file.layout != "json_lines"
        self._rules[BARE_END] = file.layout == "json_array"
        self.cutting = cutting_of(file)
        self._guesses = no_guesses()
        self._spans = np.zeros((len(names.table) - len(dialect.late_names), 4), np.int64)

    def start(self, window: Window) -> None:
        """Do nothing: the loop needs no preparation for a window."""

    def scan(self, window: Window, columns: Columns) -> None:
        """Run the loop."""
        read = window.lines, window.data, window.end, self._rules, self._names, self._literal
        scan_json_lines(*read, self._guesses, self._spans, columns)

    def more(self, rows: ScannedRows, window: Window, keys: pa.Array) -> list[pa.Array]:
        """The columns after INDEX_SCHEMA for these rows. Raises Misfit."""

        def lengths() -> np.ndarray:
            return np.where(rows.is_null("value"), ABSENT, rows[c.VALUE_END] - rows[c.VALUE_START])

        return added_columns(self._extra, lengths, partial(self._contents, rows, window, keys))

    def _contents(
        self, rows: ScannedRows, window: Window, keys: pa.Array, names: frozenset[str]
    ) -> dict[str, pa.Array]:
        values = values_of(write_texts, window, rows, self._dialect.value.encoding, names)
        sizes = rows[c.HEADERS_END] - rows[c.HEADERS_START]
        headers = gathered(window.data, rows[c.HEADERS_START], np.where(sizes == 0, ABSENT, sizes))
        return contents_of(names, keys, *values, headers, self._headers, self._part)

    def _headers(self, spelt: bytes) -> Headers:
        """The headers. Raises ValueError if they cannot be read, or may depend on the rest of the line."""
        if not spelt.isascii() or _DOUBTFUL.search(spelt):
            raise ValueError(spelt)
        parsed = ParsedJson(spelt)
        if parsed.twice:
            raise ValueError(spelt)
        return self._read_headers(parsed.with_spellings(parsed.value, ()), "surrogatepass")


def scanner_for(part: SplitToIndex, extra: frozenset[str]) -> JsonScanner | None:
    """The loop set up for a file; None if only the reference can read its dialect or make these columns."""
    dialect: Dialect = part.file.dialect
    names = json_names(dialect)
    tells = extra <= KIND_EXTRA | CONTENT_EXTRA and (
        not extra & KIND_EXTRA or dialect.value.encoding in SPELT
    )
    is_read = means_itself(part.file) and (dialect.literal_keys or dialect.null_literal is None)
    return JsonScanner(part, names, extra) if names is not None and is_read and tells else None
