"""Options of ``compact`` about records to remove, beside Kafka's configs."""

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from kcompact.digits import INT_MAX, whole_number
from kcompact.errors import PolicyError

_PANEL = "Cleaning"


class NullKeys(enum.StrEnum):
    """The fate of records without key that the run would remove (R20)."""

    ERROR = "error"
    DROP = "drop"
    KEEP = "keep"


def parse_rounds(text: str) -> int | None:
    """``--rounds``: a number from 1, or None for ``until-clean``. Raises PolicyError."""
    if text == "until-clean":
        return None
    rounds = whole_number(text)
    if rounds is not None and 0 < rounds <= INT_MAX:
        return rounds
    raise PolicyError(
        f"--rounds {text}: not a number of rounds", hint="write --rounds 3, or --rounds until-clean"
    )


@dataclass(frozen=True)
class CleaningOptions:
    """Decisions that a broker does not ask for."""

    drop_tombstones: Annotated[
        bool,
        typer.Option(
            "--drop-tombstones",
            help="Remove latest tombstones at once, as if their horizon had passed.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    null_keys: Annotated[
        NullKeys,
        typer.Option(help="Records without key: a broker drops them.", rich_help_panel=_PANEL),
    ] = NullKeys.ERROR
    rounds: Annotated[
        str,
        typer.Option(
            metavar="N|until-clean",
            help="Cleaning rounds, where the offset map is limited.",
            rich_help_panel=_PANEL,
        ),
    ] = "1"
    respect_dirty_ratio: Annotated[
        bool,
        typer.Option(
            "--respect-dirty-ratio",
            help="Leave alone what a broker would not clean yet.",
            rich_help_panel=_PANEL,
        ),
    ] = False
