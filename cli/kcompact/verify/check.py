"""A check: its stable name, which rows it finds, and what it says about them."""

import enum
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, Row


class Severity(enum.StrEnum):
    """A finding makes the exit code 1; a note does not."""

    FINDING = "finding"
    NOTE = "note"


@dataclass(frozen=True)
class Check:
    """One question about a judged row (``judge.judged_rows`` lists the columns).

    ``finds`` is a condition on the row, made only once a session is there. ``expected`` and ``found`` say in
    a few words what should be there and what is: text with the row's columns in braces, or a function.
    """

    name: str
    title: str
    finds: Callable[[], Column]
    expected: str | Callable[[Row], str]
    found: str | Callable[[Row], str]
    severity: Severity = Severity.FINDING

    def words(self, row: Row) -> tuple[str, str]:
        """What was expected of a row that this check found, and what is there."""
        return _say(self.expected, row), _say(self.found, row)


def _say(text: str | Callable[[Row], str], row: Row) -> str:
    return text.format_map(row.asDict()) if isinstance(text, str) else text(row)
