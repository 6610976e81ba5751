"""The options that say how a dump is to be read, where recognition cannot know."""

from dataclasses import dataclass

from kcompact.broker.text_lines import shown
from kcompact.digits import INT_MAX, whole_number
from kcompact.dumps.dialects.dialect import ROLES
from kcompact.dumps.dialects.paths import between_commas
from kcompact.dumps.options import DISPENSABLE, NOTHING_LEFT_OUT, LeftOut, ReadOptions
from kcompact.dumps.records.change_events import FORMATS
from kcompact.errors import InputError
from kcompact.options.completion import dialect_names
from kcompact.options.groups import OptionGroup, flag, option, repeatable


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """ReadOptions as given on the command line, unread."""

    panel = "Reading (default: recognised)"
    topic: list[str] = repeatable("Read only this topic. Repeatable.", "TOPIC")
    partitions: str | None = option("Read only these partitions, such as 0,3-5.", "LIST")
    dialect: str | None = option(
        "Who wrote the dump; kcompact inspect --dialects lists them.", "NAME", autocompletion=dialect_names
    )
    fields: str | None = option(
        r"Which fields are the parts of a record: key=kafka_key,value=payload.body;"
        r" a dot or comma in a name is written \. or \,",
        "PART=FIELD,...",
    )
    key_field: str | None = option(
        "The key is this field of the value, or several fields together: a,b.", "FIELD,..."
    )
    cdc: str | None = option(
        "Values are change events: a delete counts as a tombstone; --key-field names fields of the row.",
        "debezium|maxwell|canal|mongo",
    )
    tombstone: str | None = option(
        "How a tombstone is written; none: no text is a tombstone.", "null|missing|empty|none|literal:TEXT"
    )
    missing_key: str | None = option(
        "What a missing key means: no key (null; so does an empty one where nobody knows how the tool writes"
        " none), or an empty key; text: an empty key, and a word such as null is a key as well.",
        "null|empty|text",
    )
    columns: str | None = option("Names of the columns of text without a header line, in order.", "NAME,...")
    delimiter: str | None = option("What separates columns; \\t for a tab.", "TEXT")
    canonical_keys: bool = flag("Compare keys that are JSON objects, lists or numbers by value.")
    keep_going: bool = flag(
        "Leave out files that cannot be read, and every log that may have records in them;"
        " the exit code is then not 0."
    )

    @property
    def is_of_part(self) -> bool:
        """Whether some logs of the dump may be left out."""
        return bool(self.topic) or self.partitions is not None or self.keep_going


def read_options(options: ReadingOptions, left_out: LeftOut = NOTHING_LEFT_OUT) -> ReadOptions:
    """Parse the options; ``left_out``: logs to leave out, known from an attempt before. Raises InputError."""
    return ReadOptions(
        dialect=options.dialect,
        fields=_fields(options.fields),
        key_fields=_key_fields(options.key_field),
        cdc=_cdc(options.cdc),
        tombstone=options.tombstone,
        missing_key=options.missing_key,
        columns=tuple(name.replace(r"\,", ",") for name in between_commas(options.columns))
        if options.columns
        else (),
        delimiter=None if options.delimiter is None else options.delimiter.replace("\\t", "\t"),
        canonical_keys=options.canonical_keys,
        topics=frozenset(options.topic),
        partitions=_partitions(options.partitions),
        keep_going=options.keep_going,
        left_out=left_out,
    )


def _key_fields(text: str | None) -> tuple[str, ...]:
    names = () if text is None else tuple(between_commas(text))
    if not all(names):
        raise InputError(f"--key-field {text}: a name is empty", hint="as in --key-field tenant,id")
    return names


def _cdc(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise InputError(f"--cdc {name}: no such format", hint=f"one of {', '.join(FORMATS)}")
    return name


def _fields(text: str | None) -> dict[str, str]:
    fields = {}
    for pair in [] if text is None else between_commas(text):
        part, equals, name = pair.partition("=")
        # An empty name: the dump has no such part; of the value: it is the record as a whole.
        may_be_none = part.strip() in {*DISPENSABLE, "value"}
        if not (part.strip() and equals and (name.strip() or may_be_none)):
            raise InputError(
                f"--fields {pair}: not PART=FIELD",
                hint=r"as in --fields key=id,value=payload.body; a comma of a name is '\,'",
            )
        if part.strip() in fields:
            raise InputError(
                f"--fields {text}: {part.strip()} is named twice",
                hint="name one field for each part; keys of several fields of the value are --key-field a,b",
            )
        fields[part.strip()] = name.strip()
    if unknown := fields.keys() - {*ROLES}:
        raise InputError(
            f"--fields {', '.join(sorted(unknown))}: no such part of a record",
            hint=f"parts: {', '.join(ROLES)}",
        )
    return fields


def _partitions(text: str | None) -> tuple[range, ...]:
    partitions: list[range] = []
    for piece in [] if text is None else text.split(","):
        first, dash, last = piece.strip().partition("-")
        low, high = whole_number(first), whole_number(last if dash else first)
        if low is None or high is None or not 0 <= low <= high <= INT_MAX:
            raise InputError(
                f"--partitions {shown(text or '')}: {shown(piece)!r} is no partition",
                hint=f"as in --partitions 0,3-5; they end at {INT_MAX}",
            )
        partitions.append(range(low, high + 1))
    return tuple(partitions)
