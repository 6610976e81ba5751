"""Names for the parts of a record where no table knows the tool, and questions where names do not decide."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from kcompact.dumps.dialects.paths import NAMES_REMEMBERED, path_of
from kcompact.dumps.options import PLACES, ReadOptions
from kcompact.dumps.records.shown import fields_option, name_list
from kcompact.errors import InputError

NAMES: dict[str, tuple[str, ...]] = {
    "topic": ("topic", "topic name", "kafka topic", "metadata.topic", "kafka received topic"),
    "partition": (
        *("partition", "partition id", "partition ID", "kafka partition", "metadata.partition"),
        *("kafka received partition id", "kafka received partition"),  # Spring's, beside the next ones
    ),
    "offset": ("offset", "kafka offset", "partition offset", "metadata.offset"),  # the third is Trino's
    "timestamp": (
        # A program's own time may lie beside Kafka's: of Spring's message, of the export.
        *("kafka received timestamp", "kafka timestamp ms", "kafka timestamp"),
        "metadata.timestamp millis",  # Pathway's
        *("timestamp ms", "timestamp", "ts", "time"),  # ClickHouse has seconds beside milliseconds
        "metadata.timestamp",
        *("create time", "log append time"),  # as Kafka calls its types, and Snowflake's connector the field
        "kafka ts value",  # dlt's
    ),
    "timestamp_type": ("timestamp type", "ts type"),
    "key": ("key", "kafka key", "message key", "metadata.key", "kafka received message key"),
    "value": ("value", "payload", "message", "content", "kafka value"),
    "headers": ("headers", "header", "kafka headers", "kafka header"),
}
"""Names seen in dumps, as words, which writers join by ``_``, ``-`` or capital letters."""


@lru_cache(NAMES_REMEMBERED)
def plain_name(name: str) -> str:
    """A field's name as ALIASES spell it."""
    return re.sub(r"[-_ #$()\[\]\"]", "", name).lower()


ALIASES = {role: tuple(dict.fromkeys(map(plain_name, names))) for role, names in NAMES.items()}
"""NAMES without case, blanks, brackets, quotes, ``_``, ``-``, ``#``, ``$``, as fields are compared."""


def fields_by_role(names: Iterable[str]) -> dict[str, list[str]]:
    """By role, the fields that may be it: those with its likeliest name that occurs, however spelt."""
    by_plain: dict[str, list[str]] = {}
    for name in names:
        by_plain.setdefault(plain_name(name), []).append(name)
    return {
        role: next((by_plain[alias] for alias in aliases if alias in by_plain), [])
        for role, aliases in ALIASES.items()
    }


def in_rows(names: Sequence[str]) -> dict[str, list[str]]:
    """As ``fields_by_role``, for rows without an envelope, whose own columns may be called ``offset``.

    Only names that contain ``kafka`` count: ``_kafka_offset``, as Connect's InsertField is mostly set to
    write, ``_hoodie_kafka_source_offset``, ``_kafka_metadata.offset``.
    """
    roles = ("topic", "partition", "offset", "timestamp")
    plain_names = {name: plain_name(name) for name in names if "kafka" in plain_name(name)}
    exact = {role: [name for name, plain in plain_names.items() if plain == f"kafka{role}"] for role in roles}
    likely = {role: [name for name, plain in plain_names.items() if plain.endswith(role)] for role in roles}
    return {role: exact.get(role) or likely.get(role, []) for role in ALIASES}


def refuse_likely_places(
    path: str, places: Mapping[str, str | None], names: Collection[str], options: ReadOptions
) -> None:
    """Raise InputError where no field is recognised as the topic, partition or offset, but one may be it.

    ``names`` are fields, as dotted paths where they lie within others. Fields within keys, values and headers
    do not count, except for headers whose names begin with ``kafka``: Spring puts a record's place there.
    """
    headers = path_of(places["headers"])[:1] if places["headers"] else ()
    of_kafka = [
        name
        for name in names
        if headers and path_of(name)[:1] == headers and plain_name(path_of(name)[-1]).startswith("kafka")
    ]
    beside = sorted((*_beside_parts(places, names), *of_kafka))
    objects = {path_of(name)[:-1] for name in beside}
    plain = [name for name in beside if path_of(name) not in objects]
    likely: dict[str, list[str]] = {}
    for role in PLACES:
        if places[role] is None and role not in options.fields:
            called = "partition|shard|^part$" if role == "partition" else role  # Timeplus has shards
            ending = re.compile(rf"(?:{called})(?:id|no|nr|num|number|name|index)?$")
            likely[role] = [name for name in plain if ending.search(_innermost(name))]
    roles = [role for role, names in likely.items() if names]
    if roles:
        named = {role: likely[role][0] for role in roles}
        begin = _innermost(named.get("offset", "")).removesuffix("offset")  # of message_offset, say
        times = [name for name in beside if _innermost(name).removeprefix(begin) in ALIASES["timestamp"]]
        if times and places["timestamp"] is None and "timestamp" not in options.fields:
            named["timestamp"] = times[0]
        absent = ",".join(f"{role}=" for role in roles)
        parts = " or the ".join(roles)
        shown_names = name_list(list(dict.fromkeys(name for role in roles for name in likely[role])))
        raise InputError(
            f"{path}: no field with a known name for the {parts}, but it may be the field {shown_names}",
            hint=f"say so: {fields_option(named)}, or --fields {absent} if there is none",
        )


def refuse_windows(
    path: str, places: Mapping[str, str | None], names: Iterable[str], options: ReadOptions
) -> None:
    """Raise InputError for windows beside the keys, as ksqlDB shows them: in Kafka they are part of a key.

    Without the window, the records of one window would supersede those of another.
    """
    key = places["key"]
    windows = [name for name in _beside_parts(places, names) if _WINDOW.fullmatch(_innermost(name))]
    if not windows or key is None or "key" in options.fields or options.key_fields:
        return
    raise InputError(
        f"{path}: the key may be the field {name_list([key])} alone, or with {name_list(windows)}, as the"
        " windows of a stream are a part of its keys",
        hint=f"say so with {fields_option({'key': key})} if it is the key alone; else join them into"
        " one field first",
    )


_WINDOW = re.compile(r"window(?:start|end)?(?:ms|ts|time|timestamp)?")


def refuse_marks(path: str, names: Iterable[str], value: str | None, options: ReadOptions) -> None:
    """Raise InputError for fields beside a value that tell which records are deletes, as in changelogs.

    If these were read as ordinary records, the rows that they delete would stay.
    """
    names = [*names]
    if names and value and "value" not in options.fields and not options.key_fields and options.cdc is None:
        message, hint = marked_deletes(names, value)
        raise InputError(f"{path}: {message}", hint=hint)


def marked_deletes(names: list[str], value: str) -> tuple[str, str]:
    """Message and hint for fields (``names``) beside the field ``value`` that may mark deletes."""
    message = (
        f"records may delete their keys although they have a value, as the field {name_list(names)} says in"
        " changelogs"
    )
    return message, (
        "export each delete with null for its value (Flink: upsert-kafka; Materialize: ENVELOPE UPSERT;"
        " RisingWave: FORMAT UPSERT), or set it to null in the dump; if these are records as others are:"
        f" {fields_option({'value': value})}"
    )


def marks_beside(places: Mapping[str, str | None], names: Iterable[str], *, flags: bool = False) -> list[str]:
    """The fields, outside of keys, values and headers, whose names are those of marks of changes.

    With ``flags``, also fields that may say by true or false whether a record is a delete.
    """
    pattern = _MARK_OR_FLAG if flags else _MARK
    return [name for name in _beside_parts(places, names) if pattern.fullmatch(_innermost(name))]


_MARK = re.compile(
    r"(?:rw|hoodie)?op(?:eration)?(?:type)?|(?:change|row)(?:op|type|kind)|(?:mz)?diff|metadataaction"
)
_MARK_OR_FLAG = re.compile(
    f"{_MARK.pattern}|"
    r"(?:is|kafka\.?)?(?:tombstone|deleted?)(?:message)?"
    r"|(?:is)?(?:(?:value|payload|message)(?:is)?)?null(?:value|payload|message)?"
)
DELETES = {"true", "-d", "-u", "-1", "d", "delete", "deleted", "remove"} | {
    *("updatedelete", "update_delete", "update_before", "update_preimage")
}
"""Marks of records that delete their key, in small letters."""
FLAGS_SET = {"true", "t", "1", "yes", "y"}
"""Flags that are set, in small letters: PostgreSQL's tables have t, MySQL's and SQLite's 1."""


def _beside_parts(places: Mapping[str, str | None], names: Iterable[str]) -> list[str]:
    """The fields that are not within keys, values and headers, in the order of their names.

    An object around the key alone, or the value alone, counts as a part of it.
    """
    paths = {role: path_of(place) for role in ("key", "value", "headers") if (place := places[role])}
    around_both = {path[:-1] for role, path in paths.items() if role != "headers"}
    depth = len(*around_both) + 1 if len(around_both) == 1 and {"key", "value"} <= paths.keys() else 1
    own = {path[:depth] for path in paths.values()}
    return sorted(name for name in names if path_of(name)[:depth] not in own)


def _innermost(dotted: str) -> str:
    """The last name on a path, as ALIASES spell it."""
    names = [*filter(None, path_of(dotted))]  # of a column ``Partition no.``, too
    return plain_name("".join(names[-1:]))


def refuse_choices(
    path: str, places: Mapping[str, str | None], named: Mapping[str, list[str]], options: ReadOptions
) -> None:
    """Raise InputError where several fields may be a part of a record, and the user does not say which."""
    chosen_roles = {*options.fields, *(("key",) if options.key_fields else ())}
    for role, names in named.items():
        if len(names) > 1 and places[role] and role not in chosen_roles:
            raise InputError(
                f"{path}: the {role} may be the field {name_list(names)}",
                hint=f"say which of them it is with --fields {role}=FIELD",
            )


def refuse_rows_of_kafka(
    path: str, places: Mapping[str, str | None], names: Iterable[str], options: ReadOptions
) -> None:
    """Raise InputError for rows with a partition and an offset, which are most likely those in Kafka.

    They may also lie in an object of the row (``meta`` of Wikimedia's events, ``redpanda`` in Redpanda's
    tables), or have names that begin alike (``message_partition`` of Singer's tap, ``__metadata$partition``
    of Pinot).
    """
    if {*PLACES} & options.fields.keys() or any(places[role] for role in PLACES):
        return
    members: dict[str, dict[str, str]] = {}
    for name in sorted(names):
        parent, _, last = name.rpartition(".")
        members.setdefault(parent, {})[plain_name(last)] = name
    for paths in members.values():
        begins = {name.removesuffix("offset") for name in paths if name.endswith("offset")}
        for begin in sorted({"", *begins}):
            alike = {name.removeprefix(begin): path for name, path in paths.items() if name.startswith(begin)}
            by_role = fields_by_role(alike)
            if by_role["partition"] and by_role["offset"]:
                fields = {role: alike[known[0]] for role, known in by_role.items() if known}
                raise _may_be_of_kafka(path, fields)


def _may_be_of_kafka(path: str, fields: Mapping[str, str]) -> InputError:
    named = {role: fields[role] for role in (*PLACES, "timestamp") if role in fields}
    places = [role for role in named if role in PLACES]
    return InputError(
        f"{path}: rows with {_together(places)}: are these the places of the records in Kafka?",
        hint=f"say so: {fields_option(named)}, or --fields topic=,partition=,offset= if they are other"
        " data of the rows; their order in the file counts then",
    )


def _together(roles: Sequence[str]) -> str:
    *others, last = (f"an {role}" if role == "offset" else f"a {role}" for role in roles)
    return f"{', '.join(others)} and {last}"


def notes_on_names(places: Mapping[str, str | None], names: Iterable[str]) -> tuple[str, ...]:
    """A note on fields that may be the offset, topic or partition, but are not read as such."""
    if places["offset"] is not None:
        return ()
    names = sorted(name for name in names if "." not in name)
    likely = {"offset": [name for name in names if "offset" in name.lower()]}
    if not places["value"]:  # a whole row is the value, and its own columns may have these names
        by_role = fields_by_role(names)
        by_role["offset"] = by_role["offset"] or likely["offset"]
        likely = {role: by_role[role] for role in ("topic", "partition", "offset") if places[role] is None}
    fields = {role: names[0] for role, names in likely.items() if names}
    if not fields:
        return ()
    parts = " or ".join(f"the {role}" for role in fields)
    shown_names = name_list([name for names in likely.values() for name in names])
    note = f"the field {shown_names} is not taken for {parts} of the record in Kafka: if it is"
    return (f"{note}, {fields_option(fields)}",)
