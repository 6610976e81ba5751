"""Options of ``verify``: the question, and the form of the answer."""

import enum
from dataclasses import dataclass, replace

from kcompact.options.groups import (
    OptionGroup,
    annotations_option,
    flag,
    given_options,
    option,
    overwrite_flag,
)
from kcompact.options.log_options import LogOptions
from kcompact.options.output_options import AnswerFormat
from kcompact.options.policy_options import PolicyOptions

EXAMPLES = 3
MOST_ON_A_PAGE = 20
MOST_IN_JSON = 1_000_000  # what a modest machine holds


class VerifyMode(enum.StrEnum):
    """The two comparisons: record by record as a compaction, or only the latest value of every key."""

    COMPACTION = "compaction"
    STATE = "state"


class KeylessRecords(enum.StrEnum):
    """Whether the cleaning dropped records without a key below its end, as a broker does, or kept them."""

    DROP = "drop"
    KEEP = "keep"


@dataclass(frozen=True)
class VerifyOptions(OptionGroup):
    """The question that ``verify`` answers, and how strictly."""

    panel = "Verification"
    mode: VerifyMode = option(
        "state: do two dumps hold the same latest live values, whatever their offsets?",
        default=VerifyMode.COMPACTION,
    )
    ignore_partitions: bool = flag("With --mode state: a key may be in another partition.")
    absent_keys: str | None = option(
        "Show whether these keys are gone; one key per line, as text or as base64:...", "FILE"
    )
    hash_keys: bool = flag("Show the SHA-256 of keys instead of the keys.")
    strict: bool = flag("Records that were left over are findings, too.")
    drop_tombstones: bool = flag("The compaction may have dropped tombstones at once.")
    null_keys: KeylessRecords = option(
        "Whether the compaction was to drop records without a key, as a broker does.",
        default=KeylessRecords.DROP,
    )

    @property
    def asks_for_compaction(self) -> bool:
        """Whether the question is if AFTER is a compaction of BEFORE."""
        return self.mode is VerifyMode.COMPACTION and not self.absent_keys

    def notes_on_unused(self, log_options: LogOptions, policy: PolicyOptions) -> list[str]:
        """A note on given options without effect: they are about a cleaning, and the question is not."""
        if self.asks_for_compaction:
            return []
        of_cleaning = given_options(replace(log_options, now=None)) + given_options(policy)
        names = [*of_cleaning, *(name for name in given_options(self) if name in _OF_CLEANING)]
        question = "--absent-keys looks for keys" if self.absent_keys else "--mode state compares values"
        return [f"{', '.join(names)} not used: {question} in the dumps as they are"] if names else []


_OF_CLEANING = {"--strict", "--drop-tombstones", "--null-keys"}


@dataclass(frozen=True)
class AnswerOptions(OptionGroup):
    """Where the answer goes, and how much of it."""

    panel = "Output"
    report_format: AnswerFormat = option(
        "How the answer is shown.", None, "--format", default=AnswerFormat.TEXT
    )
    max_findings: int | None = option(
        "Findings to show of each kind and log; all are counted. (default: 3 as text, all in JSON, else 20)",
        "N",
        min=0,
    )
    output: str | None = option(
        "Write the answer to a file instead of standard output.", "FILE", "--output", "-o"
    )
    overwrite: bool = overwrite_flag()
    annotations: bool | None = annotations_option()

    @property
    def most_findings(self) -> int:
        """How many findings of each kind and log are named."""
        if self.max_findings is not None:
            return self.max_findings
        by_format = {AnswerFormat.TEXT: EXAMPLES, AnswerFormat.JSON: MOST_IN_JSON}
        return by_format.get(self.report_format, MOST_ON_A_PAGE)
