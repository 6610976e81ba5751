"""Where results go: ``-o``, ``--overwrite``, ``--report``, ``--no-report``, ``--dry-run``, ``--format``."""

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from kcompact.options.completion import target_names
from kcompact.options.shared_options import AnnotationsOption, value_option

_PANEL = "Output"


@dataclass(frozen=True)
class OutputOptions:
    """Where ``compact`` writes."""

    output: Annotated[
        str | None,
        value_option(
            _PANEL,
            "Output file, DIR/ for one file per input, or - for standard output.",
            "PATH",
            "--output",
            "-o",
        ),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an output that exists.", rich_help_panel=_PANEL)
    ] = False
    to: Annotated[
        str | None,
        value_option(
            _PANEL,
            "Convert to jsonl, csv, avro, parquet (lossless) or kcat (key TAB value lines for"
            " kcat -P -K -Z); default: what the suffix of -o says.",
            "FORMAT",
            "--to",
            autocompletion=target_names,
        ),
    ] = None
    report: Annotated[
        str | None,
        value_option(_PANEL, "Report folder. (default: beside the output, .report)", "DIR"),
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
