"""A check: its stable name, which rows it finds, and the words for one of them."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kcompact.arrays import Flags

Columns = TypeVar("Columns")
"""The arrays that a check looks at: ``Suspects``, or ``StateColumns`` of two dumps' states."""

Row = Mapping[str, Any]
"""One row of these columns as plain values; None where there is no such record, or nothing is known."""

Words = str | Callable[[Row], str]
"""A text with names of the row's values in braces, or a function that makes the text of a row."""


class Severity(enum.StrEnum):
    """How grave a finding is: FINDING leads to exit code 1, UNDECIDED alone to 2, and NOTE alone to 0."""

    FINDING = "finding"
    UNDECIDED = "undecided"  # an option that was not given could explain it
    NOTE = "note"


@dataclass(frozen=True)
class Check(Generic[Columns]):
    """One question about rows.

    ``finds`` flags the rows that are wrong. ``is_certain`` flags those that no broker can have left like
    this; the other ones are only notes. None: all are certain. ``is_loss``: the rows are missing records,
    which an option that was not given might explain. ``is_change``: the rows are records that differ from
    BEFORE's, unless the difference comes from how a tool writes records.
    """

    name: str
    finds: Callable[[Columns], Flags]
    expected: Words
    actual: Words
    is_certain: Callable[[Columns], Flags] | None = None
    is_loss: bool = False
    is_change: bool = False

    def words(self, row: Row) -> tuple[str, str]:
        """The words for the expected and for the actual record of a row that this check found."""
        expected, actual = (
            words.format_map(row) if isinstance(words, str) else words(row)
            for words in (self.expected, self.actual)
        )
        return expected, actual
