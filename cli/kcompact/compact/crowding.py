"""Few offsets with records without end, as of one line that a small packed file repeats: refused early.

All records of an offset meet in one task, which cannot be cut; a few copies, of dumps joined with themselves,
are counted once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kcompact.broker.log_names import LogName
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError

MOST_RECORDS = 1_000_000  # which a task holds, however few their offsets are
MOST_COPIES = 1_000


@dataclass
class _Extent:
    """A log's records, and the range of offsets (inclusive) that they share."""

    first_offset: int
    last_offset: int
    records: int = 0

    def add(self, part: LogSummary) -> None:
        self.first_offset = min(self.first_offset, part.first_offset)
        self.last_offset = max(self.last_offset, part.last_offset)
        self.records += part.records


def refuse_crowded_offsets(summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where a log has a million records, and more than a thousand for each offset."""
    extents: dict[LogName, _Extent] = {}
    for part in summaries:
        name = LogName(part.topic, part.partition)
        extents.setdefault(name, _Extent(part.first_offset, part.last_offset)).add(part)
    for name, extent in extents.items():
        offsets = extent.last_offset - extent.first_offset + 1
        if extent.records > max(MOST_RECORDS, offsets * MOST_COPIES):
            where = "one offset" if offsets == 1 else f"{offsets:,} offsets"
            span = f"{extent.first_offset} to {extent.last_offset}"
            raise InputError(
                f"{name}: {extent.records:,} records at {where}, {span}",
                hint="one log holds an offset once: does the dump repeat itself, or lack the real offsets?",
            )
