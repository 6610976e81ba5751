"""Where results go: ``-o``, ``--overwrite``, ``--report``, ``--no-report``, ``--dry-run``, ``--format``."""

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from kcompact.options.completion import target_names
from kcompact.options.shared_options import AnnotationsOption, OverwriteOption, value_option

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
    overwrite: OverwriteOption = False
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


@dataclass(frozen=True)
class DirtyRatioOutputOptions:
    """Where the report of ``dirty-ratio`` goes, how it looks, and which ratio is too much."""

    output: Annotated[
        str | None,
        value_option(_PANEL, "Where the report goes; - for standard output.", "FILE", "--output", "-o"),
    ] = None
    overwrite: OverwriteOption = False
    report_format: Annotated[
        DirtyRatioFormat, typer.Option("--format", help="How the report is shown.", rich_help_panel=_PANEL)
    ] = DirtyRatioFormat.TEXT
    annotations: AnnotationsOption = None
    fail_above: Annotated[
        float | None,
        value_option(
            _PANEL,
            "Exit with 1 if a log's dirty ratio is above this (without checkpoint: 1.0, never cleaned).",
            "RATIO",
            min=0,
            max=1,
        ),
    ] = None
