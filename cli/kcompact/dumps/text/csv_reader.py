"""Reads a row of CSV or delimited text into cells, and these into a Record, by the rules of its dialect."""

import codecs
import re
from dataclasses import dataclass
from itertools import takewhile

from kcompact.dumps.count_names import ComposedName
from kcompact.dumps.dialects.dialect import DATA_ROLES, ERRORS, DataRole, Dialect
from kcompact.dumps.dialects.paths import fields_read
from kcompact.dumps.json.json_text import end_of_value, reads_as_json
from kcompact.dumps.records.framed import MARK_WITHIN, TextShape
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.records.reading import MISSING, REPLACEMENT, FieldRules, Missing
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.shown import delimiter_option, shown
from kcompact.dumps.text.between_records import TOOL_HINT
from kcompact.dumps.text.console_labels import LABELS, UNLABELLED, UNLABELLED_HINT
from kcompact.dumps.text.csv_quoting import (
    QUOTING_HINT,
    BadCsvError,
    Cells,
    cells_of,
    freely_quoted,
    quoted_word,
)
from kcompact.errors import UnreadableError


def first_cells(line: bytes, delimiter: bytes, columns: int) -> Cells:
    """The cells of a line of text; the last one takes the remainder of the line.

    A cell that begins as JSON ends behind that JSON, if a delimiter follows there: delimiters within the JSON
    belong to it. A cell of length zero is None.
    """
    cells: Cells = []
    at = 0
    while len(cells) < columns - 1:
        end = _end_of_json(line, at, delimiter)
        if end is None:
            end = line.find(delimiter, at)
        if end < 0:
            break
        cells.append(line[at:end] or None)
        at = end + len(delimiter)
    return [*cells, line[at:] or None]


def may_cut_key(value: bytes | None, delimiter: bytes) -> bool:
    """Whether a value, which should be JSON or null, may begin with the end of a key and a delimiter."""
    return value is not None and value.lstrip()[:1] not in (b"{", b"[") and delimiter in value


def _end_of_json(line: bytes, at: int, delimiter: bytes) -> int | None:
    if line[at : at + 1] not in (b"{", b"[", b'"'):
        return None
    length = end_of_value(line[at:])
    if length is None or not line.startswith(delimiter, at + length):
        return None
    return at + length


_ERRORS = "surrogateescape"
_SIZES = {b"-1": None, b"-1.0": None, b"0": b"", b"0.0": b""}  # pandas writes a column with gaps as floats
_ESCAPE = re.compile(rb"\\[tnrbf0'\\]")
NULLS_OF_DATABASES = {"null_word": "NULL", "null_sign": r"\N"}  # which no program writes as text
_WORDS = r"null None NaN nan <NA> NA nil <nil> undefined <null> (null) <none> (none) Optional.empty N/A - \\N"
_WORDS += " %{[@metadata][kafka][key]}"  # Logstash's reference to what is not there
NULL_TEXTS = NULLS_OF_DATABASES | {text: text for text in _WORDS.split()}
"""Texts that programs write for null, by the names under which they are counted (as ``null_word_key``)."""
_COUNTED = {text.encode(): name for name, text in NULL_TEXTS.items()}


@dataclass(frozen=True)
class CsvShape(TextShape):
    """A TextShape with the names of the columns, in order."""

    columns: tuple[str, ...] = ()
    delimiter: str = ","
    quoting: str = "rfc4180"
    takes_rest: bool = False  # the last column takes the rest of the line, delimiters and all
    nulls_are_bare: bool = False  # a word for null means null only without quotes
    values_are_json: bool = False  # of the last column: by these the delimiter was recognised

    @property
    def has_header(self) -> bool:
        """Whether the file begins with a line that names the columns."""
        line = self.begin.decode("utf-8-sig", "replace").strip().replace('"', "")
        names = self.delimiter.join(self.columns).replace('"', "")
        return [name.strip() for name in line.split(self.delimiter)] == names.split(self.delimiter)

    @property
    def header(self) -> bytes:
        """The header line without byte order mark and line end; empty if there is none."""
        return self.begin.removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n") if self.has_header else b""


_FOOTER = re.compile(rb"\(\d+ rows?(?: affected)?\)\s*")
_FOOTER_HINT = "this line counts the rows: write the table anew, with psql -P footer=off, or psql --csv"
_NOTHING = (
    "a row with nothing in it, as spreadsheets leave them below a table",
    "delete such rows in the spreadsheet, or the lines of delimiters alone",
)


class CsvReader:
    """A reader of a row's bytes, which have no line end."""

    def __init__(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> None:
        self._rules = FieldRules(file, notes)
        self._dialect: Dialect = file.dialect
        self._shape: CsvShape = file.shape
        self._values = values
        self._quoted: set[int] = set()  # indexes of the row's cells in quotes
        self._delimiter = self._shape.delimiter.encode()
        self._opening = self._delimiter + b'"'
        self._free, self._word = freely_quoted(self._delimiter), quoted_word(self._delimiter)
        columns = {name: index for index, name in enumerate(self._shape.columns) if name}
        labelled = self._shape.columns if self._dialect.labelled else ()
        self._header = self._shape.header
        self._labels = [LABELS[name] for name in takewhile(LABELS.__contains__, labelled)]
        places = self._dialect.places | self._dialect.judging
        self._index = {role: columns.get(place or "") for role, place in places.items()}
        self._markers = {role: columns.get(self._dialect.of(role).marker or "") for role in DATA_ROLES}
        self._sizes = {role: columns.get(self._dialect.of(role).size or "") for role in DATA_ROLES}
        read = set(fields_read(self._dialect)) if self._rules.is_conversion else set(columns)
        self._beside = {name: index for name, index in columns.items() if name not in read}

    def __call__(self, data: bytes, ordinal: int) -> Record:
        """Read one row. Raises UnreadableError."""
        if data.startswith(codecs.BOM_UTF8):
            raise UnreadableError(*MARK_WITHIN)
        if self._header and data == self._header:
            raise UnreadableError(
                "the header line once more",
                "join tables without the first lines of all but one of them: tail -n +2 FILE",
            )
        cells = self._cells(data)
        if not any(cells) and self._index["offset"] is not None:
            raise UnreadableError(*_NOTHING)
        rules = self._rules
        rules.see("record")
        if self._beside:
            self._see_beside(cells)
        if rules.is_conversion and self._delimiter == b"\t" and b"\\" in data:
            self._see_escapes(cells)
        value = self._bytes(cells, "value")
        rules.refuse_delete(self._text(cells, "delete_flag"), value)
        timestamp = self._text(cells, "timestamp")
        offset = rules.to_offset(self._text(cells, "offset"), ordinal)
        return Record(
            rules.to_topic(self._text(cells, "topic")),
            rules.to_partition(self._text(cells, "partition")),
            offset,
            rules.to_timestamp_ms(timestamp),
            self._key(cells, offset),
            value,
            rules.to_headers(self._text(cells, "headers"), _ERRORS) if self._values else (),
            rules.to_timestamp_type(self._text(cells, "timestamp_type"), timestamp),
        )

    def _see_beside(self, cells: list[bytes | None]) -> None:
        """Note each column that is no part of a record when its cell is first filled."""
        filled_fields = [name for name, index in self._beside.items() if cells[index]]
        self._rules.see_beside(filled_fields)
        for name in filled_fields:
            del self._beside[name]

    def _see_escapes(self, cells: list[bytes | None]) -> None:
        """Count a row in which backslashes may stand for tabs and line ends; in JSON they are JSON's own."""
        texts = (cells[index] or b"" for role in DATA_ROLES if (index := self._index[role]) is not None)
        for text in texts:
            if text != rb"\N" and _ESCAPE.search(text) and not reads_as_json(text):
                self._rules.count("escapes", shown(text.decode("utf-8", "replace")))
                return

    def _cells(self, data: bytes) -> list[bytes | None]:
        shape = self._shape
        if shape.quoting != "none" and (data.startswith(b'"') or self._opening in data):
            self._rules.count("quoted_cells")
            if self._free.search(data):
                self._rules.count("freely_quoted_cells")
                if self._word.search(data):
                    self._rules.count("quoted_words")
        try:
            if shape.takes_rest:
                cells = first_cells(data, self._delimiter, len(shape.columns))
            else:
                self._quoted.clear()
                cells = cells_of(data, self._delimiter, shape.quoting, self._quoted)
        except BadCsvError as error:
            raise UnreadableError(str(error), QUOTING_HINT) from error
        if len(cells) != len(shape.columns):
            raise UnreadableError(
                f"{len(cells)} columns where {len(shape.columns)} are expected",
                (TOOL_HINT if data.startswith(b"% ") else None)
                or (_FOOTER_HINT if _FOOTER.fullmatch(data) else None)
                or QUOTING_HINT,
            )
        if b"\n" in data and self._may_be_rows(data):
            self._rules.count("rows_within_quotes")
        if any(not cell or not label.match(cell) for label, cell in zip(self._labels, cells, strict=False)):
            raise UnreadableError(UNLABELLED, UNLABELLED_HINT)
        if shape.values_are_json and may_cut_key(cells[-1], self._delimiter):
            raise UnreadableError(
                f"{shape.delimiter!r} stands twice before the value: which of them ends the key?",
                "export as JSON lines (kcat -J), or with a delimiter that no key holds: kcat -K '\\t'; only"
                " if no key holds one (it would be cut there, and taken for another):"
                f" {delimiter_option(shape.delimiter)}",
            )
        return cells

    def _may_be_rows(self, data: bytes) -> bool:
        """Whether each line of a row with quoted line ends looks like a row: its quotes may be the data's."""
        index = self._index["offset"]
        rows = [line.split(self._delimiter) for line in data.split(b"\n")]
        if any(len(row) != len(self._shape.columns) for row in rows):
            return False
        return self._delimiter == b"\t" if index is None else all(row[index].isdigit() for row in rows)

    def _text(self, cells: list[bytes | None], role: str) -> str | Missing:
        index = self._index[role]
        cell = None if index is None else cells[index]
        if cell is None:
            return MISSING
        if self._dialect.labelled and role in {"partition", "offset"}:
            cell = cell.partition(b":")[2] or cell
        return cell.decode("utf-8", _ERRORS)

    def _key(self, cells: list[bytes | None], offset: int) -> bytes | None:
        key = self._bytes(cells, "key")
        index = self._index["key"]
        if key and index is not None and REPLACEMENT in (cells[index] or b""):  # not decoded from base64
            self._rules.check_key(key, offset)
        return key

    def _bytes(self, cells: list[bytes | None], role: DataRole) -> bytes | None:
        """The bytes that a key or value cell stands for."""
        rules, index = self._rules, self._index[role]
        if index is None:
            return rules.null_or_empty(role, "missing")
        rules.see(role)
        cell = cells[index]
        if not cell:
            rules.refuse_error(self._text(cells, ERRORS[role]), role)
            place = self._sizes[role]
            size = None if place is None else cells[place]
            if not size:
                return rules.null_or_empty(role, "missing" if cell is None else "empty")
            return self._of_no_bytes(size, role)
        if not (self._shape.nulls_are_bare and index in self._quoted) and rules.is_literal(cell, role):
            return None
        if cell in _COUNTED:
            rules.count(ComposedName(f"{_COUNTED[cell]}_{role}"))
        if role == "value" and not self._values:
            return cell
        marker = self._markers[role]
        mark = None if marker is None else (cells[marker] or b"").decode("utf-8", _ERRORS)
        encoding = None if mark is None else rules.encoding_of(mark, role)
        return rules.decoded(cell, role, encoding)

    @staticmethod
    def _of_no_bytes(size: bytes, role: str) -> bytes | None:
        """Null or empty, by the size beside an empty cell: -1 or 0. Raises UnreadableError for others."""
        if size in _SIZES:
            return _SIZES[size]
        shown_size = shown(size.decode("utf-8", "replace"))
        raise UnreadableError(
            f"the {role} was not exported: its column is empty, and its size is {shown_size}",
            "export as JSON, or the bytes as they are: a deserializer makes nothing of null, and Redpanda"
            " Console's CSV leaves out 0, false, null, and what is too large to show",
        )
