"""The histories of keys, for people and programs."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from kcompact.inert import json_document, markdown
from kcompact.inspect.histories import SCHEMA_VERSION, KeyHistory
from kcompact.printable import printable_key, terminal
from kcompact.report.html_page import render, shown
from kcompact.report.inspect.inspection_sections import when
from kcompact.report.table import Foreign, Table, log_cell, markdown_table
from kcompact.report.text_table import print_tables

MOST_ROWS = 200  # of a key


def print_text(histories: Sequence[KeyHistory], console: Console) -> None:
    """Print key after key."""
    for number, history in enumerate(histories):
        if number:
            console.print()
        print_tables([_table(history)], console)
        for text in _texts(history):
            console.print(Text(terminal(text)))


def render_markdown(histories: Sequence[KeyHistory]) -> str:
    """Key after key; what a dump holds is inert."""
    parts = ["# Histories of keys"]
    for history in histories:
        lines = [f"* {markdown(text)}" for text in _texts(history)]
        parts += [markdown_table(_table(history)), "\n".join(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_html(histories: Sequence[KeyHistory]) -> str:
    """A page with a table per key."""
    sections = [(shown([_table(history)]), _texts(history)) for history in histories]
    return render("key_history.html", histories=sections)


def render_json(histories: Sequence[KeyHistory]) -> str:
    """All records of each key."""
    keys = [
        {
            "key": printable_key(history.key),
            "key_base64": b64encode(history.key).decode(),
            "records": [{**asdict(record), "fate": record.fate} for record in history.records],
            "belongs_to": history.belongs_to,
            "remarks": history.remarks,
        }
        for history in histories
    ]
    return json_document({"schema_version": SCHEMA_VERSION, "command": "inspect", "keys": keys})


def _table(history: KeyHistory) -> Table:
    rows = [
        (
            when(record.timestamp_ms),
            log_cell(record.topic, record.partition),
            record.offset,
            "tombstone" if record.is_tombstone else "value",
            record.record_bytes,
            record.fate,
        )
        for record in history.records
    ]
    headers = ("at (UTC)", "log", "offset", "a", "bytes", "a cleaning up to the end")
    text_columns = ("at (UTC)", "log", "a", "a cleaning up to the end")
    title = Foreign(f"key {printable_key(history.key)}")
    return Table.of(title, headers, rows, text_columns).shortened(MOST_ROWS)


def _texts(history: KeyHistory) -> list[str]:
    """In words: the partitions that the key belongs to, and what is odd about its records."""
    places = [
        f"{topic}: {partitioner} puts it into partition {partition}"
        for topic, placed in history.belongs_to.items()
        for partitioner, partition in placed.items()
    ]
    return [*places, *history.remarks]
