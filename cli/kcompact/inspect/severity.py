"""Findings: what is worth a sentence, and how bad it is."""

import enum
from dataclasses import dataclass


class Level(enum.IntEnum):
    """How bad a finding is. Only an expectation of the user that is not met is an error."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True)
class InspectFinding:
    """One thing found. ``code`` is stable. ``text`` may quote the dump, and is made inert when rendered."""

    level: Level
    code: str
    text: str
    topic: str | None = None
    partition: int | None = None
