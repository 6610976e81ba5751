"""README's table of dumps is the dialect table: a row too few or too many is noticed."""

from pathlib import Path

from kcompact.dumps.describing import DialectRow, dialect_rows

README = Path(__file__).parents[2] / "README.md"
ALL_JSON = "JSON lines, JSON objects one after another, JSON array"


def row_of(row: DialectRow) -> str:
    layouts = row.layouts.replace(ALL_JSON, "JSON")
    remark = row.note or ("a `?`: written for an empty value too" if row.tombstone.endswith("?") else "")
    return f"| {row.tool} | {layouts} | `{row.name}` | {row.tombstone} | {remark} |"


def test_readme_lists_every_dialect() -> None:
    listed = [line for line in README.read_text().splitlines() if line.startswith("| ") and " | `" in line]
    rows = [row_of(row) for row in dialect_rows()]
    assert [row for row in rows if row not in listed] == []
