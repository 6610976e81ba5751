"""Keys and values that are arrays of small numbers: bytes, as Gson and Rust's serde write them, or JSON."""

from typing import Any

from kcompact.dumps.detect.doubtful_samples import as_written
from kcompact.dumps.detect.likely_encodings import is_printable
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.part_names import plain_name
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.dialects.sampled_values import Row, values_at
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.headers import bytes_of_array
from kcompact.dumps.records.shown import by_jq, in_jq, shown
from kcompact.errors import InputError

_ENOUGH = 16  # numbers that are printable text
_SIZES = {"key": "serializedkeysize", "value": "serializedvaluesize"}  # of Kafka's clients


def array_encodings(
    path: str, layout: str, dialect: Dialect, sample: list[Row], options: ReadOptions
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Changes of the dialect where keys or values are arrays of bytes, and notes.

    Raises InputError where nobody can tell. Arrays beside keys of text are JSON unless a size says otherwise;
    with a dialect that the user names, all arrays are.
    """
    arrays = {role: _arrays_of(role, dialect, sample) for role in ("key", "value")}
    roles = [role for role, lists in arrays.items() if any(lists)]
    if not roles:
        return {}, ()
    observed = f"{' and '.join(f'{role}s' for role in roles)} are arrays of numbers"
    if layout in {"avro", "parquet"}:
        return {}, (f"{observed}, taken as such: where they are bytes, write columns of bytes first",)
    if options.dialect is not None:
        return {}, (f"{observed}, taken as JSON",)
    as_json = f"{as_written(dialect, sample)} takes them as JSON"
    as_bytes = f"where they are bytes, mark them as such: {_marking(roles, layout, dialect)}"
    are_both_text = len(roles) == len(arrays) and any(_are_text(arrays[role]) for role in roles)
    if not are_both_text and not any(_have_sizes(role, arrays[role], sample) for role in roles):
        if "key" not in roles:
            return {}, (f"{observed}, taken as JSON; {as_bytes}",)
        example = next(array for array in arrays[roles[0]] if array)
        raise InputError(
            f"{path}: {observed}, such as {shown(example)}: bytes, or JSON?",
            hint=f"{as_json}; {as_bytes}",
        )
    return _changes(dialect, roles), (f"{observed}, which are read as bytes; {as_json}",)


def _changes(dialect: Dialect, roles: list[str]) -> dict[str, Any]:
    """An array of nothing is an empty key or value, whatever an empty text is to the dialect's tool."""
    changes: dict[str, Any] = {"byte_exact": dialect.byte_exact or "key" in roles}
    for role in roles:
        changes |= {f"{role}_encoding": "numbers", f"empty_{role}": "empty"}
        changes[f"doubtful_{role}"] = getattr(dialect, f"doubtful_{role}") - {"empty"}
    return changes


def _arrays_of(role: str, dialect: Dialect, sample: list[Row]) -> list[list[int]]:
    """The arrays that all keys or values are; none where one is no array of bytes."""
    place = getattr(dialect, role)
    if getattr(dialect, f"{role}_encoding") != "text" or not place:
        return []
    values = [value for value in values_at(sample, place) if value is not None]
    return values if all(_decoded(value) is not None for value in values) else []


def _decoded(value: Any) -> bytes | None:
    try:
        return bytes_of_array(value)
    except ValueError:
        return None


def _are_text(arrays: list[list[int]]) -> bool:
    """Whether the bytes are printable text. Percentages look so as well, but hardly as keys and values."""
    return sum(map(len, arrays)) >= _ENOUGH and all(is_printable(_decoded(array) or b"") for array in arrays)


def _have_sizes(role: str, arrays: list[list[int]], sample: list[Row]) -> bool:
    """Whether arrays are as long as a client says that the keys or values were."""
    names = {name for row in sample for name in row if plain_name(name) == _SIZES[role]}
    sizes = [row[name] for row in sample for name in names if row.get(name, -1) != -1]
    return bool(sizes) and sizes == list(map(len, arrays))


def _marking(roles: list[str], layout: str, dialect: Dialect) -> str:
    """The command that makes such arrays what Node writes of bytes, which is read as these."""
    array = 'if type == "array" then {type: "Buffer", data: map((. + 256) % 256)} else . end'
    marks = " | ".join(f"{in_jq(path_of(getattr(dialect, role)))} |= ({array})" for role in roles)
    return by_jq(f"map({marks})" if layout == "json_array" else marks)
