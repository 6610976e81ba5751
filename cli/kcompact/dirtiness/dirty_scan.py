"""One scan over a log in offset order, for all that ``dirty-ratio`` and its what-if tables need of records.

Figures are running totals. They are noted wherever some bound could be (segment bases under every setting,
the first record that a minimum lag protects, the last stable offset). So the figures below each bound can be
looked up afterwards, and no record is read twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kcompact.arrays import Longs
from kcompact.digits import LONG_MAX
from kcompact.rules.files.segment_roller import Appends, Roller, RollSettings
from kcompact.rules.rewriting import LogRows
from kcompact.rules.rounds import MapScan, ScanLimits
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS

TOTALS = (
    "records",
    "bytes",
    "superseded_bytes",  # of records whose successor is below the offset, too
    "superseded_records",
    "keyless_bytes",
    "keyless_records",
    "aborted_bytes",
    "aborted_records",
    "tombstones",  # that are the latest of their key so far, like the next three
    "stamped_tombstones",  # those with a delete horizon
    "due_tombstones",  # those whose horizon is not after now
    "due_tombstone_bytes",
    "map_entries",  # distinct keys from the first dirty offset on
)
"""The running totals over the records below an offset."""

SUPERSEDED = ("bytes", "records", "tombstones", "stamped", "due", "due_bytes")
"""The amounts by which a record lowers the totals when it supersedes earlier ones of its key."""


@dataclass(frozen=True)
class ScanPlan:
    """The bounds at which the scan of one log notes its totals. Picklable."""

    now_ms: int
    first_dirty_offset: int  # 0 where the log start decides
    fixed_offsets: tuple[int, ...] = ()  # ascending: known segment bases, last stable offset, ...
    roll_settings: tuple[RollSettings, ...] = ()
    young_limits_ms: tuple[int, ...] = ()  # a minimum lag protects records with later timestamps
    map_limits: tuple[int, ...] = ()  # keys that fit into the offset map


@dataclass(frozen=True)
class Mark:
    """The totals over all records below ``offset``."""

    offset: int
    totals: tuple[int, ...]

    def __getitem__(self, name: str) -> int:
        return self.totals[TOTALS.index(name)]


@dataclass
class ScannedSegment:
    """A stretch of a log by its records, with the totals below its first offset."""

    mark: Mark
    largest_timestamp_ms: int = -1
    first_timestamp_ms: int | None = None  # None: no record


@dataclass
class DirtySection:
    """Figures of the section from one possible first dirty offset on."""

    start: Mark | None = None  # None: no record is there
    oldest_ms: int = -1  # smallest timestamp above 0
    young: list[Mark | None] = field(default_factory=list)  # one per limit; None: no record is that young


@dataclass
class LogScan:
    """The result of scanning one log; offsets and times are -1 where there is none."""

    first_offset: int = -1
    last_offset: int = -1
    next_due_ms: int = -1  # earliest and latest delete horizon after now, of latest tombstones
    last_due_ms: int = -1
    dirty: DirtySection = field(default_factory=DirtySection)
    # From the first record on whose key came before: everything below could have been cleaned.
    estimated: DirtySection = field(default_factory=DirtySection)
    end: Mark = field(default_factory=lambda: Mark(0, (0,) * len(TOTALS)))
    fixed: list[ScannedSegment] = field(default_factory=list)  # one per fixed offset
    rolled: list[list[ScannedSegment]] = field(default_factory=list)  # one list per roll setting
    full_maps_at: list[list[int]] = field(default_factory=list)  # per map limit: records that met a full map


class LogScanner:
    """Scans one log whose records are fed in pieces of any size."""

    def __init__(self, plan: ScanPlan) -> None:
        self._plan = plan
        self._totals = np.zeros(len(TOTALS), np.int64)
        self._rollers = [Roller(settings) for settings in plan.roll_settings]
        limits = (ScanLimits(plan.first_dirty_offset, LONG_MAX, n, None) for n in plan.map_limits)
        self._maps = [MapScan(limit) for limit in limits]
        self._fixed_offsets = np.array(plan.fixed_offsets, np.int64)
        self._repeats_from: int | None = None  # the first record whose key came before
        self.scan = LogScan(rolled=[[] for _ in self._rollers])
        for section in (self.scan.dirty, self.scan.estimated):
            section.young = [None] * len(plan.young_limits_ms)

    def feed(self, records: LogRows, superseded: Mapping[str, Longs]) -> None:
        """Scan the log's next records; ``superseded``: by name (SUPERSEDED), how much each takes away."""
        offset = records.rows.offset
        if not len(offset):
            return
        self._note_offsets(offset)
        running = self._running_totals(records, superseded)
        self._note_section(self.scan.dirty, records, running, self._plan.first_dirty_offset)
        repeats = offset[records.previous_offset >= 0]
        if self._repeats_from is None and len(repeats):  # a known first dirty offset may be above them
            self._repeats_from = max(int(repeats[0]), self._plan.first_dirty_offset)
        if self._repeats_from is not None:
            self._note_section(self.scan.estimated, records, running, self._repeats_from)
        self._note_segments(records, running)
        self._note_horizons(records)
        for scan in self._maps:
            scan.feed(offset, records.previous_offset, records.is_mapped, records.rows.is_aborted)
        self._totals = running[-1]

    def finish(self) -> LogScan:
        """The result of the scan; fixed offsets after the last record are noted now."""
        self.scan.end = Mark(self.scan.last_offset + 1, tuple(self._totals.tolist()))
        for offset in self._plan.fixed_offsets[len(self.scan.fixed) :]:
            self.scan.fixed.append(ScannedSegment(Mark(offset, self.scan.end.totals)))
        self.scan.full_maps_at = [[full.stop_offset for full in scan.full] for scan in self._maps]
        return self.scan

    def _note_offsets(self, offset: Longs) -> None:
        scan = self.scan
        scan.first_offset = int(offset[0]) if scan.first_offset < 0 else scan.first_offset
        scan.last_offset = int(offset[-1])

    def _running_totals(self, records: LogRows, superseded: Mapping[str, Longs]) -> Longs:
        """(n + 1, len(TOTALS)): row ``i`` holds the totals below record ``i``."""
        rows, is_mapped, log_bytes = records.rows, records.is_mapped, records.log_bytes
        is_keyless = ~rows.has_key & ~rows.is_aborted & ~rows.is_control
        tombstones = rows.is_tombstone & is_mapped
        stamped = tombstones & (rows.delete_horizon_ms != UNKNOWN_HORIZON_MS)
        due = stamped & (rows.delete_horizon_ms <= self._plan.now_ms)
        opens = is_mapped & (rows.offset >= self._plan.first_dirty_offset)
        opens &= records.previous_offset < self._plan.first_dirty_offset
        steps = [
            np.ones(len(rows), np.int64),
            log_bytes,
            superseded["bytes"],
            superseded["records"],
            np.where(is_keyless, log_bytes, 0),
            is_keyless,
            np.where(rows.is_aborted, log_bytes, 0),
            rows.is_aborted,
            tombstones - superseded["tombstones"],
            stamped - superseded["stamped"],
            due - superseded["due"],
            np.where(due, log_bytes, 0) - superseded["due_bytes"],
            opens,
        ]
        running = np.zeros((len(rows) + 1, len(TOTALS)), np.int64)
        np.stack([step.astype(np.int64) for step in steps], axis=1, out=running[1:])
        running[0] = self._totals
        return np.cumsum(running, axis=0)

    def _note_section(self, section: DirtySection, records: LogRows, running: Longs, since: int) -> None:
        offset, timestamp_ms = records.rows.offset, records.timestamp_ms
        dirty = offset >= since
        if section.start is None and dirty.any():
            section.start = _mark(offset, running, int(np.argmax(dirty)))
        for i, limit_ms in enumerate(self._plan.young_limits_ms):
            young = dirty & (timestamp_ms > limit_ms)
            if section.young[i] is None and young.any():
                section.young[i] = _mark(offset, running, int(np.argmax(young)))
        dated = timestamp_ms[dirty & (timestamp_ms > 0)]
        if len(dated):
            oldest_ms = int(dated.min())
            section.oldest_ms = oldest_ms if section.oldest_ms < 0 else min(section.oldest_ms, oldest_ms)

    def _note_horizons(self, records: LogRows) -> None:
        rows = records.rows
        waits = rows.is_tombstone & records.is_mapped & (rows.superseded_at_offset == NEVER)
        waits &= rows.delete_horizon_ms > self._plan.now_ms
        if waits.any():
            scan, horizons_ms = self.scan, rows.delete_horizon_ms[waits]
            first_ms = int(horizons_ms.min())
            scan.next_due_ms = first_ms if scan.next_due_ms < 0 else min(scan.next_due_ms, first_ms)
            scan.last_due_ms = max(scan.last_due_ms, int(horizons_ms.max()))

    def _note_segments(self, records: LogRows, running: Longs) -> None:
        offset, timestamp_ms, count = records.rows.offset, records.timestamp_ms, len(self.scan.fixed)
        reached = int(np.searchsorted(self._fixed_offsets, offset[-1], side="right"))
        fixed = self._fixed_offsets[count:reached]
        starts = np.searchsorted(offset, fixed).tolist()
        marks = [Mark(int(o), tuple(running[i].tolist())) for o, i in zip(fixed, starts, strict=True)]
        _extend(self.scan.fixed, timestamp_ms, starts, marks)
        for roller, segments in zip(self._rollers, self.scan.rolled, strict=True):
            starts = roller.starts(Appends(offset, timestamp_ms, records.log_bytes))
            _extend(segments, timestamp_ms, starts, [_mark(offset, running, start) for start in starts])


def _extend(
    segments: list[ScannedSegment], timestamp_ms: Longs, starts: list[int], marks: Sequence[Mark]
) -> None:
    """Add figures of the records to the segment at hand and to those that start among them."""
    for i, (start, end) in enumerate(pairwise([0, *starts, len(timestamp_ms)])):
        if i > 0:
            segments.append(ScannedSegment(marks[i - 1]))
        if start == end or not segments:
            continue
        segment, timestamps_ms = segments[-1], timestamp_ms[start:end]
        if segment.first_timestamp_ms is None:
            segment.first_timestamp_ms = int(timestamps_ms[0])
        segment.largest_timestamp_ms = max(segment.largest_timestamp_ms, int(timestamps_ms.max()))


def _mark(offset: Longs, running: Longs, at: int) -> Mark:
    return Mark(int(offset[at]), tuple(running[at].tolist()))
