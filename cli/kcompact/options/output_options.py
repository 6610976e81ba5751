"""Where results go: ``-o``, ``--overwrite``, ``--report``, ``--no-report``, ``--dry-run``, ``--format``."""

import enum
from dataclasses import dataclass

from kcompact.options.completion import target_names
from kcompact.options.groups import OptionGroup, annotations_option, flag, option, overwrite_flag


class ReportFormat(enum.StrEnum):
    """How the report of ``compact`` is shown."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    BROKER_LOG = "broker-log"


@dataclass(frozen=True)
class OutputOptions(OptionGroup):
    """Where ``compact`` writes its dump and its report, in which formats."""

    panel = "Output"
    output: str | None = option(
        "Output file, DIR/ for one file per input, or - for standard output.", "PATH", "--output", "-o"
    )
    overwrite: bool = overwrite_flag()
    to: str | None = option(
        "Convert to jsonl, csv, avro, parquet (lossless) or kcat (key TAB value lines for"
        " kcat -P -K -Z); default: by the suffix of -o.",
        "FORMAT",
        autocompletion=target_names,
    )
    report: str | None = option("Report folder. (default: beside the output, .report)", "DIR")
    no_report: bool = flag("Write no report folder.")
    dry_run: bool = flag("Say what would be removed; write nothing.")
    annotations: bool | None = annotations_option()
    report_format: ReportFormat = option(
        "How the report is shown.", None, "--format", default=ReportFormat.TEXT
    )


class AnswerFormat(enum.StrEnum):
    """How the answer of ``inspect`` or ``verify`` is shown."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    GITHUB = "github"
    CODE_QUALITY = "code-quality"


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
class DirtyRatioOutputOptions(OptionGroup):
    """Where the report of ``dirty-ratio`` goes, how it looks, and which ratio is too much."""

    panel = "Output"
    output: str | None = option("Where the report goes; - for standard output.", "FILE", "--output", "-o")
    overwrite: bool = overwrite_flag()
    report_format: DirtyRatioFormat = option(
        "How the report is shown.", None, "--format", default=DirtyRatioFormat.TEXT
    )
    annotations: bool | None = annotations_option()
    fail_above: float | None = option(
        "Exit with 1 if a log's dirty ratio is above this (without checkpoint: 1.0, never cleaned).",
        "RATIO",
        min=0,
        max=1,
    )
