"""The request for one compaction, the decisions made for it, its result, and refusals on the way."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kcompact.compact.context.beside import Beside
from kcompact.compact.context.remembering import KnownByLog
from kcompact.compact.output.compact_job import CompactJob
from kcompact.compact.output.keys_across_partitions import SharedKeys
from kcompact.compact.output.stages import DecidedStages
from kcompact.compact.read_dump import ReadDump
from kcompact.compact.totals import CompactionOutcome
from kcompact.dumps.dialects.dialect import DataRole
from kcompact.dumps.dump import Dump
from kcompact.dumps.note_checks import refuse_doubts, refuse_likely_nulls
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.records.layout import ConversionNotes, SplitNotes
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.errors import InputError
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.policy import Policy, TopicPolicies, require_retention


class Form(enum.Enum):
    """The way to decide which records stay. A dump that cannot be decided by key is decided by record."""

    KEYS = "keys"  # closed logs, bounded by nothing but a checkpoint, a state, a minimum lag and a map's size
    RECORDS = "records"  # everything that the cleaner does


@dataclass(frozen=True)
class Request:
    """The work to do on a dump. ``copier`` None: nothing is copied (a dry run).

    ``form`` is the cheapest way that may be enough. ``tells_sizes`` asks how many bytes rounds read and
    write, which a run without bounds does not know otherwise, as it reads no values.
    """

    policies: TopicPolicies
    beside: Beside
    folder: Path
    workplace: Workplace
    copier: Copier | None
    form: Form
    tells_sizes: bool

    @property
    def policy(self) -> Policy:
        """The policy of topics without configs of their own. Only topic configs differ between policies."""
        return self.policies.others

    def policies_of(self, scan: ReadDump) -> dict[int, Policy]:
        """The policy of each log, by log id. Raises PolicyError for retention without a limit."""
        for topic in sorted({topic for topic, _ in scan.names.values()}):
            require_retention(topic, self.policies.of(topic))
        return {log_id: self.policies.of(topic) for log_id, (topic, _) in scan.names.items()}


@dataclass(frozen=True)
class Decided:
    """A dump, and the decisions on its records. ``stages`` None: it has none. Cleanings are by log id."""

    scan: ReadDump
    job: CompactJob
    stages: DecidedStages | None
    cleanings: Mapping[int, LogCleaning] = field(default_factory=dict)
    notes: Sequence[str] = ()  # beside those of the scan and of each log


def job_for(request: Request, scan: ReadDump) -> CompactJob:
    """The inputs of all tasks that copy and report."""
    return CompactJob(scan.plan, request.workplace, request.copier, scan.names, scan.sorted_files)


@dataclass
class Compacted:
    """The result: figures and pieces of reports, keys in several partitions, notes for the user."""

    outcome: CompactionOutcome
    shared_keys: SharedKeys
    notes: list[str]
    plan: IndexPlan
    cleanings: Mapping[int, LogCleaning] = field(default_factory=dict)  # by log id; see Decided
    known: KnownByLog = field(default_factory=dict)  # by log id; where there is a state
    overtaken: set[tuple[int, int]] = field(default_factory=set)  # see overtaken_files
    left_out: frozenset[int] = frozenset()  # see files_left_out

    def notes_by_file(self) -> dict[int, list[ConversionNotes]]:
        """The notes on records that were converted, by file id."""
        by_file: dict[int, list[ConversionNotes]] = {}
        for fragment in self.outcome.fragments:
            if fragment.notes is not None:
                file_id = self.plan.split(fragment.split_id).file_id
                by_file.setdefault(file_id, []).append(fragment.notes)
        return by_file


def refuse_doubtful(dump: Dump, notes: Mapping[int, SplitNotes], request: Request) -> None:
    """Raise InputError for doubts about the dump that decide which records stay, or what converted ones hold.

    It always matters whether a key is null or empty. Whether a value is null or empty matters to which
    records stay only with ``--drop-tombstones``.
    """
    reasons: dict[DataRole, str] = {"key": "which records stay"}
    if request.policy.drop_tombstones:
        reasons["value"] = "--drop-tombstones"
    refuse_doubts(dump, notes, reasons)
    refuse_likely_nulls(dump, notes, request.copier.writers if request.copier is not None else ())


def refuse_null_keys(scan: ReadDump, policy: Policy, removals: int) -> None:
    """Raise InputError if records without key would be removed, and the user has not allowed it (R20)."""
    keyless = [summary for summary in scan.summaries if summary.null_keys]
    if policy.null_keys != "error" or not removals or not keyless:
        return
    first, records = keyless[0], sum(summary.null_keys for summary in keyless)
    place = f"{first.topic}-{first.partition} offset {', '.join(map(str, first.null_key_offsets))}"
    message = f"records without a key: {records:,}, of which {removals:,} would be removed"
    if any(notes.counts.get("keyed_tombstones") for notes in scan.notes.values()):
        raise InputError(
            f"{message}; the first are at {place}; tombstones are among them, which have keys of their own",
            hint="use the dump's own keys: leave out --key-field, since a tombstone has no value to take a"
            " key from, and what it deletes comes back where it is dropped",
        )
    raise InputError(
        f"{message}; the first are at {place}",
        hint="keep them with --null-keys keep, or lose them, deletes among them, with --null-keys drop, as a"
        " broker's cleaner would; if a field of the value is the key, name it with --key-field FIELD,"
        " and change events with --cdc",
    )
