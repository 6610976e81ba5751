"""README's table of dumps is the dialect table: a row too few or too many is noticed."""

from pathlib import Path

from kcompact.dumps.describing import DialectRow, dialect_rows
from kcompact.dumps.dialects import dialect_table

README = Path(__file__).parents[2] / "README.md"
ALL_JSON = "JSON lines, JSON objects one after another, JSON array"


def row_of(row: DialectRow) -> str:
    layouts = row.layouts.replace(ALL_JSON, "JSON")
    other = "this text" if row.tombstone.startswith("the word") else "an empty value"
    remark = row.note or (f"a `?`: written for {other} too" if row.tombstone.endswith("?") else "")
    return f"| {row.tool} | {layouts} | `{row.name}` | {row.tombstone} | {row.checked_against} | {remark} |"


def test_readme_lists_every_dialect() -> None:
    table = README.read_text().partition("| written by | layout |")[2].partition("\n\n")[0]
    assert [row_of(row) for row in dialect_rows()] == table.splitlines()[2:]


def test_what_is_said_to_be_checked_against_something_is_a_row_of_the_table() -> None:
    named = {*dialect_table._FILES.split(), *dialect_table._SOURCES.split()}
    assert named <= {row.name for row in dialect_rows()}
