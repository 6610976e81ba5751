"""A report as one HTML file: no network, no script, light and dark, inert whatever a dump holds.

Templates are Jinja's. Importing it and compiling them takes a tenth of a second, so ``prepare`` is called
while Java works.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcompact.report.inert import terminal
from kcompact.report.table import Table

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 200  # of a table
_lock = threading.Lock()
PAGES = ("compaction.html", "inspection.html", "dirty_ratio.html", "verification.html", "key_history.html")


def prepare() -> "Environment":
    """Jinja with all templates compiled, once."""
    with _lock:
        return _compiled()


@lru_cache(1)
def _compiled() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for page in PAGES:
        pages.get_template(page)
    return pages


def prepare_soon() -> None:
    """Do it beside what the caller waits for."""
    threading.Thread(target=prepare, name="templates", daemon=True).start()


def render(page: str, **values: Any) -> str:
    """One of PAGES; strings in ``values`` are escaped, and nothing in them hides or turns a line round."""
    return prepare().get_template(page).render(**values)


def shown(tables: Sequence[Table], where_all: str) -> list[Table]:
    """Tables without columns of zeros, cut to what a page can hold; the rest is counted."""
    return [table.without_zeros().shortened(MOST_ROWS, where_all) for table in tables if table.rows]


def _inert(value: Any) -> Any:
    return terminal(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
