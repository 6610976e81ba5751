"""A table that text, Markdown and HTML all show, before it is rendered for a medium; and its Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from kcompact.inert import markdown, markdown_code


class Foreign(str):
    """Text that comes from the dump: a rendering has to make it inert for its medium."""

    __slots__ = ()


Row = Sequence[str | int | None]
"""Texts and numbers; None: there is no such number."""

WHERE_ALL = "--format json has all"
"""Where all rows can be found, for tables that leave some out and name no other place."""


def log_cell(topic: str, partition: int) -> Foreign:
    """The name of a log."""
    return Foreign(f"{topic}-{partition}")


@dataclass(frozen=True)
class Table:
    """A title, and rows of cells below headers. Columns not named in ``texts`` hold numbers."""

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: frozenset[str]
    remark: str = ""  # below the table
    has_total: bool = False  # in the last row

    @classmethod
    def of(
        cls,
        title: str,
        headers: tuple[str, ...],
        rows: Iterable[Row],
        text_columns: Iterable[str] = ("log",),
        *,
        has_total: bool = False,
    ) -> Self:
        """A table from rows of values; numbers are written with commas."""
        cells = [tuple(map(_cell, row)) for row in rows]
        return cls(title, headers, cells, frozenset(text_columns), has_total=has_total)

    def is_text(self, column: int) -> bool:
        """Whether a column holds texts, which are aligned to the left."""
        return self.headers[column] in self.texts

    def columns(self, columns: Sequence[int]) -> Self:
        """The table with these columns only."""
        rows = [tuple(row[at] for at in columns) for row in self.rows]
        return replace(self, headers=tuple(self.headers[at] for at in columns), rows=rows)

    def without_zeros(self) -> Self:
        """The table without columns of numbers that are all zero."""
        columns = [
            at
            for at in range(len(self.headers))
            if self.is_text(at)
            or "offset" in self.headers[at]  # 0 is a place there
            or not self.rows
            or any(row[at] != "0" for row in self.rows)
        ]
        return self.columns(columns)

    def shortened(self, most_rows: int, where_all: str = WHERE_ALL) -> Self:
        """The table with its first rows (and its total); the remark counts the others."""
        hidden = len(self.rows) - self.has_total - most_rows
        if hidden <= 0:
            return self
        remark = f"and {hidden:,} more rows ({where_all})"
        return replace(self, rows=[*self.rows[:most_rows], *self.rows[-1:][: self.has_total]], remark=remark)


def _cell(value: str | int | None) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:,}"


def markdown_table(table: Table) -> str:
    """The title as a heading, the table, and the remark; columns that are all zero are left out."""
    table = table.without_zeros()
    rules = ["---" if table.is_text(at) else "---:" for at in range(len(table.headers))]
    rows: list[Sequence[str]] = [table.headers, rules]
    rows += [[_markdown_cell(cell) for cell in row] for row in table.rows]
    parts = [f"## {_markdown_cell(table.title)}"] if table.title else []
    parts += ["\n".join(f"| {' | '.join(row)} |" for row in rows)]
    parts += [markdown(table.remark)] if table.remark else []
    return "\n\n".join(parts)


def _markdown_cell(cell: str) -> str:
    return markdown_code(cell) if isinstance(cell, Foreign) else markdown(cell)
