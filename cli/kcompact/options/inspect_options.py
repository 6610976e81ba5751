"""The options of ``inspect`` alone: its output, and the lines that a run may not cross."""

import enum
from dataclasses import dataclass, field
from typing import Annotated

import typer

from kcompact.inspect.severity import Level
from kcompact.options.shared_options import AnnotationsOption, value_option

_OUTPUT = "Output"
_KEYS = "History of keys"
_EXPECT = "Expectations (exit code 1 where they are not met)"


class InspectFormat(enum.StrEnum):
    """How the report is shown."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    GITHUB = "github"
    CODE_QUALITY = "code-quality"


class FailOn(enum.StrEnum):
    """From which level on a finding makes the exit code 1."""

    NEVER = "never"
    WARNING = "warning"
    ERROR = "error"

    @property
    def level(self) -> Level | None:
        """None: no level is enough."""
        return None if self is FailOn.NEVER else Level[self.name]


@dataclass(frozen=True)
class InspectOutputOptions:
    """Where the report goes, and how it looks."""

    output: Annotated[
        str | None,
        value_option(_OUTPUT, "Where the report goes; - for standard output.", "FILE", "--output", "-o"),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that exists.", rich_help_panel=_OUTPUT)
    ] = False
    report_format: Annotated[
        InspectFormat, typer.Option("--format", help="How the report is shown.", rich_help_panel=_OUTPUT)
    ] = InspectFormat.TEXT
    annotations: AnnotationsOption = None


@dataclass(frozen=True)
class KeyOptions:
    """Whose history is asked for; with one of them, nothing else is reported."""

    key: Annotated[
        list[str],
        value_option(
            _KEYS,
            "Every record of this key, and what becomes of it; @FILE: one key a line. Repeatable.",
            "KEY|@FILE",
        ),
    ] = field(default_factory=list)
    key_base64: Annotated[
        list[str],
        value_option(_KEYS, "The same for bytes. Repeatable.", "BASE64"),
    ] = field(default_factory=list)
    offset: Annotated[
        list[str],
        value_option(
            _KEYS, "The same for the key of a record, such as orders-0=1222. Repeatable.", "LOG=OFFSET"
        ),
    ] = field(default_factory=list)

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return bool(self.key or self.key_base64 or self.offset)


@dataclass(frozen=True)
class ExpectationOptions:
    """Lines drawn by the user."""

    max_null_keys: Annotated[
        int | None,
        value_option(_EXPECT, "Records without key.", "N", min=0),
    ] = None
    max_cross_partition_keys: Annotated[
        int | None,
        value_option(_EXPECT, "Keys in several partitions of a topic.", "N", min=0),
    ] = None
    max_gaps: Annotated[
        int | None,
        value_option(_EXPECT, "Gaps in the offsets.", "N", min=0),
    ] = None
    expect_end_offsets: Annotated[
        str | None,
        value_option(
            _EXPECT,
            "Log end offsets, lines of TOPIC:PARTITION:OFFSET as kafka-get-offsets.sh prints them.",
            "FILE",
        ),
    ] = None
    fail_on: Annotated[
        FailOn,
        typer.Option(
            help="Which findings make the exit code 1; only what is set above is an error.",
            rich_help_panel=_EXPECT,
        ),
    ] = FailOn.ERROR
