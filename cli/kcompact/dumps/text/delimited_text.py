"""Text without a header line or labels: a key and a value by the delimiter between them."""

import re
from collections import Counter

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.json.json_text import end_of_value, reads_as_json
from kcompact.dumps.records.shown import delimiter_option
from kcompact.dumps.text.csv_quoting import QUOTED, BadCsvError, Cells, cells_of, columns_by
from kcompact.dumps.text.csv_reader import first_cells, may_cut_key
from kcompact.errors import InputError

DELIMITERS = ("\t", "^", "|", "::", ":", "#", ";", ",")
_NEARLY_ALL = 0.95
_MOST = 0.9
_BETWEEN_RECORDS = b" \t\r\n\0\x1e"
_NULLS = (None, b"null", b"NULL")
_JSON_BEHIND = re.compile(rb"(?P<key>)(?P<sign>[!-/:-@^`|~ \t]+)(?P<value>[{\[].*|null)", re.DOTALL)
_KEY_AND_JSON = re.compile(_JSON_BEHIND.pattern.replace(b"<key>", rb"<key>[^{\[]*?\w"), re.DOTALL)
_OFFSETS_KEY = re.compile(rb"\[[^\[\]]+\]")  # of __consumer_offsets: [group,topic,partition]


def key_value_delimiter(lines: list[bytes], option: str | None = None) -> str | None:
    """The delimiter of sampled lines of a key and a value each; None if none fits nearly all of them.

    One that the user gave need only be there; others have to show by keys or values that are JSON, or by
    a tab.
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


def columns_to_type(lines: list[bytes]) -> str:
    """Options that may fit such text, for a message: a delimiter that every line has as often as most do."""
    before_json = _before_json(lines)
    if before_json is not None:
        return f"--columns key,value {delimiter_option(before_json)}"
    for sign in ("\t", "=>", "->", "::", "||", "|", ";", "^", "~", "#", ",", ":"):
        delimiter = sign if sign == "\t" else _with_blanks(sign, lines)
        if delimiter is None:
            continue
        quoting = next(filter(None, (quoting_in(line, delimiter) for line in lines)), "none")
        try:
            rows = [cells_of(line, delimiter.encode(), quoting) for line in lines]
        except BadCsvError:
            continue
        [(width, _)] = Counter(map(len, rows)).most_common(1) or [(1, 0)]
        is_likely = 1 < width <= min(map(len, rows)) and width <= _MOST_COLUMNS
        names = _names_for(width, rows) if is_likely and not _is_part_of_run(sign, lines) else None
        if names is not None:
            return f"{_DIALECTS[quoting]}--columns {names} {delimiter_option(delimiter)}"
    return "--columns NAME,... --delimiter TEXT"


def _before_json(lines: list[bytes]) -> str | None:
    """The signs between a key and the JSON that all lines end with; None if there are none, or others."""
    texts: set[bytes] = set()
    for line in lines:
        key_end = _json_end(line)
        match = _KEY_AND_JSON.fullmatch(line) if key_end is None else _JSON_BEHIND.fullmatch(line, key_end)
        if match is None or match["sign"] in match["key"] or not reads_as_json(match["value"]):
            return None
        texts.add(match["sign"])
    return texts.pop().decode() if len(texts) == 1 else None


def _json_end(line: bytes) -> int | None:
    """The end of the key that a line begins with, where that is JSON: a delimiter follows it."""
    return end_of_value(line) if line[:1] in (b"{", b"[", b'"') else None


def _with_blanks(sign: str, lines: list[bytes]) -> str | None:
    """The sign with the blanks beside it in every line, which would else be a part of keys and values.

    None where the first sign of some lines has them, and a later one of others: a key may hold the sign.
    """
    code = sign.encode()
    starts = [_json_end(line) or 0 for line in lines]
    for text in (b" %s " % code, b"%s " % code, b" %s" % code):
        pairs = list(zip(lines, starts, strict=True))
        first = [0 <= line.find(text, at) == line.find(code, at) - text.index(code) for line, at in pairs]
        if all(first):
            return text.decode()
        if any(first) and all(text in line[at:] for line, at in pairs):
            return None
    return sign


def _is_part_of_run(delimiter: str, lines: list[bytes]) -> bool:
    """Whether a delimiter of two equal signs may be an empty cell between two of one sign."""
    sign = delimiter[:1].encode()
    return len(delimiter) > 1 and any(
        line.count(sign) > len(delimiter) * line.count(delimiter.encode()) for line in lines
    )


def _names_for(width: int, rows: list[Cells]) -> str | None:
    """Names for so many columns: those that fit, or places for them; None where two are no key and value."""
    known = _COLUMNS.get(width, ())
    likely = next((names for names in known if _fits(names.split(","), rows)), None)
    return likely if likely or _KEY_VALUE in known else ",".join(["NAME"] * width)


def _fits(names: list[str], rows: list[Cells]) -> bool:
    """Whether rows hold what names say: numbers, a time, a topic, keys some of which come again."""
    if names == _KEY_VALUE.split(","):
        return _are_keys([row[0] or b"" for row in rows])
    places = [names.index(name) for name in ("topic", "partition", "offset") if name in names]
    if len({tuple(row[place] for place in places) for row in rows}) < len(rows):
        return False  # no log has an offset twice
    return all(
        _KINDS[name].fullmatch(row[place] or b"")
        for row in rows
        for place, name in enumerate(names)
        if name in _KINDS
    )


def _are_keys(texts: list[bytes]) -> bool:
    """Whether the first columns of rows may be keys.

    One text alone is a word that begins every line; where none comes twice, an offset or a time is in it; and
    where a bracket is open, a delimiter was taken that is part of something else.
    """
    distinct = len(set(texts))
    is_word = distinct == 1 < len(texts)
    holds_number = distinct == len(texts) >= _ENOUGH_ROWS
    are_closed = all(
        text.count(b"[") == text.count(b"]") and text.count(b"{") == text.count(b"}") for text in texts
    )
    return not is_word and not holds_number and are_closed


def quoting_in(line: bytes, delimiter: str) -> str | None:
    """How a cell is quoted that has to be, as a delimiter or a quote is in it; None if none is."""
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
    """The sign that divides a header line, with the blanks beside it always, and in most lines."""
    sign = next((sign for sign in signs if sign.encode() in header), ",")
    gaps = header.count(sign.encode())
    for text in (f" {sign} ", f"{sign} ", f" {sign}"):
        if gaps and header.count(text.encode()) == gaps:
            fitting = [line for line in lines if columns_by(line, text.encode(), "rfc4180") == gaps + 1]
            if 2 * len(fitting) > len(lines):
                return text
    return sign


def may_be_csv(lines: list[bytes], delimiter: str, named: Dialect, columns: tuple[str, ...]) -> bool:
    """Whether quotes in sampled lines may be CSV's: where they are needed, or hardly belong to the data."""
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
    """Whether a cell of columns that hold topics, numbers and times is in quotes, which are CSV's then."""
    cells = line.split(delimiter.encode())
    return any(_QUOTED.fullmatch(cells[at]) for at in columns if at < len(cells))


def _are_all_quoted(lines: list[bytes], delimiter: str, columns: list[int]) -> bool:
    """Whether all cells of columns that hold something, and some do, are in quotes."""
    rows = [line.split(delimiter.encode()) for line in lines]
    cells = [row[at] for row in rows for at in columns if at < len(row) and row[at]]
    return len(columns) > 1 and bool(cells) and all(map(_QUOTED.fullmatch, cells))


def _is_mixed(column: list[bytes]) -> bool:
    """Whether some cells are in quotes, and others neither null nor JSON, so that quotes are not JSON's."""
    texts = [cell for cell in column if cell not in (b"", b"\\N", *_NULLS)]
    return any(map(_QUOTED.fullmatch, texts)) and not all(map(reads_as_json, texts))


_QUOTED = re.compile(rb'".*"', re.DOTALL)


_MOST_COLUMNS = 12  # that are worth writing out
_DIALECTS = {"none": "", "rfc4180": "--dialect csv ", "backslash": "--dialect spark-csv "}
_KEY_VALUE = "key,value"
_COLUMNS = {
    2: (_KEY_VALUE,),
    3: ("offset,key,value",),
    4: ("partition,offset,key,value",),
    5: ("topic,partition,offset,key,value", "partition,offset,timestamp,key,value"),
    6: ("topic,partition,offset,timestamp,key,value",),
}
_KINDS = {
    "topic": re.compile(rb"(?![0-9]+\Z)[\w.-]++"),
    "partition": re.compile(rb"[0-9]{1,6}"),
    "offset": re.compile(rb"[0-9]{1,11}"),  # with 12 digits or more it may be a time
    "timestamp": re.compile(rb"-?[0-9]{1,19}"),
}
_ENOUGH_ROWS = 10  # of a dump in which some key comes twice


def is_glued(line: bytes) -> bool:
    """Whether a line is two JSON values with nothing between them."""
    end = end_of_value(line)
    remainder = b"" if end is None else line[end:]
    return bool(remainder) and not remainder[:1].isspace() and end_of_value(remainder) == len(remainder)


def glued(path: str) -> InputError:
    """The error for a dump of such lines."""
    return InputError(
        f"{path}: two JSON values in every line, and nothing between them, so which is the key is a guess",
        hint="export again with a delimiter: kcat -K '\\t' or -f '%k\\t%s\\n' (with -s avro, too)",
    )
