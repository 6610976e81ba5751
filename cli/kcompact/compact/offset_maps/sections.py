"""Sections of logs, recognised and counted while records are read: clean, dirty and uncleanable (R1 to R3).

The clean section lies below the first dirty offset, the uncleanable section from the first uncleanable offset
on. Records of these two are passed on one by one; those of the dirty section between them are merged by key.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import aggregated
from kcompact.cleaner.survey import Records
from kcompact.digits import LONG_MAX
from kcompact.engine.passes.summaries import LogSummary
from kcompact.rules.lookups import values_of_logs

CLEAN, DIRTY, UNCLEANABLE = range(3)
UNKNOWN_MS = LONG_MAX  # the oldest timestamp of a section without timestamps above 0
_COUNT = 3
_FEW_LOGS = (1 << 16) // _COUNT  # group numbers of so many logs have 16 bits, which numpy sorts by radix
_NO_RECORDS = {"records": 0, "log_bytes": 0, "last_offset": -1}
_KNOWN = ["log_id", "offset", "key", "timestamp_ms", "is_tombstone"]


@dataclass(frozen=True)
class Sections:
    """The bounds of sections, by log id. Picklable.

    A log that ``first_dirty_offsets`` lacks is dirty from 0 on. While ``first_uncleanable_offsets`` is None,
    the ends are not known, and each task takes its own first record that is too young. ``known_offsets`` are
    offsets of records that the driver wants to see.
    """

    first_dirty_offsets: Mapping[int, int] = field(default_factory=dict)
    first_uncleanable_offsets: Mapping[int, int] | None = None
    young_from_ms: int | None = None  # timestamps from this one on are too young; None: no minimum lag
    known_offsets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def are_dirty(self, rows: pa.RecordBatch | pa.Table) -> np.ndarray:
        """Whether each row (with log_id, last_offset) is dirty: none is in a log whose end is not known."""
        log_ids, offsets = (rows.column(name).to_numpy() for name in ("log_id", "last_offset"))
        dirty: np.ndarray = offsets >= values_of_logs(log_ids, self.first_dirty_offsets, 0)
        return dirty & (offsets < values_of_logs(log_ids, self.first_uncleanable_offsets or {}, 0))


@dataclass
class SectionFigures:
    """Figures of the sections that some tasks have read. ``counted`` has a row per task, log and section."""

    counted: list[pa.Table] = field(default_factory=list)
    first_young_offsets: dict[int, int] = field(default_factory=dict)  # by log id, outside clean sections
    control_records: int = 0
    known: list[pa.Table] = field(default_factory=list)  # of records at known offsets


class SectionReader:
    """Cuts the index rows of one task by section. Each log's rows come by offset, with INDEXED's columns."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._found = SectionFigures()
        wanted = {offset for offsets in sections.known_offsets.values() for offset in offsets}
        self._known_offsets = np.array(sorted(wanted), np.int64)

    @property
    def figures(self) -> SectionFigures:
        """The figures of all rows so far."""
        figures = self._found
        counted = [summed(pa.concat_tables(figures.counted))] if figures.counted else []
        return SectionFigures(counted, figures.first_young_offsets, figures.control_records, figures.known)

    def cut(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        """The rows of dirty sections, and all other rows, or None if there are no others."""
        section = self._section_of(rows)
        if rows.num_rows:
            self._found.counted.append(_counted(rows, section))
        self._found.control_records += pc.sum(rows.column("is_control")).as_py() or 0
        if len(self._known_offsets):
            is_known = np.isin(rows.column("offset").to_numpy(), self._known_offsets)
            if is_known.any():
                self._found.known.append(
                    pa.Table.from_batches([rows.select(_KNOWN).filter(pa.array(is_known))])
                )
        dirty = section == DIRTY
        if dirty.all():
            return rows, None
        return rows.filter(pa.array(dirty)), rows.filter(pa.array(~dirty))

    def _section_of(self, rows: pa.RecordBatch) -> np.ndarray:
        sections, log_ids, offsets = (
            self._sections,
            *(rows.column(n).to_numpy() for n in ("log_id", "offset")),
        )
        section = np.full(len(rows), DIRTY, np.int8)
        section[offsets < values_of_logs(log_ids, sections.first_dirty_offsets, 0)] = CLEAN
        if sections.young_from_ms is not None:
            young = (rows.column("timestamp_ms").to_numpy() >= sections.young_from_ms) & (section == DIRTY)
            firsts = self._found.first_young_offsets
            for log_id in np.unique(log_ids[young]).tolist():
                first = int(offsets[young & (log_ids == log_id)].min())
                firsts[log_id] = min(first, firsts.get(log_id, first))
        ends = sections.first_uncleanable_offsets
        ends = self._found.first_young_offsets if ends is None else ends
        section[(offsets >= values_of_logs(log_ids, ends, LONG_MAX)) & (section == DIRTY)] = UNCLEANABLE
        return section


_SUMS = {
    "records": "sum",
    "log_bytes": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "oldest_ms": "min",
}


def _counted(rows: pa.RecordBatch, section: np.ndarray) -> pa.Table:
    """A row per log and section, as ``summed`` would make it from the rows, in a fraction of its time."""
    log_ids = rows.column("log_id").dictionary_encode()
    groups = log_ids.indices.to_numpy() * _COUNT + section
    groups = groups.astype(np.uint16) if len(log_ids.dictionary) < _FEW_LOGS else groups
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order].astype(np.int64), prepend=-1))
    firsts = order[starts]
    offsets, timestamps = (rows.column(name).to_numpy()[order] for name in ("offset", "timestamp_ms"))
    log_bytes = rows.column("log_bytes").to_numpy()[order]
    return pa.table(
        {
            "log_id": rows.column("log_id").take(pa.array(firsts)),
            "section": section[firsts],
            "records": np.diff(starts, append=len(order)),
            "log_bytes": np.add.reduceat(log_bytes, starts, dtype=np.int64),
            "first_offset": np.minimum.reduceat(offsets, starts),
            "last_offset": np.maximum.reduceat(offsets, starts),
            "oldest_ms": np.minimum.reduceat(np.where(timestamps > 0, timestamps, UNKNOWN_MS), starts),
        }
    )


def summed(counted: pa.Table) -> pa.Table:
    """Tables of ``SectionFigures.counted`` summed up to one row per log and section."""
    return aggregated(counted, ["log_id", "section"], _SUMS)


@dataclass(frozen=True)
class LogSections:
    """One log as it was read: the figures of each section, and the first offset that is too young."""

    by_section: Mapping[int, Mapping[str, int]]
    first_young_offset: int | None

    @classmethod
    def of_dirty_log(cls, whole: LogSummary) -> "LogSections":
        """A log that is dirty as a whole: it was never cleaned, and there is no minimum lag."""
        dirty = {
            "records": whole.records,
            "log_bytes": whole.log_bytes,
            "first_offset": whole.first_offset,
            "last_offset": whole.last_offset,
            "oldest_ms": whole.min_timestamp_ms if whole.min_timestamp_ms > 0 else UNKNOWN_MS,
        }
        return cls({DIRTY: dirty}, None)

    @property
    def dirty(self) -> Mapping[str, int]:
        """The figures of the records that were merged by key."""
        return self.by_section.get(DIRTY, _NO_RECORDS)

    def records(self) -> Records:
        """The figures from which bounds and ratio are computed, for a log without segments and markers."""
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
    """The sections of every log, from the figures of all tasks."""
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
