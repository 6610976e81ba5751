"""A dump that is read for one round: its rows by key, and all that was counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from kcompact.broker.state.known_records import KnownRecord
from kcompact.compact.full_form.known_rows import Digests, Known, last_offsets_in, records_in
from kcompact.compact.full_form.remembering import KnownByLog
from kcompact.compact.plain import GROUPS
from kcompact.compact.round_form.log_sections import LogSections, logs_of
from kcompact.compact.sections import SectionFigures, Sections
from kcompact.dumps.records.layout import SplitNotes
from kcompact.engine.blocks import rows_in
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.passes.summaries import LogSummary
from kcompact.engine.shuffle import Block, Stage


@dataclass(frozen=True)
class RoundScan:
    """``grouped`` are rows by key, ``figures`` those of each task."""

    plan: IndexPlan
    sections: Sections
    grouped: Stage
    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]
    figures: list[SectionFigures]

    @cached_property
    def names(self) -> Mapping[int, tuple[str, int]]:
        """Topic and partition of every log id."""
        return {part.log_id: (part.topic, part.partition) for part in self.summaries}

    @cached_property
    def logs(self) -> dict[int, LogSections]:
        """The logs as they were counted, by log id."""
        return logs_of(self.figures)

    def records_at(self, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
        """The dump's records at known offsets, by log id and offset."""
        tables = [table for task in self.figures for table in task.known]
        return records_in(pa.concat_tables(tables), wanted) if tables else {}

    def last_offsets(self, digests: Digests) -> Known:
        """The last offset of each key of such a digest, by log id and digest."""

        def look(_: int, blocks: list[Block]) -> Known:
            rows = [batch.select(["log_id", "key", "last_offset"]) for batch in rows_in(blocks, GROUPS)]
            return last_offsets_in(pa.Table.from_batches(rows), "last_offset", digests) if rows else {}

        return {place: offset for part in self.grouped.results(look)[0] for place, offset in part.items()}
