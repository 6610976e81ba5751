"""Change events of databases: the row that an event is about, and whether it deletes that row.

The formats are read as their documentation describes them: Debezium's event envelope, its
``ExtractNewRecordState`` transform and its MongoDB connector; MongoDB's change streams; Maxwell's data
format; Canal's FlatMessage.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcompact.dumps.dialects.paths import Path, escaped, path_of
from kcompact.dumps.json.json_text import ParsedJson, compact_json, repeated_member
from kcompact.dumps.records.shown import by_jq, shown
from kcompact.errors import UnreadableError

Member = tuple[ParsedJson | None, Path, Any]
"""A field of a row: the JSON it is in (None: it comes from ``table``), its path there, its parsed value."""

# The program keeps messages without rows: an event that empties a table has to be refused later.
_SPLIT_BARE = "split it into one message for each row first: " + by_jq(
    "if (.data | length) > 1 then range(.data | length) as $i"
    " | .data |= .[$i:$i+1] | .old |= .[$i:$i+1] else . end"
)
_SPLIT_IN_ENVELOPE = (
    "split it into one record for each row first: the same record, with that row alone in the data (and the"
    " old) of the event in its value; keep all other records and the order, and where records have offsets,"
    " number all of them anew, since no two records of a log share one"
)


@dataclass(frozen=True)
class Place:
    """A JSON object in which fields of a row are looked up: the JSON it is in, and its path there."""

    parsed: ParsedJson
    path: Path = ()

    def get(self, dotted: str) -> Member | None:
        """The field of that name, with dots between the names of its path; None if it is not there."""
        value, path = self.row, self.path
        if isinstance(value, dict) and dotted in value:  # a column's name may have dots of its own
            return self.parsed, (*path, dotted), value[dotted]
        for name in path_of(dotted):
            if not isinstance(value, dict) or name not in value:
                return None
            value, path = value[name], (*path, name)
        return self.parsed, path, value

    @property
    def row(self) -> Any:
        """The parsed value at this place; None if there is none."""
        value = self.parsed.value
        for name in self.path:
            value = value.get(name) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True)
class ChangeEvent:
    """One change event.

    * ``places``: the objects in which the row's fields are looked up, in this order.
    * ``table``: names of the row's database, schema and table, by the field names that a key may be made of.
    * ``old``: fields as they were before an update. Where an update changes a row's key, Maxwell and Canal
      write one event; Debezium writes two, but only if it is the key of its own records.
    * ``rows``: the number of rows that the event is about; ``places`` is empty if there are several.
    * ``primary_key``: columns of the table's primary key, where the event tells it.
    """

    is_delete: bool = False
    places: tuple[Place, ...] = ()
    table: Mapping[str, str] = field(default_factory=dict)
    old: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 1
    primary_key: tuple[str, ...] = ()


def debezium(parsed: ParsedJson) -> ChangeEvent:
    """Debezium's envelope, with its schema or without, or the flat row of ``ExtractNewRecordState``."""
    at = _payload(parsed.value)
    event = Place(parsed, at).row
    if not isinstance(event, dict):
        return ChangeEvent()
    op, deleted, flat_op = (_untyped(event.get(name)) for name in ("op", "__deleted", "__op"))
    if op == "t" and "source" in event:  # a truncate has neither "before" nor "after"
        raise _empties_table("op t")
    if "op" not in event or not ("after" in event or "before" in event):
        return ChangeEvent(deleted in ("true", True) or flat_op == "d", (Place(parsed, at),))
    _check_op(op)
    places = tuple(Place(parsed, (*at, name)) for name in ("after", "before"))
    before = _old(event.get("before") if op == "u" else None)
    old = {name: value for name, value in before.items() if value is not None}  # a null may mean "not known"
    return ChangeEvent(op == "d", places, _names_in(event.get("source"), "source."), old)


_OPS_OF_DEBEZIUM = ("c", "r", "u", "d", "m")


def mongo(parsed: ParsedJson) -> ChangeEvent:
    """Debezium's event of MongoDB, whose rows are JSON in a string, or one of MongoDB's change streams."""
    at = _payload(parsed.value)
    event = Place(parsed, at).row
    if not isinstance(event, dict):
        return ChangeEvent()
    if "operationType" in event:
        return _change_stream(parsed, at, event)
    op, *rows = (_untyped(event.get(name)) for name in ("op", "after", "before", "filter"))
    if "op" in event:
        _check_op(op)
    if op == "u" and rows[0] is None:
        raise _only_a_part("publish full documents (capture.mode=change_streams_update_full)")
    parsed_rows = [_row_of_mongo(parsed.encoded(row)) for row in rows if isinstance(row, str)]
    repeated = [name for row in parsed_rows for name in row.twice]
    if repeated:
        raise repeated_member(repeated[0], "the row")
    places = tuple(map(Place, parsed_rows))
    return ChangeEvent(op == "d", places, _names_in(event.get("source"), "source."))


def _row_of_mongo(row: bytes) -> ParsedJson:
    try:
        return ParsedJson(row)
    except ValueError as error:
        raise UnreadableError(
            f"the row of the event is not JSON: {shown(row)}",
            "without --cdc, its records' own keys are taken",
        ) from error


def _change_stream(parsed: ParsedJson, at: Path, event: dict[str, Any]) -> ChangeEvent:
    kind = event["operationType"]
    if kind in {"drop", "dropDatabase", "rename"}:
        raise _empties_table(f"operationType {kind}")
    if kind == "update" and event.get("fullDocument") is None:
        raise _only_a_part("publish full documents (change.stream.full.document=updateLookup)")
    places = tuple(Place(parsed, (*at, name)) for name in ("documentKey", "fullDocument"))
    return ChangeEvent(kind == "delete", places, _names_in(event.get("ns"), "ns."))


def maxwell(parsed: ParsedJson) -> ChangeEvent:
    """Maxwell's event; one about a table, not about a row, has no fields."""
    event = parsed.value if isinstance(parsed.value, dict) else {}
    if event.get("type") in {"table-drop", "database-drop"}:
        raise _empties_table(f"type {event['type']}")
    is_delete, row = event.get("type") == "delete", Place(parsed, ("data",))
    old = _old(event.get("old"))
    return ChangeEvent(is_delete, (row,), _names_in(event, ""), old, primary_key=primary_key_of(event))


def canal(parsed: ParsedJson) -> ChangeEvent:
    """Canal's FlatMessage, whose ``data`` is a list of rows; only an event of one row has places."""
    event = parsed.value if isinstance(parsed.value, dict) else {}
    kind = str(event.get("type", "")).upper()
    if kind in {"TRUNCATE", "ERASE"}:
        raise _empties_table(f"type {kind}")
    rows = event.get("data")
    rows = rows if isinstance(rows, list) and not event.get("isDdl") else []
    if len(rows) > 1:
        return ChangeEvent(rows=len(rows))
    # The row's own JSON, without the brackets of the list.
    places = tuple(Place(ParsedJson(parsed.spelling(("data",))[1:-1])) for _ in rows)
    before = event.get("old")
    old = _old(before[0] if isinstance(before, list) and before else None)
    key = primary_key_of(event)
    return ChangeEvent(kind == "DELETE", places, _names_in(event, ""), old, primary_key=key)


def primary_key_of(event: Any) -> tuple[str, ...]:
    """The columns that an event of Canal or Maxwell says are its table's primary key, where it does."""
    names = (event.get("pkNames") or event.get("primary_key_columns")) if isinstance(event, dict) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _old(row: Any) -> Mapping[str, Any]:
    return row if isinstance(row, dict) else {}


FORMATS: dict[str, Callable[[ParsedJson], ChangeEvent]] = {
    "debezium": debezium,
    "maxwell": maxwell,
    "canal": canal,
    "mongo": mongo,
}
"""Readers by the name in ``--cdc``. They raise UnreadableError for what no compaction by key can express."""


def format_of(value: Any) -> str | None:
    """The name in FORMATS of the change event that a parsed value is; None if it is none."""
    if not isinstance(value, dict):
        return None
    return _format_of_event(value["payload"] if _payload(value) else value)


def _format_of_event(event: dict[str, Any]) -> str | None:
    if {"operationType", "documentKey", "ns"} <= event.keys():
        return "mongo"
    if {"op", "source"} <= event.keys() and {"after", "before"} & event.keys():
        source = event["source"]
        is_mongo = isinstance(source, dict) and source.get("connector") == "mongodb"
        return "mongo" if is_mongo or {"patch", "updateDescription"} & event.keys() else "debezium"
    if "__deleted" in event or {"op", "before", "after"} <= event.keys():
        return "debezium"
    is_of_flink = {*event} == {"data", "type"} and event["type"] in _TYPES_OF_FLINK
    if is_of_flink or {"database", "table", "type", "data"} <= event.keys():
        is_canal = {"isDdl", "pkNames"} & event.keys() or isinstance(event["data"], list)
        return "canal" if is_canal else "maxwell"
    return None


_TYPES_OF_FLINK = ("INSERT", "DELETE", "insert", "delete")
"""Types of the events that Flink writes as canal-json and maxwell-json; they have ``data`` and type alone."""


def text_within(value: Any) -> str | None:
    """The text of an object that is JSON within a JSON text, with a schema or without; None for other values.

    MongoDB's connector writes its events so.
    """
    is_in_schema = isinstance(value, dict) and value.keys() == {"schema", "payload"}
    text = value["payload"] if is_in_schema else value
    return text if isinstance(text, str) and text.startswith("{") else None


def fields_of(value: Any) -> list[str]:
    """The column names of the row that a parsed event is about: candidates for ``--key-field``."""
    name = format_of(value)
    if name is None:
        return []
    try:
        places = FORMATS[name](ParsedJson(compact_json(value, "surrogatepass"))).places
    except (UnreadableError, ValueError):
        return []
    rows = [place.row for place in places if isinstance(place.row, dict)]
    return list(dict.fromkeys(name for row in rows for name in _columns_of(row)))


def _columns_of(row: dict[str, Any]) -> list[str]:
    """The names of a row's columns. Avro's own JSON, which names types, puts the row into a ``Value``."""
    for name, inner in row.items() if len(row) == 1 else ():
        if name.rpartition(".")[2] == "Value" and isinstance(inner, dict):
            return [f"{escaped(name)}.{escaped(column)}" for column in inner]
    return list(row)


def _payload(value: Any) -> Path:
    """The path of the event: ``payload`` if it lies there, beside a schema or a pipeline's own members."""
    inner = value.get("payload") if isinstance(value, dict) else None
    if not isinstance(inner, dict):
        return ()
    is_wrapped = _format_of_event(inner) and not _format_of_event(value)
    return ("payload",) if is_wrapped or value.keys() <= {"schema", "payload"} else ()


def several_rows(count: int, *, is_bare: bool) -> UnreadableError:
    """The error for an event about several rows; ``is_bare``: the file holds events alone, not records."""
    return UnreadableError(
        f"one message about {count} rows, which are {count} keys",
        _SPLIT_BARE if is_bare else _SPLIT_IN_ENVELOPE,
    )


def _names_in(source: Any, prefix: str) -> dict[str, str]:
    """The names of database, schema, table or collection in ``source``, by field name with ``prefix``."""
    if not isinstance(source, dict):
        return {}
    names = ("db", "database", "schema", "table", "collection", "coll")
    values = {name: _untyped(source.get(name)) for name in names}
    return {f"{prefix}{name}": str(value) for name, value in values.items() if value is not None}


def _untyped(value: Any) -> Any:
    """A member's value without the object in which Avro's own JSON wraps it to name its type."""
    is_typed = isinstance(value, dict) and (*value,) in (("string",), ("boolean",))
    return next(iter(value.values())) if is_typed else value


def _empties_table(kind: str) -> UnreadableError:
    return UnreadableError(
        f"an event that empties a whole table ({kind}), which no compaction by key can express",
        "compact what comes before it and what comes after it as two dumps",
    )


def _check_op(op: Any) -> None:
    """Raise UnreadableError for an operation that Debezium does not have."""
    if op not in _OPS_OF_DEBEZIUM:
        raise UnreadableError(
            f"op {shown(op)} is none of Debezium's: nobody can tell whether the event deletes its row",
            "write d where it does, u where it changes one, c where it makes one; or compact without --cdc,"
            " by the records' own keys, as a broker would",
        )


def _only_a_part(remedy: str) -> UnreadableError:
    return UnreadableError(
        "an update that tells only what changed: the record before it of the same key is needed, too",
        f"{remedy}; or compact without --cdc, by the records' own keys, as a broker would",
    )
