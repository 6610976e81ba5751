"""Members that none of a dump's first JSON records had, and that change how a later record is read.

Writers may leave out fields that are zero, false or null. Then the first records, of partition 0, lack the
partition, and a mark of deletes or an encoding of keys only appears with the first record that needs it.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

from kcompact.dumps.dialects.dialect import JSON, Dialect
from kcompact.dumps.dialects.part_names import DELETES, NAMES, marked_deletes
from kcompact.dumps.dialects.paths import NAMES_REMEMBERED, fields_read, path_of
from kcompact.dumps.dialects.unexported import REASONS, not_exported, says_why
from kcompact.dumps.options import PLACES
from kcompact.dumps.records.reading import MISSING
from kcompact.dumps.records.shown import by_jq
from kcompact.errors import UnreadableError

_MARK = "mark"
_NAMES = {
    **{role: NAMES[role] for role in (*PLACES, "value")},
    "key_error": tuple(f"key {reason}" for reason in REASONS),
    "value_error": (*(f"value {reason}" for reason in REASONS), *REASONS),
    "key_marker": ("key encoding",),
    "value_marker": ("value encoding",),
    _MARK: (
        "tombstone",
        "is tombstone",
        "deleted",
        "is deleted",
        "op",
        "operation",
        "row kind",
        "change type",
    ),
}
"""The names of members, in words, by what they stand for: a role, a field beside it, a mark of changes."""


@lru_cache(NAMES_REMEMBERED)
def late_names(
    layout: str, dialect: Dialect, field_names: frozenset[str], *, is_told_value: bool
) -> tuple[tuple[str, str], ...]:
    """Pairs (role, name) of members that no first record had, and that a later record is checked for.

    Rows without an envelope may have members of any name: of these, only names that contain ``kafka`` count.
    Marks of changes count unless the user says which field is the value.
    """
    if layout not in JSON or dialect.listed or dialect.value.place is None:
        return ()
    heads = {name for place in fields_read(dialect) for name in path_of(place)[:1]}
    return tuple(
        (role, name)
        for role, words in _NAMES.items()
        if (not (is_told_value or dialect.reads_values) if role == _MARK else _is_open(dialect, role))
        for name in dict.fromkeys(chain.from_iterable(map(_spellings, words)))
        if "." not in name
        and name not in field_names
        and name not in heads
        and (dialect.value.place or "kafka" in name.lower())
    )


def _is_open(dialect: Dialect, role: str) -> bool:
    """Whether a member may have a role: the dialect has no field for it, or one that a record may lack.

    There may be several fields that give a reason why a key or value is not there.
    """
    markers = {"key_marker": dialect.key.marker, "value_marker": dialect.value.marker}
    place = (dialect.places | dialect.judging | markers)[role]
    return place is None or (role not in PLACES and bool(dialect.value.place))


def _spellings(words: str) -> tuple[str, ...]:
    first, *others = words.split()
    snake = "_".join(map(str.lower, (first, *others)))
    pascal = "".join(word if word.isupper() else word.capitalize() for word in (first, *others))
    return snake, f"_{snake}", f"{pascal[0].lower()}{pascal[1:]}", pascal


def refuse_late(dialect: Dialect, record: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Raise UnreadableError for a member of ``late_names`` that changes how the record would be read.

    ``parts`` are the record's key and value as parsed, or MISSING.
    """
    for role, name in dialect.late_names:
        member = record.get(name)
        if member is None or member is False:
            continue
        part, _, companion = role.partition("_")
        content = parts.get(part)
        if role == "value" and content is MISSING:
            raise UnreadableError(
                f"no value as in the first records, and a {name}, which those lack",
                "another tool's record, most likely: keep the dumps of two tools in separate files",
            )
        if companion == "error" and says_why(member) and content in (None, MISSING):
            raise UnreadableError(*not_exported(name, member, part, is_json=True))
        if role == _MARK and parts["value"] not in (None, MISSING) and str(member).lower() in DELETES:
            raise UnreadableError(*marked_deletes([name], dialect.value.place or ""))
        if role in PLACES or (companion == "marker" and isinstance(content, str)):
            raise _late(name, role if role in PLACES else f"{part}'s encoding", zero=_ZEROS.get(role))


_ZEROS = {"partition": "0", "key_marker": "null", "value_marker": "null"}
"""By role, the JSON of a member that means the same as no member."""


def _late(name: str, meaning: str, *, zero: str | None) -> UnreadableError:
    hint = f"export again with the {meaning} in every record"
    if zero:
        hint += f"; if it is left out where it is {zero}: {by_jq(f'.{name} //= {zero}')}"
    return UnreadableError(f"a {name}, which the first records lack, so nobody knows their {meaning}", hint)
