"""Tables in Markdown: what a dump holds is inert in them."""

from collections.abc import Sequence

from kcompact.report.inert import markdown, markdown_code
from kcompact.report.table import Foreign, Table


def markdown_table(table: Table, heading: str = "##") -> str:
    """Its title as a heading, the table, the remark; columns that are all zero are left out."""
    table = table.without_zeros()
    rules = ["---" if table.is_text(at) else "---:" for at in range(len(table.headers))]
    rows: list[Sequence[str]] = [table.headers, rules]
    rows += [[_cell(cell) for cell in row] for row in table.rows]
    parts = [f"{heading} {table.title}"] if table.title else []
    parts += ["\n".join(f"| {' | '.join(row)} |" for row in rows)]
    parts += [markdown(table.remark)] if table.remark else []
    return "\n\n".join(parts)


def _cell(cell: str) -> str:
    return markdown_code(cell) if isinstance(cell, Foreign) else markdown(cell)
