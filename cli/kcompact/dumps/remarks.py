"""Remarks for the user on a dump that was read: what was left out, and what was assumed."""

import re
from collections.abc import Iterable
from shlex import quote

from kcompact.counted import counted
from kcompact.dumps.count_names import CountName
from kcompact.dumps.null_texts import notes_on_null_texts
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.text.between_records import UNKNOWN_LINES

_REWRITTEN = (
    "with U+FFFD: used as they are, but if a tool such as jq has rewritten the dump, different keys"
    " may look alike: compact the exporter's own output then"
)
_UNAVAILABLE = (
    "without large columns that did not change (__debezium_unavailable_value): the latest record of a"
    " key does not hold all of its row"
)
_MOVED = "that gave a row another key: the record of the old key stays, as if that row were still there"
_WIDER = (
    "whose primary key has fields that --key-field does not name: rows that differ in these alone supersede"
    " one another"
)
_NAMES_ALONE = (
    "with headers, of which kafka-dump-log prints the names alone: their values are null in what this dump is"
    " converted to"
)
_REPLACED = "with U+FFFD, which kafka-dump-log prints for bytes that are no UTF-8: kcat -J keeps them"
_BLANK = "between records left out: a value that ended in a line end has lost it here (kcat -J would keep it)"
_INVALID = "with isvalid: false: the checksum of a batch does not match, so its keys and values may be wrong"
_TORN = "with bytes at its end that kafka-dump-log could not read: what they held is not in the dump"
_OPEN = "without an end, the last one: if the export was cut off there, the last cell was, too"
_ZONELESS = "without a time zone: read as UTC"
_ODD_TIMES: dict[CountName, str] = {
    "ten_digit_timestamps": "have ten digits: are they seconds? They are read as milliseconds",
    "calendar_dates": "have the form of dates such as 20240131: are they? They are read as milliseconds",
    "calendar_timestamps": "begin with a year: are they dates and times, such as 20240131093000? They are"
    " read as milliseconds",
    "day_numbers": "are small, with a fraction: are they days, as spreadsheets count them? They are read as"
    " seconds",
}
_REMARKS: dict[CountName, tuple[str, str]] = {
    "skipped_noise_lines": ("line", "skipped in which the tool talks about itself (% ...)"),
    "skipped_control_records": ("control record", "(transaction markers) left out"),
    "headers_without_values": ("record", _NAMES_ALONE),
    "invalid_batches": ("line", _INVALID),
    "torn_segments": ("segment", _TORN),
    "replaced_values": ("value", _REPLACED),
    "replacement_keys": ("key", _REWRITTEN),
    "joined_tombstones": ("null value", "without a key, directly after a delete: its tombstone, bound to it"),
    "keys_before": ("record", "without an after: the key is taken from before"),
    "unavailable_values": ("change event", _UNAVAILABLE),
    "moved_rows": ("update", _MOVED),
    "wider_primary_keys": ("change event", _WIDER),
    "scaled_timestamps": ("timestamp", "of 15 digits or more taken for micro- or nanoseconds"),
    "zoneless_timestamps": ("timestamp", _ZONELESS),
    "blank_lines": ("blank line", _BLANK),
    "open_lines": ("line", _OPEN),
    "trailing_null_element": ("null", "after the last record left out"),
}
"""By the name of a count: its unit, and the text that follows the number."""


def remarks_on(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """All remarks on a file."""
    odd_times = [
        f"{file.path}: all timestamps {doubt}"
        for name, doubt in _ODD_TIMES.items()
        if notes.counts.get(name) and notes.counts[name] == notes.counts.get("timestamps")
    ]
    return (
        odd_times
        + _whole_seconds(file, notes)
        + ([f"{file.path}: timestamps {_ZONELESS}"] if file.dialect.is_zoneless else [])
        + [
            f"{file.path}: {counted(notes.counts[name], unit)} {text}"
            for name, (unit, text) in _REMARKS.items()
            if notes.counts.get(name)
        ]
        + _unknown_lines(file, notes)
        + _empty_texts(file, notes, options)
        + _without_tombstones(file, notes, options)
        + notes_on_null_texts(file, notes, options)
    )


def together(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Merge remarks, as (path, text), that differ in nothing but the path and counts into one each."""
    alike: dict[str, list[str]] = {}
    for path, text in texts:
        alike.setdefault(_COUNT.sub("", text.removeprefix(path)), []).append(text)
    return [
        text if not others else f"{text} (likewise in {counted(len(others), 'more file')})"
        for text, *others in alike.values()
    ]


_COUNT = re.compile(r"\b\d[\d,]*\b")


def _whole_seconds(file: DumpFile, notes: SplitNotes) -> list[str]:
    """A remark on seconds without a fraction among others: programs write 1700000000.0 as 1700000000."""
    count = notes.counts.get("ten_digit_timestamps", 0)
    if not count or not notes.counts.get("fractional_seconds"):
        return []
    timestamps = f"{counted(count, 'timestamp')} of ten digits beside seconds with a fraction"
    return [f"{file.path}: {timestamps}: are they seconds, too? They are read as milliseconds"]


def _unknown_lines(file: DumpFile, notes: SplitNotes) -> list[str]:
    """A remark on skipped lines that begin with % like kcat's messages, but are none of those known."""
    count = notes.counts.get(UNKNOWN_LINES, 0)
    if not count:
        return []
    lines = f"{counted(count, 'line')} skipped that begin with % but are no known message of kcat"
    remedy = "if they belong to records, export as JSON lines (kcat -J)"
    return [f"{file.path}: {lines}, such as {notes.examples[UNKNOWN_LINES][0]}: {remedy}"]


def _empty_texts(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """A remark on empty values by a tool that writes a word for null, but can be set to write nothing."""
    dialect, count = file.dialect, notes.counts.get("missing_value", 0)
    is_certain = dialect.null_literal is None or "missing" in dialect.value.nulls or options.tombstone
    if is_certain or not count or notes.counts.get("literal_value"):
        return []
    text = (
        f"{file.path}: {counted(count, 'record')} with nothing as value: read as empty, as"
        f" {dialect.short_tool} writes {dialect.null_literal} for a tombstone; if it was set to write"
        " nothing, --tombstone missing reads them as tombstones"
    )
    return [text]


def _without_tombstones(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """A remark where ``--tombstone`` matches no value, and reads values that are not there as empty ones."""
    count, tombstone = notes.counts.get("missing_value", 0), options.tombstone
    is_meant = tombstone is None or tombstone == "none" or notes.counts.get("literal_value")
    if is_meant or not count or "missing" in file.dialect.value.nulls:
        return []
    read_as = f"read as an empty one by --tombstone {quote(str(tombstone))}"
    records = f"{counted(count, 'record')} with no value, {read_as}"
    return [f"{file.path}: {records}; --tombstone missing takes them as tombstones"]
