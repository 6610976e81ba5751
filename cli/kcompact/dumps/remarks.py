"""Remarks on a dump that was read: what was left out of it, or taken for something."""

import shlex

from kcompact.counted import counted
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.text.csv_reader import NULL_TEXTS, NULLS_OF_DATABASES
from kcompact.errors import InputError

_REWRITTEN = (
    "with U+FFFD: taken as they stand, but if a tool such as jq has rewritten the dump, different keys"
    " may look alike: compact the exporter's own output then"
)
_UNAVAILABLE = (
    "without large columns that did not change (__debezium_unavailable_value): the latest record of a"
    " key does not hold all of its row"
)
_MOVED = "that gave a row another key: what stood under the old one stays, as if that row were still there"
_NAMES_ALONE = (
    "with headers, of which kafka-dump-log prints the names alone: their values are null in what this dump is"
    " converted to"
)
_BLANK = "between records left out: a value that ended in a line end has lost it here (kcat -J would keep it)"
_ZONELESS = "without a time zone: read as UTC"
_REMARKS = {
    "skipped_noise_lines": ("line", "skipped in which the tool talks about itself (% ...)"),
    "skipped_control_records": ("control record", "(transaction markers) left out"),
    "headers_without_values": ("record", _NAMES_ALONE),
    "replacement_keys": ("key", _REWRITTEN),
    "joined_tombstones": ("null value", "without a key, directly after a delete: its tombstone, bound to it"),
    "keys_before": ("record", "without an after: the key is taken from before"),
    "unavailable_values": ("change event", _UNAVAILABLE),
    "moved_rows": ("update", _MOVED),
    "scaled_timestamps": ("timestamp", "of 15 digits or more taken for micro- or nanoseconds"),
    "zoneless_timestamps": ("timestamp", _ZONELESS),
    "blank_lines": ("blank line", _BLANK),
    "trailing_null_element": ("null", "after the last record left out"),
}
"""By count: what was counted, and what is to be said about it."""


def remarks_on(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """All remarks on a file."""
    short = notes.counts.get("ten_digit_timestamps", 0)
    seconds = [
        f"{file.path}: all timestamps have ten digits: are they seconds? They are read as milliseconds"
    ]
    return (
        (seconds if short and short == notes.counts.get("timestamps") else [])
        + ([f"{file.path}: timestamps {_ZONELESS}"] if file.dialect.is_zoneless else [])
        + [
            f"{file.path}: {counted(notes.counts[name], unit)} {text}"
            for name, (unit, text) in _REMARKS.items()
            if notes.counts.get(name)
        ]
        + _empty_texts(file, notes, options)
        + _null_texts(file, notes, options)
    )


def _empty_texts(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """Values of no text, by a tool that writes a word for null: a user may have told it to write nothing."""
    dialect, count = file.dialect, notes.counts.get("missing_value", 0)
    is_certain = dialect.null_literal is None or dialect.missing_value == "null" or options.tombstone
    if is_certain or not count or notes.counts.get("literal_value"):
        return []
    text = (
        f"{file.path}: {counted(count, 'record')} with nothing as value: an empty one, as"
        f" {dialect.short_tool} writes {dialect.null_literal} for a tombstone; if it was told to write"
        " nothing, --tombstone missing takes them as such"
    )
    return [text]


def _null_texts(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """Text that is most likely a null, unless the user or a field beside it says what it is."""
    return [
        f"{_null_text(file, role, form, count)}: if it is one, --tombstone {shlex.quote(form)} takes it as"
        " such, in keys and values alike"
        for role, form, count in _likely_nulls(file, notes, options)
    ]


def _likely_nulls(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[tuple[str, str, int]]:
    """Keys and values whose text is most likely a null: role, argument of ``--tombstone`` for it, count."""
    dialect, columns = file.dialect, getattr(file.shape, "columns", ())
    is_answered = options.tombstone is not None and "literal:" not in options.tombstone
    if is_answered:
        return []
    roles = [
        role
        for role, encoding, marker in (
            ("value", dialect.value_encoding, dialect.value_marker),
            ("key", dialect.key_encoding, dialect.key_marker),
        )
        if encoding == "text" and marker not in columns and not (role == "key" and dialect.key_fields)
    ]
    is_beside = dialect.missing_value == "null" and notes.counts.get("missing_value")
    form = "missing,literal" if is_beside else "literal"
    counts = [
        (role, f"{form}:{text}", notes.counts.get(f"{name}_{role}", 0))
        for role in roles
        for name, text in NULL_TEXTS.items()
        if name in NULLS_OF_DATABASES or not is_beside  # who writes nothing for null may mean the word
    ]
    return [(role, form, count) for role, form, count in counts if count]


def refuse_null_texts(
    file: DumpFile, notes: SplitNotes, options: ReadOptions, *, asked: str, depends: str
) -> None:
    """Raise InputError for keys or values (``asked``) that are what databases write for null.

    Not where the user, or what is known of the tool, says which text is one.
    """
    if options.tombstone is not None or file.dialect.null_literal is not None:
        return
    words = [NULL_TEXTS[name] for name in NULLS_OF_DATABASES]
    for role, form, count in _likely_nulls(file, notes, options):
        kind, _, word = form.partition(":")
        if role == asked and word in words and kind == "literal":  # else nothing at all is null beside it
            raise InputError(
                f"{_null_text(file, role, form, count)}, and {depends} depends on whether it is one",
                hint=f"--tombstone {shlex.quote(form)} where it is, in keys and values alike;"
                " --tombstone none where it is text",
            )


def _null_text(file: DumpFile, role: str, form: str, count: int) -> str:
    """That so many keys or values are the text of this argument of ``--tombstone``."""
    text = form.partition(":")[2]
    as_one = ", and all of them count as one key" if role == "key" and count > 1 else ""
    verb = "is" if count == 1 else "are"
    return f"{file.path}: {counted(count, role)} {verb} the text {text}, as which tools write nulls{as_one}"
