"""Recognises base64 and hex that nothing declares: by lengths, letters, or the text that they decode to.

Also recognises bytes as Python prints them, and numbers that a program has rounded.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole, Dialect
from kcompact.dumps.dialects.printed_objects import kind_of_object, refuse_addresses
from kcompact.dumps.dialects.sampled_values import Row, texts_among, texts_of_headers, values_at
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.encodings import ENCODINGS, without_line_ends
from kcompact.dumps.records.shown import by_jq, shown
from kcompact.dumps.text.csv_quoting import Cells
from kcompact.dumps.text.csv_reader import NULL_TEXTS, may_cut_key

_ENOUGH = 16  # bits that must be zero, or characters: by chance in one case of 65,536, or fewer
_LOOKED_AT = 200
_ZERO_BITS = {2: 4, 3: 2}  # of the last character of unpadded base64, by length modulo 4
_PADDED_BITS = 16


def likely_base64(texts: Iterable[str], enough: int = _ENOUGH) -> bool:
    """Whether all of the texts are base64 and it is no accident.

    Either their lengths imply bits that must be zero, which other texts hardly have, or all of them decode to
    printable text. ``enough`` is the number of such bits, or of characters, that is required.
    """
    distinct = {text for text in islice(texts, _LOOKED_AT) if text}
    decoded = _decoded(distinct)
    if decoded is None:
        return False
    if sum(map(_bits_of, distinct)) >= enough:
        return True
    return sum(map(len, distinct)) >= enough and all(map(is_printable, decoded))


def may_be_base64(texts: Iterable[str]) -> bool:
    """Whether there are texts and all are likely base64: sure enough for a note, not for decoding them."""
    distinct = {text for text in islice(texts, _LOOKED_AT) if text}
    decoded = _decoded(distinct)
    if not decoded:
        return False
    return any(_as_a_line(text).endswith(b"=") for text in distinct) or all(map(is_printable, decoded))


def may_be_misread(text: str) -> bool:
    """Whether text, beside others like it, is taken for base64, or for what a program prints of bytes."""
    if _BASE64_LETTERS.fullmatch(text):
        return likely_base64([text], 1)
    return PYTHON_BYTES.fullmatch(text) is not None or kind_of_object(text) != ""


_BASE64_LETTERS = re.compile(r"[A-Za-z0-9+/=\r\n]+")


def doubtful_base64(texts: Iterable[str], enough: int = _ENOUGH) -> bool:
    """Whether there are texts that are all base64, which may be an accident."""
    distinct = {text for text in islice(texts, _LOOKED_AT) if text}
    return bool(distinct) and _decoded(distinct) is not None and not likely_base64(distinct, enough)


def likely_hex(texts: Iterable[str]) -> bool:
    """Whether all of the texts are hex in capitals, and it is no accident, as with decimals of even length.

    Either there are letters among them, or all of them decode to printable text.
    """
    distinct = {text for text in islice(texts, _LOOKED_AT) if text}
    decoded = _decoded(distinct, "hex")
    if decoded is None or any(text != text.upper() for text in distinct):
        return False
    return any(not text.isdecimal() for text in distinct) or all(map(is_printable, decoded))


def _decoded(texts: Iterable[str], encoding: str = "base64") -> list[bytes] | None:
    try:
        return [ENCODINGS[encoding](text.encode("ascii")) for text in texts]
    except ValueError:
        return None


def is_in_threes(text: str) -> bool:
    """Whether base64 is of a multiple of three bytes, so that it has no padding and no bits must be zero."""
    return len(_as_a_line(text)) % 4 == 0


def _as_a_line(text: str) -> bytes:
    return without_line_ends(text.encode("ascii", "replace"))


def _bits_of(text: str) -> int:
    line = _as_a_line(text)
    return _PADDED_BITS if line.endswith(b"=") else _ZERO_BITS.get(len(line) % 4, 0)


def is_printable(data: bytes) -> bool:
    """Whether bytes are UTF-8 without control characters, except line ends and tabs."""
    try:
        return all(character.isprintable() or character in "\t\r\n" for character in data.decode())
    except UnicodeDecodeError:
        return False


def note_on_python_texts(values: Iterable[bytes | None]) -> tuple[str, ...]:
    """A note on columns whose values all look like ``b'...'``, as Python prints bytes.

    ``None`` among them may be null. They are not decoded: as columns can hold real bytes, such text may be
    intended.
    """
    texts = {value.decode("utf-8", "replace") for value in values if value} - {PYTHON_NONE}
    if not texts or not all(map(PYTHON_BYTES.fullmatch, texts)):
        return ()
    as_text = f"values such as {shown(min(texts))}, as Python prints bytes, are taken as text"
    return (f"{as_text}, and so is {PYTHON_NONE}: if it is a null, --tombstone literal:{PYTHON_NONE}",)


def note_on_base64_columns(dialect: Dialect, rows: list[Row]) -> tuple[str, ...]:
    """A note where the keys of a column of text all look like base64, and whether the values do so, too."""
    places = (str(dialect.key.place), dialect.value.place or "")
    keys, values = (list(texts_among(row.get(place) for row in rows)) for place in places)
    if dialect.byte_exact or not all(places) or not likely_base64(keys):
        return ()
    data = ENCODINGS["base64"](keys[0].encode())
    likely = f"every key looks like base64, such as {shown(keys[0])} for {shown(data)}"
    as_text = f"{likely}, as do the values: both are" if _decoded(values) else f"{likely}: they are"
    return (f"{as_text} taken as text; decode them first (DuckDB: from_base64(...)) if they are",)


def notes_on_text(
    path: str, dialect: Dialect, cells: list[Cells], delimiter: str, columns: tuple[str, ...]
) -> tuple[str, ...]:
    """Notes on keys and values of text without quotes. Raises InputError for addresses of objects."""
    texts = [[None if cell is None else cell.decode("utf-8", "replace") for cell in row] for row in cells]
    rows: list[Row] = [dict(zip(columns, row, strict=False)) for row in texts]
    notes = note_on_base64_columns(dialect, rows)
    is_before = columns[-2:] == (dialect.key.place, dialect.value.place)
    if is_before and any(may_cut_key(row[-1], delimiter.encode()) for row in cells):
        notes += (f"{delimiter!r} stands in values, too: keys or headers that hold one are cut there",)
    for role in DATA_ROLES:
        of_role = {*texts_among(values_at(rows, dialect.of(role).place))} - {"", PYTHON_NONE}
        refuse_addresses(path, role, of_role)
        if of_role and all(map(PYTHON_BYTES.fullmatch, of_role)):
            notes += (f"{role}s such as {shown(min(of_role))}, as Python prints bytes, are taken as text",)
    return notes


def note_on_base64_values(layout: str, dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on values that all look like base64 beside keys that do not, as Pub/Sub has them.

    Only where nothing tells which tool wrote them, nor how values are encoded.
    """
    values = [value for value in values_at(sample, dialect.value.place) if value not in (None, "")]
    texts = [value for value in values if isinstance(value, str)]
    is_marked = any(dialect.value.marker in row for row in sample)
    is_told = dialect.sure or dialect.value.encoding not in ("text", "json") or is_marked
    if is_told or len(texts) < len(values) or not likely_base64(texts):
        return ()
    if likely_base64(texts_among(values_at(sample, dialect.key.place))):
        return ()  # where both look so, ask_for_base64 speaks of both
    likely = f"values look like base64, such as {shown(texts[0])}, and are taken as text: if they are to be"
    if layout == "csv_lines":
        return (f"{likely} decoded, do so first",)
    program = 'if type == "array" then .[] else . end | .value_encoding = "base64"'
    return (f"{likely} decoded, mark them: {by_jq(program)}",)


def notes_on_printed_bytes(dialect: Dialect, encoded: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Notes on bytes that a program printed; ``encoded`` is the dialect with the encodings of the sample.

    Bytes as Python prints them are decoded by their form alone; those of databases are taken as text.
    """
    of_python = [f"{role}s" for role in DATA_ROLES if encoded.of(role).encoding == "python"]
    if encoded.headers_encoding == "python" and len(of_python) < len(DATA_ROLES):
        of_python.append("headers")
    notes = []
    if of_python:
        nulls = ", and None as null" if encoded.null_literal != dialect.null_literal else ""
        notes = [f"{' and '.join(of_python)} are read as the bytes that Python prints as b'...'{nulls}"]
    printed: dict[tuple[str, str], list[str]] = {}
    for role in DATA_ROLES:
        is_text = encoded.of(role).encoding == "text" and not dialect.byte_exact
        texts = {text for text in texts_among(values_at(sample, dialect.of(role).place)) if text}
        for pattern, *database in _OF_DATABASES if is_text and any(r"\x" in text for text in texts) else ():
            if all(map(pattern.fullmatch, texts)):
                printed.setdefault((database[0], database[1]), []).append(f"{role}s")
                break
    for (bytes_of, function), roles in printed.items():
        text = f"{' and '.join(roles)} look like bytes as {bytes_of}, and are taken as text"
        notes.append(f"{text}: {function} exports keys and values as --dialect plain-base64 reads them")
    return tuple(notes)


_OF_DATABASES = (
    (re.compile(r"\\x(?:[0-9a-f]{2})*"), r"PostgreSQL prints them (\x6b31)", "encode(..., 'base64')"),
    (
        re.compile(r"""(?:[ !#-&(-\[\]-~]|\\x[0-9A-F]{2})+"""),
        r"DuckDB prints them (\x22 for a quote)",
        "to_base64(...)",
    ),
)
"""Bytes as a database prints them: a pattern, a description, and the function that gives base64 instead."""
PYTHON_NONE = "None"
PYTHON_BYTES = re.compile(r"b'.*'|b\".*\"", re.DOTALL)


_ROUNDED = re.compile(
    r"-?\d(?:[.,]\d+)?E\+\d\d\d?"  # of spreadsheets, with a comma in many countries
    r"|-?(?:\d{16,}\.0|\d(?:\.\d+)?e\+(?:1[5-9]|[2-9]\d))"  # of doubles, as Python writes them
    r"|#{3,}|#(?:NAME\?|REF!|VALUE!|NUM!|DIV/0!)|Err:\d{3}"  # too wide for a cell; -abc or =abc as a formula
)


def is_rounded_text(key: Any) -> bool:
    """Whether a cell is a number that a spreadsheet or pandas has rounded, or the mark of an error."""
    return isinstance(key, str) and _ROUNDED.fullmatch(key) is not None


def is_rounded_number(key: Any) -> bool:
    """Whether a JSON number has a fraction or an exponent, and is too large for a double to be exact."""
    return isinstance(key, float) and 2**53 <= abs(key) < 2**64  # from there on, integers become floats, too


def with_encodings(path: str, dialect: Dialect, sample: list[Row], options: ReadOptions) -> Dialect:
    """The dialect with the encodings that it leaves to its tool's users, and the word for null beside these.

    Raises InputError.
    """
    encodings = {role: _encoding_of(path, role, dialect, sample) for role in DATA_ROLES}
    encoded = dialect
    for role, encoding in encodings.items():
        if encoding != dialect.of(role).encoding:
            encoded = encoded.with_data(role, replace(dialect.of(role), encoding=encoding))
    may_be_null = not options.tombstone and dialect.null_literal is None
    # Offsets are texts where ClickHouse writes every column as one, in JSONStringsEachRow.
    offsets = values_at(sample, dialect.offset if may_be_null and dialect.layouts != ("csv_lines",) else None)
    if _all_texts_match(_NUMBER, offsets):
        encoded = replace(encoded, null_literal=_CLICKHOUSE_NULL)
    elif set(encodings.values()) == {"python"} or _has_printed_headers(dialect, sample):
        encoded = replace(encoded, headers_encoding="python")
    if "python" in encodings.values() and may_be_null:
        encoded = replace(encoded, null_literal=PYTHON_NONE)  # as Python writes null beside bytes
    return encoded


def _has_printed_headers(dialect: Dialect, sample: list[Row]) -> bool:
    """Whether header values are bytes as Python prints them, such as by ``json.dumps(..., default=str)``."""
    is_open = dialect.headers_encoding == "text" and not (dialect.sure or dialect.byte_exact)
    return is_open and _all_texts_match(PYTHON_BYTES, texts_of_headers(values_at(sample, dialect.headers)))


def null_seen(dialect: Dialect, encoded: Dialect, sample: list[Row]) -> str | None:
    """The word for null of ``encoded`` where a sampled key or value is that word, else that of ``dialect``.

    Where offsets are texts, ``encoded`` has ClickHouse's word for null, but KafkaJS writes such offsets, too.
    """
    word = encoded.null_literal
    is_seen = any(word in values_at(sample, dialect.of(role).place) for role in DATA_ROLES)
    return word if is_seen else dialect.null_literal


def _encoding_of(path: str, role: DataRole, dialect: Dialect, sample: list[Row]) -> str:
    """The encoding of keys or values, where the dialect leaves it to the tool's user. Raises InputError."""
    declared, place, marker = dialect.of(role).encoding, dialect.of(role).place, dialect.of(role).marker
    if declared != "text":
        return declared
    sample = [row for row in sample if marker is None or not row.get(marker)]
    if not dialect.byte_exact:  # else a producer sent such texts, and they are the bytes that Kafka has
        refuse_addresses(path, role, values_at(sample, place))
        texts = (text for text in texts_among(values_at(sample, place)) if text not in NULL_TEXTS.values())
        if _all_texts_match(PYTHON_BYTES, texts):
            return "python"
    if role == "key" and any(_is_json(key) for key in values_at(sample, place) if not isinstance(key, str)):
        return "json"
    return "text"


def _all_texts_match(pattern: re.Pattern[str], values: Iterable[Any]) -> bool:
    """Whether there is text that is not empty, and all of it matches."""
    texts = texts_among(values)
    first = next(texts, None)
    return first is not None and all(map(pattern.fullmatch, chain([first], texts)))


_CLICKHOUSE_NULL = "\u1d3a\u1d41\u1d38\u1d38"  # NULL in small capitals, which is nobody's data
_NUMBER = re.compile(r"\d+")


def _is_json(key: Any) -> bool:
    """Whether a key is a JSON value, but neither null, nor a string, nor an object that stands for bytes."""
    if isinstance(key, dict):
        if "isPayloadNull" in key:
            return not key["isPayloadNull"] and not isinstance(key.get("payload"), str)
        return not (key.get("type") == "Buffer" and "data" in key)
    return key is not None and not isinstance(key, str)
