"""Options of ``verify``: the question, and the form of the answer."""

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from kcompact.options.shared_options import AnnotationsOption, OverwriteOption, value_option

_PANEL = "Verification"
_OUTPUT = "Output"
EXAMPLES = 3
MOST_ON_A_PAGE = 20
MOST_IN_JSON = 1_000_000  # what a modest machine holds


class VerifyMode(enum.StrEnum):
    """The two comparisons: record by record as a compaction, or only the latest value of every key."""

    COMPACTION = "compaction"
    STATE = "state"


class KeylessRecords(enum.StrEnum):
    """Whether the cleaning dropped records without a key below its end, as a broker does, or kept them."""

    DROP = "drop"
    KEEP = "keep"


class VerifyFormat(enum.StrEnum):
    """How the answer is shown."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    JUNIT = "junit"
    GITHUB = "github"
    CODE_QUALITY = "code-quality"


@dataclass(frozen=True)
class VerifyOptions:
    """The question."""

    mode: Annotated[
        VerifyMode,
        typer.Option(
            help="state: do two dumps hold the same latest live values, whatever their offsets?",
            rich_help_panel=_PANEL,
        ),
    ] = VerifyMode.COMPACTION
    ignore_partitions: Annotated[
        bool,
        typer.Option(
            "--ignore-partitions",
            help="With --mode state: a key may be in another partition.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    absent_keys: Annotated[
        str | None,
        value_option(
            _PANEL, "Evidence that these keys are gone, one a line as text, or as base64:...", "FILE"
        ),
    ] = None
    hash_keys: Annotated[
        bool,
        typer.Option(
            "--hash-keys", help="Show the SHA-256 of keys instead of the keys.", rich_help_panel=_PANEL
        ),
    ] = False
    strict: Annotated[
        bool,
        typer.Option("--strict", help="What was left over is a finding too.", rich_help_panel=_PANEL),
    ] = False
    drop_tombstones: Annotated[
        bool,
        typer.Option(
            "--drop-tombstones",
            help="The compaction may have dropped tombstones at once.",
            rich_help_panel=_PANEL,
        ),
    ] = False

    null_keys: Annotated[
        KeylessRecords,
        typer.Option(
            help="Whether records without a key were to go, as a broker does it.", rich_help_panel=_PANEL
        ),
    ] = KeylessRecords.DROP


@dataclass(frozen=True)
class AnswerOptions:
    """Where the answer goes, and how much of it."""

    answer_format: Annotated[
        VerifyFormat,
        typer.Option("--format", help="How the answer is shown.", rich_help_panel=_OUTPUT),
    ] = VerifyFormat.TEXT
    max_findings: Annotated[
        int | None,
        value_option(
            _OUTPUT,
            "Findings named of each kind and log; all are counted. (default: 3 as text, all in JSON)",
            "N",
            min=0,
        ),
    ] = None
    output: Annotated[
        str | None,
        value_option(
            _OUTPUT, "Write the answer to a file instead of standard output.", "FILE", "--output", "-o"
        ),
    ] = None
    overwrite: OverwriteOption = False
    annotations: AnnotationsOption = None

    @property
    def most_findings(self) -> int:
        """How many findings of each kind and log are named."""
        if self.max_findings is not None:
            return self.max_findings
        by_format = {VerifyFormat.TEXT: EXAMPLES, VerifyFormat.JSON: MOST_IN_JSON}
        return by_format.get(self.answer_format, MOST_ON_A_PAGE)
