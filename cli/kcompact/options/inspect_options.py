"""The options of ``inspect`` alone: its output, keys to follow, and expectations."""

import enum
from dataclasses import dataclass

import typer

from kcompact.inspect.severity import Level
from kcompact.options.groups import OptionGroup, annotations_option, flag, option, repeatable
from kcompact.options.output_options import AnswerFormat


class FailOn(enum.StrEnum):
    """From which level on a finding makes the exit code 1."""

    NEVER = "never"
    WARNING = "warning"
    ERROR = "error"

    @property
    def level(self) -> Level | None:
        """The lowest level that counts; None: none does."""
        return None if self is FailOn.NEVER else Level[self.name]


def _show_dialects(value: bool) -> None:
    """Print a row per dialect and exit: its name for --dialect, how its tombstones look, who writes it."""
    if not value:
        return
    from kcompact.console import stdout
    from kcompact.dumps.describing import dialect_rows
    from kcompact.report.table import Table
    from kcompact.report.text_table import print_tables

    headers = ("dialect", "layouts", "key", "value", "a tombstone is", "written by", "remark")
    rows = [
        (row.name, row.layouts, row.key, row.value, row.tombstone, row.tool, row.note or "-")
        for row in dialect_rows()
    ]
    print_tables([Table.of("Dialects", headers, rows, headers)], stdout)
    raise typer.Exit


@dataclass(frozen=True)
class InspectOutputOptions(OptionGroup):
    """Where the report goes, and how it looks."""

    panel = "Output"
    dialects: bool = flag(
        "List the dialects that are recognised, and exit.", callback=_show_dialects, is_eager=True
    )
    output: str | None = option("Where the report goes; - for standard output.", "FILE", "--output", "-o")
    overwrite: bool = flag("Replace a file that exists.")
    report_format: AnswerFormat = option(
        "How the report is shown.", None, "--format", default=AnswerFormat.TEXT
    )
    annotations: bool | None = annotations_option()


@dataclass(frozen=True)
class KeyOptions(OptionGroup):
    """The keys to show the history of; with any of them, nothing else is reported."""

    panel = "History of keys"
    key: list[str] = repeatable(
        "Show each record of this key, and what happens to it; @FILE: one key per line. Repeatable.",
        "KEY|@FILE",
    )
    key_base64: list[str] = repeatable(
        "The same for a key in base64, such as one that begins with @. Repeatable.", "BASE64"
    )
    offset: list[str] = repeatable(
        "The same for the key of a record, such as orders-0=1222. Repeatable.", "LOG=OFFSET"
    )

    @property
    def is_given(self) -> bool:
        """Whether a key is asked for."""
        return bool(self.key or self.key_base64 or self.offset)

    @property
    def files(self) -> list[str]:
        """The files of keys."""
        return [text[1:] for text in self.key if text.startswith("@")]


@dataclass(frozen=True)
class ExpectationOptions(OptionGroup):
    """The limits that the user sets for the dump; None: no limit."""

    panel = "Expectations (exit code 1 where they are not met)"
    max_null_keys: int | None = option("At most this many records without a key.", "N", min=0)
    max_cross_partition_keys: int | None = option(
        "At most this many keys in several partitions of a topic.", "N", min=0
    )
    max_gaps: int | None = option("At most this many gaps in the offsets.", "N", min=0)
    expect_end_offsets: str | None = option(
        "Where logs end: lines TOPIC:PARTITION:OFFSET, as kafka-get-offsets.sh prints them.", "FILE"
    )
    fail_on: FailOn = option(
        "Which findings lead to exit code 1; only the expectations above can be errors.", default=FailOn.ERROR
    )

    @property
    def files(self) -> list[str | None]:
        """The files that these options name; None where one is not given."""
        return [self.expect_end_offsets]
