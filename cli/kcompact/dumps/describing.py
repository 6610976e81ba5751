"""Descriptions for ``kcompact inspect``: how files were recognised, and the table of dialects."""

from dataclasses import dataclass

from kcompact.dumps.dialects.dialect import DataField, Dialect
from kcompact.dumps.dialects.dialect_table import DIALECTS, checked_against
from kcompact.dumps.dialects.envelope import AVRO, PARQUET
from kcompact.dumps.dump import Dump
from kcompact.dumps.paired.side_files import CONFLUENT
from kcompact.dumps.records.layout import DumpFile

LAYOUT_WORDS = {
    "json_lines": "JSON lines",
    "json_objects": "JSON objects one after another",
    "json_array": "JSON array",
    "json_wrapper": "JSON object with records",
    "csv_lines": "CSV or text",
    "dump_log": "text of kafka-dump-log",
    "avro": "Avro container",
    "parquet": "Parquet",
    "side_files": "keys and values side by side",
}


def describe(dump: Dump) -> list[str]:
    """How the files were recognised, each way once: layout, container, tool, certainty."""
    return list(dict.fromkeys(map(_recognition, dump.files)))


def _recognition(file: DumpFile) -> str:
    packed = f" in {file.container}" if file.container else ""
    how = "certain" if file.dialect.sure else "by its field names"  # other tools may write such records, too
    return f"{LAYOUT_WORDS[file.layout]}{packed}, {file.dialect.tool} ({how})"


def serial_notes(dump: Dump) -> list[str]:
    """Which files one task reads from beginning to end, however large they are."""
    return [
        f"{file.path}: cannot be read in parallel"
        for file in dump.files
        if not getattr(file.shape, "splittable", True)
    ]


def fields_of(dialect: Dialect) -> dict[str, str]:
    """The places of a dialect's parts, by role (key, value, ...), without roles that have no place."""
    return {role: path or "(whole record)" for role, path in dialect.places.items() if path is not None}


@dataclass(frozen=True)
class DialectRow:
    """One row of ``kcompact inspect --dialects``."""

    name: str
    tool: str
    layouts: str
    key: str
    value: str
    tombstone: str
    note: str
    checked_against: str


def dialect_rows() -> list[DialectRow]:
    """The table of dialects, in the order in which they are tried."""
    schemas = (*AVRO.values(), *PARQUET.values())
    return [_row(dialect) for dialect in (*DIALECTS, *schemas, CONFLUENT)]


def _row(dialect: Dialect) -> DialectRow:
    return DialectRow(
        name=dialect.name,
        tool=dialect.tool,
        layouts=", ".join(LAYOUT_WORDS[layout] for layout in dialect.layouts),
        key=_field(dialect.key),
        value=_field(dialect.value),
        tombstone="-" if dialect.refused else _tombstone(dialect),
        checked_against=checked_against(dialect.name),
        note=f"refused: {dialect.refused}" if dialect.refused else "; ".join(dialect.notes),
    )


def _field(data: DataField) -> str:
    shown = data.place or "-"
    return shown if data.encoding == "text" else f"{shown} ({data.encoding})"


def _tombstone(dialect: Dialect) -> str:
    """How a tombstone is spelt, with a question mark where something else may be spelt the same."""
    value = dialect.value
    if dialect.cdc is not None:
        return "a delete, with --cdc"
    if dialect.null_literal is not None:
        spelt, form = f"the word {dialect.null_literal}", "literal"
    elif "empty" in value.nulls:
        spelt, form = "empty", "empty"
    elif dialect.layouts == ("csv_lines",) or "missing" in value.doubtful:
        spelt, form = "nothing", "missing"
    else:
        spelt, form = "null", "null"
    return spelt + ("?" if form in value.doubtful and value.settled_by is None else "")
