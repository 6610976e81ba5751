"""``inspect --dialects``: the dialect table, as people read it."""

from collections.abc import Iterable

from rich.console import Console

from kcompact.dumps.describing import DialectRow
from kcompact.report.table import Table, texts
from kcompact.report.text_table import print_tables


def print_dialects(rows: Iterable[DialectRow], console: Console) -> None:
    """One row per dialect: its name for --dialect, what its tombstones look like, who writes it."""
    headers = ("dialect", "layouts", "key", "value", "a tombstone is", "written by", "remark")
    cells = [
        (row.name, row.layouts, row.key, row.value, row.tombstone, row.tool, row.note or "-") for row in rows
    ]
    print_tables([Table("Dialects", headers, cells, texts(*headers))], console)
