"""The ways in which cells of CSV are quoted: as in RFC 4180, or with backslashes, as Spark writes them."""

import re

Cells = list[bytes | None]
Places = set[int] | None
_QUOTE = b'"'
QUOTED = {  # possessive, since backtracking would take 80 bytes for each quote in a cell
    "rfc4180": re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"'),
    "backslash": re.compile(rb'"([^"\\]*+(?:\\["\\][^"\\]*+)*+)"'),
}
_ESCAPED = re.compile(rb'\\(["\\])')  # within quotes Spark doubles backslashes too
_LONE_BACKSLASH = re.compile(rb'"[^"\\]*+(?:\\["\\][^"\\]*+)*+\\[^"\\]')
_OTHER_QUOTING = {"rfc4180": "backslash", "backslash": "rfc4180"}
QUOTING_HINT = (
    "a delimiter, quote or line end in the data was not quoted, or the file was cut off: export again with"
    " quotes in fields doubled, or as JSON; where a backslash stands before them, as Spark writes it,"
    " --dialect spark-csv, and --dialect csv where Spark was told to double them; where quotes belong to the"
    " data, as in tables of ClickHouse, PostgreSQL, MySQL: --dialect text --columns NAME,... --delimiter TEXT"
)
_LONE = "a backslash within quotes, before neither a quote nor a backslash"


class BadCsvError(ValueError):
    """A record that breaks the rules of quoting."""


def cells_of(line: bytes, delimiter: bytes = b",", quoting: str = "rfc4180", quoted: Places = None) -> Cells:
    """The cells of one record; with the quoting "none", quotes have no meaning. Raises BadCsvError.

    An unquoted cell of length zero is None. The indexes of cells in quotes are added to ``quoted``.
    """
    if quoting == "none" or _QUOTE not in line:
        return [cell or None for cell in line.split(delimiter)]
    cells: Cells = []
    in_quotes = set() if quoted is None else quoted
    at, end = 0, len(line)
    pattern = QUOTED[quoting]
    while True:
        if line[at : at + 1] == _QUOTE:
            match = pattern.match(line, at)
            if match is None:
                is_escape = quoting == "backslash" and _LONE_BACKSLASH.match(line, at)
                raise BadCsvError(_LONE if is_escape else "a quoted field that does not end")
            text = match.group(1)
            in_quotes.add(len(cells))
            cells.append(text.replace(b'""', b'"') if quoting == "rfc4180" else _ESCAPED.sub(rb"\1", text))
            at = match.end()
            if at < end and not line.startswith(delimiter, at):
                raise BadCsvError(f"text after a closing quote: {line[at : at + 20]!r}")
        else:
            stop = line.find(delimiter, at)
            stop = end if stop < 0 else stop
            if b"\n" in line[at:stop]:  # two records with unbalanced quotes
                raise BadCsvError(f"a line end in a field without quotes: {line[at : at + 20]!r}")
            if quoting == "backslash" and b'\\"' in line[at:stop]:  # Python's csv escapes there, Spark never
                raise BadCsvError(
                    f"a backslash before a quote in a field without quotes: {line[at : at + 20]!r}"
                )
            cells.append(line[at:stop] or None)
            at = stop
        if at >= end:
            return cells
        at += len(delimiter)
        if at == end:
            cells.append(None)
            return cells


def has_bare(lines: list[bytes], text: bytes, delimiter: bytes, quoting: str) -> bool:
    """Whether a text is a cell without quotes in one of the lines: in quotes, it then means itself."""
    for line in lines:
        if text in line and columns_by(line, delimiter, quoting) is not None:
            quoted: set[int] = set()
            cells = cells_of(line, delimiter, quoting, quoted)
            if any(cell == text and index not in quoted for index, cell in enumerate(cells)):
                return True
    return False


def columns_by(line: bytes, delimiter: bytes, quoting: str) -> int | None:
    """The number of cells that a record has by a way of quoting; None where it breaks the rules of that."""
    try:
        return len(cells_of(line, delimiter, quoting))
    except BadCsvError:
        return None


def quoting_of(lines: list[bytes], columns: int, delimiter: bytes, quoting: str) -> str:
    """The dialect's way of quoting, or the other one if by it more lines have the right number of cells.

    Spark writes a backslash before a quote, or doubles it where its option ``escape`` is a quote.
    """
    other = _OTHER_QUOTING.get(quoting)
    # All other lines read the same in both ways. Speed matters: a dump may be thousands of small files.
    telling = [line for line in lines if _QUOTE in line and (b"\\" in line or b'""' in line)]
    if other is None or not telling:
        return quoting
    fit, fit_by_other = (
        sum(columns_by(line, delimiter, way) == columns for line in telling) for way in (quoting, other)
    )
    return other if fit_by_other > fit else quoting


def freely_quoted(delimiter: bytes) -> re.Pattern[bytes]:
    """A pattern that finds a cell in quotes for which no tool would need them.

    Some tools quote a text because of a blank, a carriage return, or a delimiter other than theirs.
    """
    return _quoted(rb'[^"\n\r ,;]', b"*", delimiter)


LONGEST_WORD = 24


def quoted_word(delimiter: bytes) -> re.Pattern[bytes]:
    """A pattern that finds a short word in quotes: its tool quotes every text, even an empty one.

    It leaves out what Jackson and PHP quote, as both write nothing for null as well as for empty text.
    Jackson quotes texts of more than 24 characters, or with one not above its delimiter in ASCII, such as
    digits with a semicolon; PHP quotes backslashes and tabs.
    """
    first, kind = (b"A-Za-z", b"A-Za-z_") if delimiter == b";" else (_ALPHANUMERIC, rb"0-9A-Za-z._:-")
    return _quoted(b"[%b]" % kind, b"{0,%d}" % (LONGEST_WORD - 1), delimiter, first)


_ALPHANUMERIC = b"0-9A-Za-z"


def _quoted(kind: bytes, many: bytes, delimiter: bytes, first: bytes = _ALPHANUMERIC) -> re.Pattern[bytes]:
    """A pattern for a cell in quotes: a character of ``first``, then ``many`` of a kind."""
    mark = re.escape(delimiter)
    return re.compile(
        rb'(?:\A|%s)"(?!%s)[%s](?:(?!%s)%s)%s"(?=%s|\Z)' % (mark, mark, first, mark, kind, many, mark)
    )
