"""Where results go: ``-o``, ``--overwrite``, ``--report``, ``--no-report``, ``--dry-run``, ``--format``."""

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from kcompact.options.annotations import AnnotationsOption
from kcompact.options.completion import target_names

_PANEL = "Output"


@dataclass(frozen=True)
class OutputOptions:
    """Where ``compact`` writes."""

    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Output file, DIR/ for one file per input, or - for standard output.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an output that exists.", rich_help_panel=_PANEL)
    ] = False
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Convert to jsonl, csv, avro, parquet (lossless) or kcat (key TAB value lines for"
            " kcat -P -K -Z); default: what the suffix of -o says.",
            rich_help_panel=_PANEL,
            show_default=False,
            autocompletion=target_names,
        ),
    ] = None
    report: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Report folder. (default: beside the output, .report)",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no report folder.", rich_help_panel=_PANEL)
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be removed; write nothing.", rich_help_panel=_PANEL),
    ] = False
    annotations: AnnotationsOption = None


class ReportFormat(enum.StrEnum):
    """How the report of ``compact`` is shown."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    BROKER_LOG = "broker-log"


class DirtyRatioFormat(enum.StrEnum):
    """How the report of ``dirty-ratio`` is shown."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    BROKER_LOG = "broker-log"
    JUNIT = "junit"
    GITHUB = "github"
    CODE_QUALITY = "code-quality"
