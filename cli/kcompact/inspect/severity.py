"""Findings: what is worth a sentence, and how bad it is."""

import enum
from dataclasses import dataclass


class Level(enum.IntEnum):
    """How bad a finding is. Only what the user drew a line at is an error."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True)
class InspectFinding:
    """One thing found. ``code`` is stable; ``text`` is inert only when rendered."""

    level: Level
    code: str
    text: str
    topic: str | None = None
    partition: int | None = None
