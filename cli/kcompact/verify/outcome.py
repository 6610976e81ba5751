"""The result of a verification, as a value that every report renders."""

import enum
from collections import Counter
from dataclasses import dataclass, field, replace

from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut
from kcompact.verify.check import Severity

_LEFT_OUT = "left-out"
"""The check that ``--keep-going`` adds."""


@dataclass(frozen=True)
class VerifyFinding:
    """One thing that is wrong (or, as a note, left over). ``key`` is None where the record has none.

    ``found_key`` is a one-element tuple with the key that AFTER has instead, where the key is wrong.
    ``remedy`` names an option that was not given and could explain the finding; None: no option could.
    """

    check: str
    severity: Severity
    topic: str
    partition: int
    offset: int | None
    key: bytes | None
    expected: str
    found: str
    found_key: tuple[bytes | None] | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class Tally:
    """The number of a check's findings, named or not: of one log, or of all if ``topic`` is None."""

    check: str
    severity: Severity
    count: int
    topic: str | None = None
    partition: int | None = None


@dataclass(frozen=True)
class VerifiedLog:
    """One log: what went, why, and up to where it counts as cleaned (exclusive)."""

    topic: str
    partition: int
    records_before: int
    records_after: int
    removed: dict[str, int]  # by reason; "lost" where there is none
    first_dirty_offset: int
    cleaned_end_offset: int
    cleaned_end_is_given: bool


class KeyVerdict(enum.StrEnum):
    """The kinds of records that the dump holds of a key in a log."""

    ABSENT = "absent"  # nothing
    TOMBSTONE_ONLY = "tombstone-only"  # a deletion, and no value
    VALUE_LEFT = "value-left"  # deleted, but an older value is still there
    PRESENT = "present"  # the latest record is a value

    @property
    def is_gone(self) -> bool:
        """Whether no value of the key is left."""
        return self in (KeyVerdict.ABSENT, KeyVerdict.TOMBSTONE_ONLY)


@dataclass(frozen=True)
class KeyEvidence:
    """One key in one log; offsets are the last ones seen in any of the dumps, None: never seen.

    ``value_left_offset`` is the last value in the dump that should not have any. ``topic`` and ``partition``
    are None for a key that no dump has a record of.
    """

    key: bytes
    verdict: KeyVerdict
    topic: str | None = None
    partition: int | None = None
    last_value_offset: int | None = None
    tombstone_offset: int | None = None
    value_left_offset: int | None = None


@dataclass(frozen=True)
class VerifyOutcome:
    """The answer: it holds if there is no finding and nothing undecided.

    ``findings`` may be fewer than ``tallies`` count. ``checks`` are the names of all checks that were made.
    """

    mode: str  # "compaction", "compacted", "state" or "absent-keys"
    before: tuple[str, ...]
    after: str
    now_ms: int
    checks: tuple[str, ...]
    tallies: tuple[Tally, ...]
    findings: tuple[VerifyFinding, ...]
    logs: tuple[VerifiedLog, ...] = ()
    assumed: tuple[str, ...] = ()
    facts: dict[str, int] = field(default_factory=dict)
    evidence: tuple[KeyEvidence, ...] = ()
    sha256: dict[str, str] = field(default_factory=dict)  # of the input files, where evidence asks for it
    findings_without_key: int = 0  # about records without a key, or with an empty one

    def without(self, left_out: LeftOut) -> "VerifyOutcome":
        """The outcome, undecided about the logs and topics that ``--keep-going`` left out."""
        if left_out == NOTHING_LEFT_OUT:
            return self
        logs = [(log.topic, log.partition) for log in sorted(left_out.logs)]
        expected, actual = "its records", "a file that cannot be read; nothing of this log is compared"
        findings = [
            VerifyFinding(_LEFT_OUT, Severity.UNDECIDED, *log, None, None, expected, actual) for log in logs
        ]
        tallies = [Tally(_LEFT_OUT, Severity.UNDECIDED, 1, *log) for log in logs]
        tallies += [Tally(_LEFT_OUT, Severity.UNDECIDED, 1) for _ in left_out.topics]
        return replace(
            self,
            checks=(*self.checks, _LEFT_OUT),
            tallies=(*self.tallies, *tallies),
            findings=(*self.findings, *findings),
        )

    @property
    def holds(self) -> bool:
        """Whether nothing was found but notes."""
        return not self.counts_of(Severity.FINDING) and not self.counts_of(Severity.UNDECIDED)

    @property
    def is_undecided(self) -> bool:
        """Whether options that were not given could explain all that speaks against the answer "yes"."""
        return not self.counts_of(Severity.FINDING) and bool(self.counts_of(Severity.UNDECIDED))

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each check, of any severity; 0 for checks without findings."""
        totals = Counter(dict.fromkeys(self.checks, 0))
        for tally in self.tallies:
            totals[tally.check] += tally.count
        return dict(totals)

    def counts_of(self, severity: Severity) -> dict[str, int]:
        """The number of findings of a severity by check, in the order of checks; only where there are any."""
        totals = Counter[str]()
        for tally in self.tallies:
            if tally.severity is severity:
                totals[tally.check] += tally.count
        return {name: totals[name] for name in self.checks if totals[name]}
