"""Dialects of change events whose keys were not exported: bare values, one after another."""

from kcompact.dumps.dialects.dialect import Dialect, fields

_ENVELOPE = frozenset({"key", "Key", "offset", "Offset"})  # of a record, in which an event would be the value


def _events(name: str, tool: str, cdc: str, *signature: str) -> Dialect:
    return Dialect(
        name=name,
        tool=tool,
        signature=frozenset(signature),
        lacking=_ENVELOPE,
        **fields("topic= partition= offset= timestamp= key= headers="),
        value="",
        cdc=cdc,
    )


CHANGE_EVENTS = (
    _events(
        "mongo", "MongoDB's Kafka connector, change streams", "mongo", "operationType", "documentKey", "ns"
    ),
    _events("debezium", "Debezium, values without their schema", "debezium", "before", "after", "op"),
    _events(
        "debezium-schema",
        "Debezium, values with their schema or payload alone",
        "debezium",
        "payload.before",
        "payload.after",
        "payload.op",
    ),
    _events("debezium-rows", "Debezium's ExtractNewRecordState, __deleted", "debezium", "__deleted"),
    _events(
        "debezium-rows-schema",
        "Debezium's ExtractNewRecordState, __deleted, with its schema",
        "debezium",
        "schema",
        "payload.__deleted",
    ),
    _events("canal", "Canal's FlatMessage", "canal", "database", "table", "type", "data", "isDdl"),
    _events("maxwell", "Maxwell", "maxwell", "database", "table", "type", "data", "ts"),
)
"""Read with ``--key-field``; with ``--cdc``, too, deletes count as tombstones. Mongo's may be Debezium's."""
