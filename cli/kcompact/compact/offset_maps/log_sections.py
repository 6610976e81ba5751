"""The sections of each log as all tasks have counted them, and the figures of a log that follow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from kcompact.cleaner.survey import Records
from kcompact.compact.offset_maps.sections import CLEAN, DIRTY, UNKNOWN_MS, SectionFigures, summed


@dataclass(frozen=True)
class LogSections:
    """One log as it was read: a row of figures by section, and its first record that is too young."""

    by_section: Mapping[int, Mapping[str, int]]
    first_young_offset: int | None

    @property
    def last_dirty_offset(self) -> int:
        """Of the records that were merged by key; -1: none was."""
        return self.by_section[DIRTY]["last_offset"] if DIRTY in self.by_section else -1

    @property
    def dirty_records(self) -> int:
        """How many records were merged by key."""
        return self.by_section[DIRTY]["records"] if DIRTY in self.by_section else 0

    @property
    def dirty_log_bytes(self) -> int:
        """Of the records that were merged by key."""
        return self.by_section[DIRTY]["log_bytes"] if DIRTY in self.by_section else 0

    def records(self) -> Records:
        """The figures that bounds and ratio are made from, of a log without segments and markers."""
        parts = self.by_section.values()
        dirty = [part for section, part in self.by_section.items() if section != CLEAN]
        count = sum(part["records"] for part in parts)
        return Records(
            records=count,
            mapped_records=count,
            control_records=0,
            log_bytes=sum(part["log_bytes"] for part in parts),
            dirty_log_bytes=sum(part["log_bytes"] for part in dirty),
            first_offset=min(part["first_offset"] for part in parts),
            last_offset=max(part["last_offset"] for part in parts),
            first_timestamp_ms=-1,
            largest_timestamp_ms=-1,
            first_dirty_record_offset=min((part["first_offset"] for part in dirty), default=None),
            oldest_dirty_timestamp_ms=min(
                (part["oldest_ms"] for part in dirty if part["oldest_ms"] != UNKNOWN_MS), default=None
            ),
            first_young_offset=self.first_young_offset,
        )


def logs_of(tasks: Iterable[SectionFigures]) -> dict[int, LogSections]:
    """Every log, from what all tasks have counted."""
    tables: list[pa.Table] = []
    young: dict[int, list[int]] = {}
    for task in tasks:
        tables += task.counted
        for log_id, offset in task.first_young_offsets.items():
            young.setdefault(log_id, []).append(offset)
    sections: dict[int, dict[int, dict[str, int]]] = {}
    for row in summed(pa.concat_tables(tables)).to_pylist() if tables else ():
        sections.setdefault(row.pop("log_id"), {})[row.pop("section")] = row
    return {i: LogSections(parts, min(young.get(i, ()), default=None)) for i, parts in sections.items()}
