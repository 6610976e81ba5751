"""Keys and values that are arrays of small numbers: bytes, as Gson and Rust's serde write them, or JSON."""

from dataclasses import replace
from typing import Any

from kcompact.dumps.detect.doubtful_samples import as_written
from kcompact.dumps.detect.likely_encodings import is_printable
from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole, Dialect
from kcompact.dumps.dialects.part_names import plain_name
from kcompact.dumps.dialects.sampled_values import Row, texts_among, values_at
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.headers import bytes_of_array
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError

_BUFFER = '{"type": "Buffer", "data": [...]}'
_ENOUGH = 16  # numbers that are printable text


def arrays_of_bytes(
    path: str, layout: str, dialect: Dialect, sample: list[Row], options: ReadOptions
) -> tuple[list[DataRole], tuple[str, ...]]:
    """The roles (key, value) whose data are arrays of bytes, and notes.

    Raises InputError where nobody can tell. Values that are arrays beside keys of text count as JSON unless a
    field with their size says otherwise. With a dialect that the user names, all arrays count as JSON.
    """
    arrays = {role: _arrays_of(role, dialect, sample) for role in DATA_ROLES}
    roles = [role for role, lists in arrays.items() if any(lists)]
    if not roles:
        return [], ()
    observed = f"{' and '.join(f'{role}s' for role in roles)} are arrays of numbers"
    if layout in {"avro", "parquet"}:
        return [], (f"{observed}, taken as such: where they are bytes, write columns of bytes first",)
    if options.dialect is not None:
        return [], (f"{observed}, taken as JSON",)
    as_json = f"{as_written(dialect, sample)} takes them as JSON"
    as_bytes = f"where they are bytes, write each as {_BUFFER}, as Node does"
    are_both_text = len(roles) == len(arrays) and any(_are_text(arrays[role]) for role in roles)
    if not are_both_text and not any(_have_sizes(role, arrays[role], sample) for role in roles):
        if "key" not in roles:
            return [], (f"{observed}, taken as JSON; {as_bytes}",)
        example = next(array for array in arrays[roles[0]] if array)
        raise InputError(
            f"{path}: {observed}, such as {shown(example)}: bytes, or JSON?",
            hint=f"{as_json}; {as_bytes}",
        )
    return roles, (f"{observed}, which are read as bytes; {as_json}",)


def with_arrays(dialect: Dialect, roles: list[DataRole]) -> Dialect:
    """The dialect with these roles read as arrays of bytes.

    An empty array is an empty key or value, whatever an empty text means in this dialect.
    """
    for role in roles:
        part = dialect.of(role)
        nulls, doubtful = part.nulls - {"empty"}, part.doubtful - {"empty"}
        part = replace(part, encoding="numbers", nulls=nulls, doubtful=doubtful)
        dialect = dialect.with_data(role, part)
    return replace(dialect, byte_exact=True) if "key" in roles else dialect


def _arrays_of(role: DataRole, dialect: Dialect, sample: list[Row]) -> list[list[int]]:
    """All keys or values that are not null, if each is an array of bytes; else an empty list."""
    part = dialect.of(role)
    if part.encoding != "text" or not part.place:
        return []
    values = [value for value in values_at(sample, part.place) if value is not None]
    return values if all(_decoded(value) is not None for value in values) else []


def _decoded(value: Any) -> bytes | None:
    try:
        return bytes_of_array(value)
    except ValueError:
        return None


def _are_text(arrays: list[list[int]]) -> bool:
    """Whether the bytes are printable text. Percentages may be, too, but are hardly keys and values."""
    return sum(map(len, arrays)) >= _ENOUGH and all(is_printable(_decoded(array) or b"") for array in arrays)


def _have_sizes(role: str, arrays: list[list[int]], sample: list[Row]) -> bool:
    """Whether arrays have the lengths that fields such as ``serialized_key_size`` of a client give."""
    names = {name for row in sample for name in row if plain_name(name) == f"serialized{role}size"}
    sizes = [row[name] for row in sample for name in names if row.get(name, -1) != -1]
    return bool(sizes) and sizes == list(map(len, arrays))


def note_on_lost_bytes(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on values or headers with U+FFFD, which most likely stands for bytes that were lost.

    Keys with it get a remark (``remarks.py``), or are refused (``note_checks.py``).
    """
    texts = values_at(sample, dialect.value.place) if dialect.value.encoding == "text" else ()
    headers = map(str, values_at(sample, dialect.headers))
    parts = {"values": texts_among(texts), "headers": headers}
    lossy = [name for name, contents in parts.items() if any("\ufffd" in text for text in contents)]
    return (f"{' and '.join(lossy)} {_LOST}",) if lossy else ()


_LOST = (
    "of the first records have U+FFFD, which stands for bytes that were lost when the dump was written, or"
    " rewritten by a tool such as jq, unless it was sent: export what is no text without loss (kcat -J, or"
    " base64)"
)


def note_on_numbers(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Notes on keys that may have lost digits: numbers beside texts, and large numbers that end in zeros."""
    keys = [*values_at(sample, dialect.key.place)]
    kinds = {type(key) for key in keys}
    is_open = dialect.key.encoding == "json" and not dialect.sure
    mixed = (_NUMBERS,) if is_open and str in kinds and kinds & {int, float} else ()
    is_text = dialect.layouts == ("csv_lines",) and dialect.key.encoding == "text"
    return mixed + _note_on_zeros({str(key) for key in keys if is_text or type(key) is int})


_NUMBERS = (
    "keys of the first records are numbers beside texts: if a tool made numbers of texts that look like some"
    " (PHP's JSON_NUMERIC_CHECK), 007 and 7 are one key here: export keys as text"
)


def _note_on_zeros(texts: set[str]) -> tuple[str, ...]:
    """A note on whole numbers if all have zeros behind the digits that a spreadsheet or double keeps."""
    large = sorted(text for text in texts if len(text) > _KEPT_BY_SPREADSHEETS and text.isdecimal())
    ends = [
        text[_KEPT_BY_DOUBLES if len(text) > _KEPT_BY_DOUBLES else _KEPT_BY_SPREADSHEETS :] for text in large
    ]
    if any(end.strip("0") for end in ends) or sum(map(len, ends)) < _TOO_MANY_FOR_CHANCE:
        return ()
    return (f"keys of the first records with more than 15 digits, such as {large[0]}, {_ROUNDED}",)


_KEPT_BY_SPREADSHEETS, _KEPT_BY_DOUBLES = 15, 17
_TOO_MANY_FOR_CHANCE = 2
_ROUNDED = (
    "all end in zeros: if a spreadsheet or JavaScript saved them (Node, jq before 1.7), they were rounded,"
    " and different keys look alike: take the file as it was exported"
)
