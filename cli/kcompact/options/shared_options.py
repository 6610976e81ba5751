"""Parts that the options of several commands share."""

from typing import Annotated, Any

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

OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that exists.", rich_help_panel="Output")
]


def value_option(panel: str, help_text: str, metavar: str, *names: str, **more: Any) -> Any:
    """An option that takes a value; where its default is worth telling, the help text does."""
    return typer.Option(
        *names, help=help_text, metavar=metavar, rich_help_panel=panel, show_default=False, **more
    )
