"""Change events in a sample: notes on them, and questions about their format, keys and deletes."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import orjson

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.part_names import DELETES, FLAGS_SET, marks_beside, refuse_marks
from kcompact.dumps.dialects.paths import escaped
from kcompact.dumps.dialects.sampled_values import Row, values_at
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.change_events import FORMATS, fields_of, format_of, primary_key_of, text_within
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.shown import key_field_option, name_list
from kcompact.errors import InputError

_LOOKED_AT = 20  # values of a sample
_SHOWN_FIELDS = 12
_NAMES = {"debezium": "Debezium", "maxwell": "Maxwell", "canal": "Canal", "mongo": "MongoDB"}


def check_events(path: str, dialect: Dialect, values: Iterable[Any], options: ReadOptions) -> tuple[str, ...]:
    """Notes on sampled values that are change events. Raises InputError where the user has to say more.

    ``dialect`` is as the table has it; for bare events it names their format.
    """
    looked_at = [value for value in islice(values, _LOOKED_AT) if value is not None]
    events = list(_events(looked_at, dialect.value.encoding))
    name = format_of(events[0]) if events else None
    name = name or (dialect.cdc if dialect.value.place == "" else None)
    if options.cdc is not None and name not in (options.cdc, None):
        raise InputError(
            f"{path}: --cdc {options.cdc}, but the values are change events of {_NAMES[name or '']}",
            hint=f"--cdc {name}",
        )
    is_bare = dialect.value.place == ""
    if is_bare and not options.key_fields and (name or options.cdc):
        name = name or str(options.cdc)
        raise InputError(
            f"{path}: bare change events of {_NAMES[name]}: the keys of the records were not exported",
            hint=_key_hint(name, events),
        )
    if name is None and options.cdc is not None and looked_at:
        return (f"--cdc {options.cdc}: none of the first values is a change event of {_NAMES[options.cdc]}",)
    if name is None or options.cdc is not None:
        return ()
    stays = f"the values are change events of {_NAMES[name]}: a delete stays where no tombstone follows it"
    return (f"{stays}; --cdc {name} counts it as a tombstone",)


def check_delete_flags(
    path: str, dialect: Dialect, sample: list[Row], field_names: Iterable[str], options: ReadOptions
) -> str | None:
    """A flag that may mark later records as deletes, as it is false in all sampled ones; None: no such field.

    Raises InputError where a field beside the values marks sampled records as deletes that have a value
    (without one they are tombstones anyway), and for a field of operations of which none is a delete.
    """
    open_flag = None
    for name in marks_of(dialect, field_names):
        marked = [(str(mark).lower(), row) for row in sample for mark in values_at([row], name)]
        marks = {mark for mark, _ in marked}
        is_flag = marks <= _FLAGS
        if not marks or not (is_flag or marks <= (_DIFFS if name.endswith("diff") else _CHANGES)):
            continue
        deletes = [row for mark, row in marked if mark in (FLAGS_SET if is_flag else DELETES)]
        nulls = (None, "") if "empty" in dialect.value.nulls else (None,)
        values = values_at(deletes, dialect.value.place)
        if not (deletes or is_flag) or any(value not in nulls for value in values):
            refuse_marks(path, [name], dialect.value.place, options)
        elif not deletes:
            open_flag = name
    return None if "value" in options.fields or dialect.reads_values else open_flag


def marks_of(dialect: Dialect, field_names: Iterable[str]) -> list[str]:
    """The fields, beside the parts of a record, whose names say that they may mark deletes."""
    return marks_beside(dialect.places, field_names, flags=True)


_FLAGS = FLAGS_SET | {"false", "f", "0", "no", "n"}
_CHANGES = (
    DELETES
    | {"+i", "+u", "i", "u", "c", "r", "insert", "update", "upsert", "create", "read"}
    | {*("modify", "updateinsert", "update_insert", "update_after", "update_postimage")}
)
_DIFFS = {"1", "-1", "none"}  # Pathway's diff; Materialize's mz_diff, in rows that tell of progress null


def parsed_values(values: Iterable[bytes | None]) -> list[Any]:
    """Sampled values that are JSON, parsed."""
    documents = []
    for value in values:
        with suppress(orjson.JSONDecodeError):
            documents.append(orjson.loads(value or b""))
    return documents


def _key_hint(name: str, events: list[Any]) -> str:
    fields = next(filter(None, map(fields_of, events)), [])
    about = f" (the fields of the first one: {name_list(fields, _SHOWN_FIELDS)})" if fields else ""
    primary_keys = {*map(primary_key_of, events)} - {()}
    key = map(escaped, *primary_keys) if len(primary_keys) == 1 else [_likely_key(fields)]
    return (
        f"say which fields of a row make its key: --cdc {name} {key_field_option(key)},"
        f" or --key-field A,B for a key of several{about}"
    )


def _likely_key(fields: list[str]) -> str:
    by_ending = (field for ending in _ENDINGS_OF_KEYS for field in fields if ending.search(field))
    named = next((field for field in fields if field.lower() in {"id", "_id", "uuid", "guid"}), None)
    return named or next(by_ending, None) or (fields[0] if fields else "FIELD")


_ENDINGS_OF_KEYS = [
    re.compile(rf"(?:^|[^A-Za-z])(?i:{word})$|(?<=[a-z])(?:{word.capitalize()}|{word.upper()})$")
    for word in ("id", "key")
]
"""``id`` and ``key`` as words of their own, not as the ends of ``valid`` or ``paid``, which are no keys."""


def _events(values: Iterable[Any], encoding: str) -> Iterator[Any]:
    """The sampled values that are change events, parsed."""
    for value in values:
        parsed = _parsed(value, encoding) if isinstance(value, str) else value
        if (text := text_within(parsed)) is not None:
            parsed = _parsed(text, "text")
        if format_of(parsed) in FORMATS:
            yield parsed


def _parsed(text: str, encoding: str) -> Any:
    try:
        data = ENCODINGS[encoding](text.encode("utf-8", "surrogateescape"))
        # Checked first, as an exception takes longer.
        return orjson.loads(data) if data.lstrip().startswith((b"{", b'"{')) else None
    except ValueError:
        return None
