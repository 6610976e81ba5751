"""``--annotations``: whether GitHub is told; the same for every command."""

from typing import Annotated

import typer

AnnotationsOption = Annotated[
    bool | None,
    typer.Option(
        "--annotations/--no-annotations",
        help="GitHub annotations and step summary. (default: under GitHub Actions)",
        rich_help_panel="Output",
        show_default=False,
    ),
]
