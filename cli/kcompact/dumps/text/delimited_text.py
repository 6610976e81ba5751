"""Text without a header line or labels: a key and a value with a delimiter between them."""

import re

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.json.json_text import end_of_value, reads_as_json
from kcompact.dumps.text.csv_quoting import QUOTED, BadCsvError, Cells, cells_of, columns_by
from kcompact.dumps.text.csv_reader import first_cells, may_cut_key
from kcompact.errors import InputError

DELIMITERS = ("\t", "^", "|", "::", ":", "#", ";", ",")
_NEARLY_ALL = 0.95
_MOST = 0.9
_BETWEEN_RECORDS = b" \t\r\n\0\x1e"
_NULLS = (None, b"null", b"NULL")
NAME_COLUMNS = "name its columns, and what separates them: --columns NAME,... --delimiter TEXT"
_OFFSETS_KEY = re.compile(rb"\[[^\[\]]+\]")  # of __consumer_offsets: [group,topic,partition]


def key_value_delimiter(lines: list[bytes], option: str | None = None) -> str | None:
    """The delimiter between the key and the value of sampled lines; None if none fits nearly all of them.

    One that the user gave only has to be there. Others have to be confirmed by values that are JSON, or by
    keys of __consumer_offsets; a tab is likely by itself.
    """
    for delimiter in (option,) if option else DELIMITERS:
        pairs = [first_cells(line, delimiter.encode(), 2) for line in lines]
        pairs = [pair for pair in pairs if pair[1:] and pair[0]]
        if len(pairs) >= _NEARLY_ALL * len(lines) and (option or _is_likely(pairs, delimiter)):
            return delimiter
    return None


def _is_likely(pairs: list[Cells], delimiter: str) -> bool:
    if delimiter == "::":
        return all(_OFFSETS_KEY.fullmatch(key or b"") for key, _ in pairs)
    if delimiter == "\t":
        return sum(b"\t" not in (value or b"") for _, value in pairs) >= _MOST * len(pairs)
    json = sum(_is_object(value) for _, value in pairs)
    nulls = sum(value in _NULLS for _, value in pairs)
    is_cut = any(may_cut_key(value, delimiter.encode()) for _, value in pairs)
    return json > 0 and json + nulls >= _MOST * len(pairs) and not is_cut


def tells_by_json(delimiter: str) -> bool:
    """Whether a delimiter is recognised by the JSON that follows it."""
    return delimiter not in {"::", "\t"}


def _is_object(value: bytes | None) -> bool:
    return value is not None and value.lstrip()[:1] in (b"{", b"[") and reads_as_json(value.strip())


def begins_with_key(line: bytes) -> bool:
    """Whether a line that begins like JSON is a key with something after it, not a record of JSON."""
    line = line.rstrip(b"\r\n")
    end = end_of_value(line)
    if end is None:
        return bool(re.match(rb"\[[^\[\]{}\"]+\]::", line))
    remainder = line[end:]
    after = remainder.strip(_BETWEEN_RECORDS)[:1]
    return after != b"" and (remainder.startswith(b"\t") or after not in (b"{", b"[", b",", b"]", b"}", b"%"))


def quoting_in(line: bytes, delimiter: str) -> str | None:
    """The way in which a cell with a delimiter or a quote in it is quoted; None if no cell is."""
    mark = delimiter.encode()
    for quoting, quote in (("rfc4180", b'""'), ("backslash", b'\\"')):
        edge, cell = re.escape(mark), QUOTED[quoting].pattern
        cells = re.findall(rb"(?:\A|%s)%s(?=%s|\Z)" % (edge, cell, edge), line)
        if any(quote in text or mark in text for text in cells):
            return quoting
    return None


def names_columns(line: bytes, delimiter: str, columns: tuple[str, ...]) -> bool:
    """Whether a line holds the columns' names, in quotes or without."""
    try:
        cells = cells_of(line, delimiter.encode())
    except BadCsvError:
        return False
    return [(cell or b"").decode("utf-8", "replace") for cell in cells] == list(columns)


def delimiter_of(header: bytes, lines: list[bytes], signs: str) -> str:
    """The delimiter of a header line: a sign, with blanks that are beside it always, and in most lines."""
    sign = next((sign for sign in signs if sign.encode() in header), ",")
    gaps = header.count(sign.encode())
    for text in (f" {sign} ", f"{sign} ", f" {sign}"):
        if gaps and header.count(text.encode()) == gaps:
            fitting = [line for line in lines if columns_by(line, text.encode(), "rfc4180") == gaps + 1]
            if 2 * len(fitting) > len(lines):
                return text
    return sign


def may_be_csv(lines: list[bytes], delimiter: str, named: Dialect, columns: tuple[str, ...]) -> bool:
    """Whether quotes in sampled lines may be CSV's: they are needed, or unlikely to belong to the data."""
    parts = {named.topic, named.partition, named.offset, named.timestamp}
    places, texts = (
        [at for at, column in enumerate(columns) if column in roles]
        for roles in (parts, {named.key.place, named.value.place})
    )
    rows = [row for line in lines if len(row := line.split(delimiter.encode())) == len(columns)]
    if _are_all_quoted(lines, delimiter, texts) or any(_is_mixed([row[at] for row in rows]) for at in texts):
        return True
    return any(quoting_in(line, delimiter) or _are_quoted(line, delimiter, places) for line in lines)


def _are_quoted(line: bytes, delimiter: str, columns: list[int]) -> bool:
    """Whether a cell in columns of topics, numbers or times is in quotes, which then are CSV's."""
    cells = line.split(delimiter.encode())
    return any(_QUOTED.fullmatch(cells[at]) for at in columns if at < len(cells))


def _are_all_quoted(lines: list[bytes], delimiter: str, columns: list[int]) -> bool:
    """Whether all filled cells of several columns are in quotes, and there are such cells."""
    rows = [line.split(delimiter.encode()) for line in lines]
    cells = [row[at] for row in rows for at in columns if at < len(row) and row[at]]
    return len(columns) > 1 and bool(cells) and all(map(_QUOTED.fullmatch, cells))


def _is_mixed(column: list[bytes]) -> bool:
    """Whether some cells are in quotes, and others neither null nor JSON: then quotes are not JSON's."""
    texts = [cell for cell in column if cell not in (b"", b"\\N", *_NULLS)]
    return any(map(_QUOTED.fullmatch, texts)) and not all(map(reads_as_json, texts))


_QUOTED = re.compile(rb'".*"', re.DOTALL)


def is_glued(line: bytes) -> bool:
    """Whether a line is two JSON values with nothing between them."""
    end = end_of_value(line)
    remainder = b"" if end is None else line[end:]
    return bool(remainder) and not remainder[:1].isspace() and end_of_value(remainder) == len(remainder)


def glued(path: str) -> InputError:
    """The error for a dump with two JSON values in each line, and nothing between them."""
    return InputError(
        f"{path}: two JSON values in every line, and nothing between them, so which is the key is a guess",
        hint="export again with a delimiter: kcat -K '\\t' or -f '%k\\t%s\\n' (with -s avro, too)",
    )
