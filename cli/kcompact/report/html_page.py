"""A report as one HTML file: no network, no script, light and dark, inert whatever a dump holds.

Templates are Jinja's. Importing it and compiling them takes a tenth of a second, so ``prepare`` is called
while Java works.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcompact.printable import terminal
from kcompact.report.table import WHERE_ALL, Table

if TYPE_CHECKING:
    from jinja2 import Environment, Template

MOST_ROWS = 200  # of a table
_SHARED = ("page.html", "style.css", "parts.html")  # what every page is made with
_lock = threading.Lock()


def prepare(page: str) -> "Template":
    """The template of a page, compiled with all that it needs."""
    with _lock:
        pages = _environment()
        for name in _SHARED:
            pages.get_template(name)
        return pages.get_template(page)


@lru_cache(1)
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def prepare_soon(page: str) -> None:
    """Prepare a page in a thread, while the caller goes on to other work."""
    threading.Thread(target=prepare, args=(page,), name="templates", daemon=True).start()


def render(page: str, **values: Any) -> str:
    """A page. Strings in ``values`` are escaped, and nothing in them can hide or reverse text."""
    return prepare(page).render(**values)


def shown(tables: Sequence[Table], where_all: str = WHERE_ALL) -> list[Table]:
    """Tables without columns of zeros, cut to what a page can hold; the rest is counted."""
    return [table.without_zeros().shortened(MOST_ROWS, where_all) for table in tables if table.rows]


def _inert(value: Any) -> Any:
    return terminal(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
