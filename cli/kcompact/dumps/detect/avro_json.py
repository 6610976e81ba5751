"""Refuses records in Avro's own JSON, where values that may be null lie in an object: ``{"long": 5}``.

That encoding spells bytes as characters up to U+00FF, and the objects around values are no data.
"""

from collections.abc import Iterable
from typing import Any

from kcompact.dumps.detect.doubtful_samples import as_written
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.part_names import fields_by_role
from kcompact.dumps.dialects.sampled_values import Row
from kcompact.errors import InputError

_NUMBERS = {"int": int, "long": int}
_BYTES = {"bytes": str}
_BRANCHES: dict[str, type | tuple[type, ...]] = {
    **_NUMBERS,
    **_BYTES,
    "string": str,
    "boolean": bool,
    "float": (float, int, str),  # NaN is a text
    "double": (float, int, str),
    "array": list,
    "map": dict,
}


def refuse_avro_json(path: str, dialect: Dialect, sample: list[Row]) -> None:
    """Raise InputError for records in Avro's JSON.

    As a single value may be ``{"string": "x"}`` by chance, records are refused only if all offsets or all
    partitions have that form, if all keys and values have it, or if all values are ``{"bytes": ...}``.
    """
    values = _values_by_role(sample)
    has_no_numbers = any(_all_of(values[role], _NUMBERS) for role in ("offset", "partition"))
    are_branches = all(_all_of(values[role], _BRANCHES) for role in ("key", "value"))
    if not (has_no_numbers or are_branches or _all_of(values["value"], _BYTES)):
        return
    remedy = "give the .avro file itself, which is read as it is"
    raise InputError(
        f"{path}: Avro's own JSON, as avro-tools tojson writes it: objects around values name their types",
        hint=remedy
        if has_no_numbers
        else f"{remedy}; {as_written(dialect, sample)} reads keys and values as JSON, if they are",
    )


def _values_by_role(sample: list[Row]) -> dict[str, list[Any]]:
    """By role, the values other than null of the field whose name is that of the role."""
    places = fields_by_role(dict.fromkeys(name for row in sample for name in row))
    return {
        role: [row[name] for row in sample for name in names[:1] if row.get(name) is not None]
        for role, names in places.items()
    }


def _all_of(values: Iterable[Any], branches: dict[str, Any]) -> bool:
    """Whether there are values, and each is an object of one member: a type's name, and a value of it."""
    are_branches = [_is_branch(value, branches) for value in values]
    return bool(are_branches) and all(are_branches)


def _is_branch(value: Any, branches: dict[str, Any]) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((name, inner),) = value.items()
    return name in branches and isinstance(inner, branches[name])
