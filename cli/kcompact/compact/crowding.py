"""Few offsets with records without end, as of one line that a small packed file repeats: refused early.

All records of an offset meet in one task, which cannot be cut; a few copies, of dumps joined with themselves,
are counted once.
"""

from collections.abc import Iterable

from kcompact.broker.log_names import LogName
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError

MOST_RECORDS = 1_000_000  # which a task holds, however few their offsets are
MOST_COPIES = 1_000


def refuse_crowded_offsets(summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where a log has a million records, and more than a thousand for each offset."""
    extents: dict[LogName, tuple[int, int, int]] = {}  # first and last offset, records
    for part in summaries:
        name = LogName(part.topic, part.partition)
        first, last, records = extents.get(name, (part.first_offset, part.last_offset, 0))
        extents[name] = (min(first, part.first_offset), max(last, part.last_offset), records + part.records)
    for name, (first, last, records) in extents.items():
        offsets = last - first + 1
        if records > max(MOST_RECORDS, offsets * MOST_COPIES):
            where = "one offset" if offsets == 1 else f"{offsets:,} offsets"
            raise InputError(
                f"{name}: {records:,} records at {where}, {first} to {last}",
                hint="one log holds an offset once: does the dump repeat itself, or lack the real offsets?",
            )
