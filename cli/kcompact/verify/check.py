"""A check: its stable name, which rows it finds, and what it says about them."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kcompact.verify.rows.key_rows import Flags

if TYPE_CHECKING:
    from kcompact.verify.classification.suspects import SuspectRow, Suspects


class Severity(enum.StrEnum):
    """A finding makes the exit code 1; what is undecided makes it 2 if nothing else does; a note does not."""

    FINDING = "finding"
    UNDECIDED = "undecided"  # an option that was not given could explain it
    NOTE = "note"


@dataclass(frozen=True)
class Check:
    """One question about classified rows.

    ``finds`` is a condition on rows; ``is_certain`` says of which of them it is known that no broker can have
    left them so: the others are notes. ``is_loss``: what is found are records that are missing, which an
    option that was not given might explain. ``expected`` and ``actual`` say in a few words what should be
    there and what is: text with the row's attributes in braces, or a function.
    """

    name: str
    finds: "Callable[[Suspects], Flags]"
    expected: "str | Callable[[SuspectRow], str]"
    actual: "str | Callable[[SuspectRow], str]"
    is_certain: "Callable[[Suspects], Flags] | None" = None
    is_loss: bool = False

    def words(self, row: "SuspectRow") -> tuple[str, str]:
        """The expected and the actual record of a row that this check found."""
        return _say(self.expected, row), _say(self.actual, row)


def no_rows(suspects: "Suspects") -> Flags:
    """``finds`` of a check that does not look at classified rows."""
    return np.zeros(len(suspects.rows), np.bool_)


def _say(text: "str | Callable[[SuspectRow], str]", row: "SuspectRow") -> str:
    return text.format_map(vars(row)) if isinstance(text, str) else text(row)
