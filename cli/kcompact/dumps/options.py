"""The user's options about the input; the same for every command."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReadOptions:
    """Everything that recognition does not find out by itself. Defaults: recognise, take all records."""

    dialect: str | None = None
    fields: dict[str, str] = field(default_factory=dict)  # "key" -> "kafka_key", "value" -> "payload.body"
    key_fields: tuple[str, ...] = ()  # fields of the value that make the key
    cdc: str | None = None  # values are change events of this format: a name in change_events.FORMATS
    tombstone: str | None = None  # "null", "missing", "empty" or "literal:TEXT"
    missing_key: str | None = None  # "null" or "empty"
    columns: tuple[str, ...] = ()  # of text dumps without a header line
    delimiter: str | None = None
    canonical_keys: bool = False
    topics: frozenset[str] = frozenset()  # empty: all
    partitions: tuple[range, ...] = ()  # empty: all
