"""A check: its stable name, which rows it finds, and the words for one of them."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kcompact.arrays import Flags

Columns = TypeVar("Columns")
"""The arrays that a check looks at: ``Suspects``, or ``StateColumns`` of two dumps' states."""

Row = Mapping[str, Any]
"""One row of such columns in plain values; None where there is no such record, or nothing is known."""

Words = str | Callable[[Row], str]
"""Text with values of the row in braces, or a function."""


class Severity(enum.StrEnum):
    """A finding makes the exit code 1; what is undecided makes it 2 if nothing else does; a note does not."""

    FINDING = "finding"
    UNDECIDED = "undecided"  # an option that was not given could explain it
    NOTE = "note"


@dataclass(frozen=True)
class Check(Generic[Columns]):
    """One question about rows.

    ``finds`` is a condition on rows. ``is_certain``: of which rows no broker can have left them so; the
    others are notes. ``is_loss``: the records are missing, which an option that was not given might explain;
    ``is_change``: they are others than before, unless a tool has not written them as they were.
    """

    name: str
    finds: Callable[[Columns], Flags]
    expected: Words
    actual: Words
    is_certain: Callable[[Columns], Flags] | None = None
    is_loss: bool = False
    is_change: bool = False

    def words(self, row: Row) -> tuple[str, str]:
        """The expected and the actual record of a row that this check found."""
        expected, actual = (
            words.format_map(row) if isinstance(words, str) else words(row)
            for words in (self.expected, self.actual)
        )
        return expected, actual
