"""The full form: Kafka's cleaner on every index row, for whatever the plain form does not cover."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.broker.state.known_records import KnownRecord
from kcompact.cleaner.cleaning import EMPTY_CONTEXT, Cleaning, clean
from kcompact.cleaner.shares import Shares, plan_shares
from kcompact.cleaner.tracked import INDEXED, Tracked, index_rows_in, send_index, track
from kcompact.compact.crowding import refuse_crowded_offsets
from kcompact.compact.full_form.known_rows import Digests, Known, last_offsets_in, records_in
from kcompact.compact.full_form.remembering import KnownByLog
from kcompact.compact.totals import unsorted_files
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.filters import logs_left_out, refuse_unmatched
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.passes.summaries import LogSummary, log_names, unpacked
from kcompact.engine.shuffle import Send, Stage
from kcompact.rules.cleaned_log import LogCleaning
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict

ROWS_PER_RECEIVER = 500_000
TYPICAL_RECORD_BYTES = 200  # to guess the number of records before any is read
RECORDS_PER_SHARE = 1 << 20  # of a log, unless one split has more


@dataclass(frozen=True)
class FullIndex:
    """The index rows that the cleaner works on, by key; summaries, notes and remarks from reading them."""

    plan: IndexPlan
    keyed: Stage
    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]
    remarks: list[str]
    sorted_files: frozenset[int]  # files that are out of order, and so come out sorted

    @property
    def names(self) -> dict[int, tuple[str, int]]:
        """Topic and partition of every log id."""
        return {part.log_id: (part.topic, part.partition) for part in self.summaries}

    @property
    def shares(self) -> Shares:
        """Which share takes which records."""
        return plan_shares(self.summaries, RECORDS_PER_SHARE)

    def records_at(self, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
        """The dump's records at known offsets, by log id and offset."""
        parts = self.keyed.results(lambda _, blocks: records_in(index_rows_in(blocks), wanted))[0]
        return {place: record for part in parts for place, record in part.items()}

    def last_offsets(self, digests: Digests) -> Known:
        """The last offset of each key of such a digest, by log id and digest."""
        parts = self.keyed.results(
            lambda _, blocks: last_offsets_in(index_rows_in(blocks), "offset", digests)
        )[0]
        return {place: offset for part in parts for place, offset in part.items()}

    def tracked(self, contexts: Mapping[int, LogContext], policies: Mapping[int, Policy]) -> Tracked:
        """The rows with what is known of them."""
        lookups = {i: lookup_for(contexts.get(i, EMPTY_CONTEXT), policy) for i, policy in policies.items()}
        return track(self.keyed, self.shares, lookups)


def full_index(send: Send, dump: Dump, folder: Path) -> FullIndex:
    """Read a dump into an index; a second time, file by file, where one is out of order and was cut."""
    index = _index(send, dump, plan_index(dump, folder, INDEXED))
    splits = Counter(split.file_id for split in index.plan.splits.values())
    if not any(splits[file_id] > 1 for file_id in index.sorted_files):
        return index
    return _index(send, dump, plan_index(dump, folder, INDEXED, whole_files=True))


def _index(send: Send, dump: Dump, plan: IndexPlan) -> FullIndex:
    keyed = send_index(send, plan, key_receivers(dump, plan))
    summaries, notes = unpacked(block.content for block in keyed.driver_blocks())
    remarks = check_notes(dump, plan.splits, notes)
    refuse_unmatched(dump.options, log_names(summaries), logs_left_out(notes.values()))
    refuse_crowded_offsets(summaries)
    file_ids = {split.split_id: split.file_id for split in plan.splits.values()}
    return FullIndex(plan, keyed, summaries, notes, remarks, unsorted_files(summaries, file_ids))


def key_receivers(dump: Dump, plan: IndexPlan) -> int:
    """How many tasks share the keys: at least 2, one per 500,000 rows; 1 if one task reads the dump."""
    if len(plan.tasks) == 1:
        return 1
    return max(2, dump.data_bytes // (ROWS_PER_RECEIVER * TYPICAL_RECORD_BYTES))


def clean_index(
    index: FullIndex,
    contexts: Mapping[int, LogContext],
    policy_of: Callable[[str], Policy],
) -> Cleaning:
    """The cleaner's decisions on every log."""
    policies = {log_id: policy_of(topic) for log_id, (topic, _) in index.names.items()}
    names = {log_id: str(LogName(*name)) for log_id, name in index.names.items()}
    return clean(index.tracked(contexts, policies), contexts, policies, names)


def null_key_removals(logs: Mapping[int, LogCleaning]) -> int:
    """How many records without key the run would remove (R20)."""
    return sum(log.removed.get(Verdict.KEYLESS, 0) for log in logs.values())
