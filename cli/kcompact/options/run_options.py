"""How a command runs: ``--master``, ``--driver-memory``, ``--verbose``, ``--quiet``."""

from dataclasses import dataclass
from typing import Annotated

import typer

_PANEL = "Running"


@dataclass(frozen=True)
class RunOptions:
    """The same for every command; the defaults suit one machine."""

    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spark master: local[N], spark://..., sc://... (default: all cores of this machine)",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    driver_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Heap of the JVM, such as 1g. (default: by the size of the input)",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Show Spark's own log on stderr, and name files that cannot be read in parallel.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="No notes, no progress, no text report: only errors, warnings and files.",
            rich_help_panel=_PANEL,
        ),
    ] = False
