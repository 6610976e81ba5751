"""The options that say how a dump is to be read, where recognition cannot know."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from kcompact.broker.text_lines import shown
from kcompact.digits import INT_MAX, whole_number
from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut, ReadOptions
from kcompact.dumps.records.change_events import FORMATS
from kcompact.errors import InputError
from kcompact.options.completion import dialect_names, topic_names
from kcompact.options.shared_options import value_option

_PANEL = "Reading (default: recognised)"


def _reading_option(name: str, help_text: str, metavar: str, complete: Any = None) -> Any:
    return value_option(_PANEL, help_text, metavar, f"--{name}", autocompletion=complete)


@dataclass(frozen=True)
class ReadingOptions:
    """ReadOptions as given on the command line, unread."""

    topic: Annotated[
        list[str], _reading_option("topic", "Read only this topic. Repeatable.", "TOPIC", topic_names)
    ] = field(default_factory=list)
    partitions: Annotated[
        str | None, _reading_option("partitions", "Read only these, such as 0,3-5.", "LIST")
    ] = None
    dialect: Annotated[
        str | None,
        _reading_option(
            "dialect",
            "Who wrote the dump; kcompact inspect --dialects lists them.",
            "NAME",
            dialect_names,
        ),
    ] = None
    fields: Annotated[
        str | None,
        _reading_option(
            "fields",
            r"Where parts of a record stand: key=kafka_key,value=payload.body; \. is a dot of a name.",
            "PART=FIELD,...",
        ),
    ] = None
    key_field: Annotated[
        list[str],
        _reading_option(
            "key-field", "A field of the value that stands for the key, or several: a,b.", "FIELD,..."
        ),
    ] = field(default_factory=list)
    cdc: Annotated[
        str | None,
        _reading_option(
            "cdc",
            "Values are change events: a delete is a tombstone; --key-field is a field of the row.",
            "debezium|maxwell|canal|mongo",
        ),
    ] = None
    tombstone: Annotated[
        str | None,
        _reading_option("tombstone", "What a tombstone looks like.", "null|missing|empty|literal:TEXT"),
    ] = None
    missing_key: Annotated[
        str | None, _reading_option("missing-key", "What a key that is not there is.", "null|empty")
    ] = None
    columns: Annotated[
        str | None,
        _reading_option("columns", "Columns of text without a header line, in order.", "NAME,..."),
    ] = None
    delimiter: Annotated[
        str | None, _reading_option("delimiter", "What stands between columns; \\t for a tab.", "TEXT")
    ] = None
    canonical_keys: Annotated[
        bool,
        typer.Option(
            "--canonical-keys",
            help="Keys that are JSON objects or numbers are equal if their values are, however spelt.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            help="Leave out files that cannot be read, and every log that they may hold records of;"
            " then the exit code is not 0.",
            rich_help_panel=_PANEL,
        ),
    ] = False


def read_options(options: ReadingOptions, left_out: LeftOut = NOTHING_LEFT_OUT) -> ReadOptions:
    """Parse what was given; ``left_out`` is known from an attempt before. Raises InputError."""
    return ReadOptions(
        dialect=options.dialect,
        fields=_fields(options.fields),
        key_fields=_key_fields(options.key_field),
        cdc=_cdc(options.cdc),
        tombstone=options.tombstone,
        missing_key=options.missing_key,
        columns=tuple(name.strip() for name in options.columns.split(",")) if options.columns else (),
        delimiter=None if options.delimiter is None else options.delimiter.replace("\\t", "\t"),
        canonical_keys=options.canonical_keys,
        topics=frozenset(options.topic),
        partitions=_partitions(options.partitions),
        keep_going=options.keep_going,
        left_out=left_out,
    )


def _key_fields(arguments: list[str]) -> tuple[str, ...]:
    if len(arguments) > 1:
        raise InputError(
            f"--key-field is given {len(arguments)} times: {', '.join(arguments)}",
            hint=f"a key of several fields is one option: --key-field {','.join(arguments)}",
        )
    names = tuple(name.strip() for name in arguments[0].split(",")) if arguments else ()
    if not all(names):
        raise InputError(f"--key-field {arguments[0]}: a name is empty", hint="as in --key-field tenant,id")
    return names


def _cdc(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise InputError(f"--cdc {name}: no such format", hint=f"one of {', '.join(FORMATS)}")
    return name


def _fields(text: str | None) -> dict[str, str]:
    fields = {}
    for pair in text.split(",") if text else []:
        part, equals, name = pair.partition("=")
        if not (part.strip() and equals and name.strip()):
            raise InputError(
                f"--fields {pair}: not PART=FIELD", hint="as in --fields key=id,value=payload.body"
            )
        fields[part.strip()] = name.strip()
    return fields


def _partitions(text: str | None) -> tuple[range, ...]:
    partitions: list[range] = []
    for piece in text.split(",") if text else []:
        first, dash, last = piece.strip().partition("-")
        low, high = whole_number(first), whole_number(last if dash else first)
        if low is None or high is None or not 0 <= low <= high <= INT_MAX:
            raise InputError(
                f"--partitions {shown(text or '')}: {shown(piece)!r} is no partition",
                hint=f"as in --partitions 0,3-5; they end at {INT_MAX}",
            )
        partitions.append(range(low, high + 1))
    return tuple(partitions)
