"""Results for a CI server, whichever command ran: GitHub annotations, JUnit XML or GitLab's JSON."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class CiLevel(enum.StrEnum):
    """How a finding is shown; by GitHub's names."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True)
class CiFinding:
    """One thing to be shown at a file. Texts are made inert by the renderings."""

    level: CiLevel
    title: str
    text: str
    file: str


@dataclass(frozen=True)
class CiCase:
    """One question, and its findings; ``count`` may be more than there are ``findings``."""

    name: str
    findings: tuple[CiFinding, ...] = ()
    count: int = 0
    fails: bool = False


@dataclass(frozen=True)
class CiReport:
    """The answer of one run."""

    command: str
    kind: str  # of cases, within the command
    question: str
    answer: str
    holds: bool
    cases: Sequence[CiCase]
    notes: Sequence[str] = ()

    @property
    def findings(self) -> list[CiFinding]:
        """All that is shown, case by case."""
        return [finding for case in self.cases for finding in case.findings]
