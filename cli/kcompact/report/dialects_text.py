"""``inspect --dialects``: the dialect table, as people read it."""

from collections.abc import Iterable

from rich.console import Console

from kcompact.dumps.dialect import Dialect
from kcompact.report.inspection_sections import Section
from kcompact.report.inspection_text import aligned


def print_dialects(dialects: Iterable[Dialect], console: Console) -> None:
    """One row per dialect: its name for --dialect, what its tombstones look like, who writes it."""
    headers = ("dialect", "layouts", "key", "value", "a tombstone is", "written by")
    rows = [
        (
            dialect.name,
            " ".join(layout.replace("_", "-") for layout in dialect.layouts),
            dialect.key or "-",
            dialect.value or "-",
            "(cannot be compacted)" if dialect.refused else _tombstone(dialect),
            dialect.tool,
        )
        for dialect in dialects
    ]
    for line in aligned(Section("Dialects", headers, rows, len(headers))):
        console.print(line)


def _tombstone(dialect: Dialect) -> str:
    forms = ["null"]
    if dialect.missing_value == "null":
        forms.append("missing")
    if dialect.empty_value == "null":
        forms.append("empty")
    if dialect.null_literal is not None:
        forms.append(f"the text {dialect.null_literal}")
    doubt = sorted(dialect.doubtful_value)
    return ", ".join(forms) + (f" (in doubt: {', '.join(doubt)})" if doubt else "")
