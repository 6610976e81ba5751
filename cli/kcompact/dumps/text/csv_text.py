"""Cells of one CSV record, with null (unquoted and empty) told from empty (quoted)."""

import re

from kcompact.dumps.json.json_text import end_of_value

Cells = list[bytes | None]
_QUOTE = b'"'


class BadCsvError(ValueError):
    """A record that breaks the rules of quoting."""


def cells_of(line: bytes, delimiter: bytes = b",", quoting: str = "rfc4180") -> Cells:
    """The cells of one record. Quoting: "rfc4180"; "backslash" before quotes; "none", quotes mean nothing.

    An unquoted cell of length zero is None. Raises BadCsvError.
    """
    if quoting == "none" or _QUOTE not in line:
        return [cell or None for cell in line.split(delimiter)]
    cells: Cells = []
    at, end = 0, len(line)
    pattern = _QUOTED[quoting]
    while True:
        if line[at : at + 1] == _QUOTE:
            match = pattern.match(line, at)
            if match is None:
                raise BadCsvError("a quoted field that does not end")
            cells.append(_unquoted(match.group(1), quoting))
            at = match.end()
            if at < end and line[at : at + 1] != delimiter:
                raise BadCsvError(f"text after a closing quote: {line[at : at + 20]!r}")
        else:
            stop = line.find(delimiter, at)
            stop = end if stop < 0 else stop
            if b"\n" in line[at:stop]:  # two records, the quotes in which open and close by accident
                raise BadCsvError(f"a line end in a field without quotes: {line[at : at + 20]!r}")
            cells.append(line[at:stop] or None)
            at = stop
        if at >= end:
            return cells
        at += 1
        if at == end:
            cells.append(None)
            return cells


def first_cells(line: bytes, delimiter: bytes, columns: int) -> Cells:
    """The cells of a line of text, of which the last takes the rest of the line.

    One that begins as JSON ends where its JSON does, if a delimiter follows there: delimiters in it are its
    own. A cell of length zero is None.
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


def _end_of_json(line: bytes, at: int, delimiter: bytes) -> int | None:
    if line[at : at + 1] not in (b"{", b"[", b'"'):
        return None
    length = end_of_value(line[at:])
    if length is None or not line.startswith(delimiter, at + length):
        return None
    return at + length


_QUOTED = {
    "rfc4180": re.compile(rb'"([^"]*(?:""[^"]*)*)"'),
    "backslash": re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL),
}


_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)  # within quotes Spark doubles backslashes too


def _unquoted(text: bytes, quoting: str) -> bytes:
    if quoting == "backslash":
        return _ESCAPED.sub(rb"\1", text)
    return text.replace(b'""', b'"')
