"""``inspect --dialects``: the dialect table, as people read it."""

from collections.abc import Iterable

from rich.console import Console

from kcompact.dumps.describing import DialectRow
from kcompact.report.inspection_sections import Section
from kcompact.report.inspection_text import aligned


def print_dialects(rows: Iterable[DialectRow], console: Console) -> None:
    """One row per dialect: its name for --dialect, what its tombstones look like, who writes it."""
    headers = ("dialect", "layouts", "key", "value", "a tombstone is", "written by", "remark")
    cells = [
        (row.name, row.layouts, row.key, row.value, row.tombstone, row.tool, row.note or "-") for row in rows
    ]
    for line in aligned(Section("Dialects", headers, cells, len(headers))):
        console.print(line)
