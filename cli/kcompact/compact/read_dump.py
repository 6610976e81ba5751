"""A dump that was read: its rows by key, kept by Spark, and its summaries and notes, which the driver has."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kcompact.broker.log_names import LogName
from kcompact.broker.state.known_records import KnownRecord
from kcompact.compact.context.remembering import Digests, Known, KnownByLog
from kcompact.compact.offset_order import overlapping, overtaken_files, unsorted_files
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.filters import logs_left_out, refuse_unmatched
from kcompact.dumps.note_checks import check_notes, notes_by_file
from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.passes.summaries import LogSummary, log_names, merged, unpacked
from kcompact.engine.passes.torn_logs import refuse_torn_logs
from kcompact.engine.shuffle import Stage
from kcompact.errors import InputError

MOST_RECORDS = 1_000_000  # that a task can hold, even if they all have the same offset
MOST_COPIES = 1_000  # of each offset, in a log of more records


@dataclass(frozen=True)
class ReadDump(ABC):
    """A dump after one reading. In ``keyed`` all rows of a key are in one task.

    Summaries are by split and log, notes by file.
    """

    plan: IndexPlan
    keyed: Stage
    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]
    remarks: list[str]

    @abstractmethod
    def records_at(self, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
        """The dump's records at known offsets, by log id and offset."""

    @abstractmethod
    def last_offsets(self, digests: Digests) -> Known:
        """The last offset of each key with one of the digests, by log id and digest."""

    @cached_property
    def names(self) -> Mapping[int, LogName]:
        """Topic and partition of every log id."""
        return {part.log_id: part.log for part in self.summaries}

    @cached_property
    def file_ids(self) -> Mapping[int, int]:
        """The file of each split."""
        return {split.split_id: split.file_id for split in self.plan.splits.values()}

    @cached_property
    def sorted_files(self) -> frozenset[int]:
        """Files (by id) that are not in the order of offsets; their output is sorted."""
        return unsorted_files(self.summaries, self.file_ids)

    @cached_property
    def is_in_order(self) -> bool:
        """Whether every log's offsets ascend in its files, and no splits overlap: then no offset is twice."""
        return not self.sorted_files and not overlapping(self.summaries)

    @property
    def overtaken(self) -> set[tuple[int, int]]:
        """Pairs of files that are not in the order of offsets (see ``overtaken_files``)."""
        return overtaken_files(self.summaries, self.file_ids)


def checked(
    dump: Dump, plan: IndexPlan, packed_summaries: Iterable[bytes]
) -> tuple[list[LogSummary], dict[int, SplitNotes], list[str]]:
    """Summaries, notes and remarks of a dump that was read. Raises InputError if it cannot be worked on."""
    summaries, by_split = unpacked(packed_summaries)
    notes = notes_by_file(dump, plan.splits.values(), by_split)
    remarks = check_notes(dump, notes)
    records = sum(summary.records for summary in summaries)
    if records and records == sum(summary.tombstones for summary in summaries):
        remarks.append("no record has a value: all are tombstones, if the export did not leave values out")
    refuse_unmatched(dump.options, log_names(summaries), logs_left_out(notes.values()))
    refuse_torn_logs(dump, plan, summaries)
    refuse_crowded_offsets(summaries)
    return summaries, notes, remarks


def refuse_crowded_offsets(summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where a log has a million records, and more than a thousand for each offset.

    A small packed file may repeat one line endlessly; all records of an offset meet in one task, which would
    not have room for them. A few copies, as in dumps joined with themselves, are all right: they count once.
    """
    for whole in merged(summaries).values():
        offsets = whole.last_offset - whole.first_offset + 1
        if whole.records > max(MOST_RECORDS, offsets * MOST_COPIES):
            where = "one offset" if offsets == 1 else f"{offsets:,} offsets"
            raise InputError(
                f"{whole.log}: {whole.records:,} records at {where},"
                f" {whole.first_offset} to {whole.last_offset}",
                hint="a log holds each offset once: does the dump repeat itself, or lack the real offsets?",
            )
