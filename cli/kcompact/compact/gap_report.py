"""gaps.csv in the full form: within each share by the task that holds it, between shares by the driver."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.cleaning import Cleaning
from kcompact.cleaner.shares import slices_by_log
from kcompact.cleaner.tracked import share_rows
from kcompact.compact.full_job import FullJob
from kcompact.compact.plain_copying import RenderGaps
from kcompact.compact.task_files import results_of
from kcompact.compact.totals import PartRange, Piece
from kcompact.rules.decisions import Plan, with_verdicts
from kcompact.rules.verdicts import Verdict


@dataclass
class KeptLog:
    """The kept records of one log; the gaps include those before the first and after the last of them."""

    kept: int = 0
    kept_bytes: int = 0
    tombstones_kept: int = 0
    first_kept: int = -1  # -1: nothing stays
    last_kept: int = -1
    gaps: int = 0
    gap_offsets: int = 0
    gap_missing_before: int = 0
    pieces: list[Piece] = field(default_factory=list)  # of gaps.csv

    def add_gaps(self, gaps: np.ndarray, piece: Piece) -> None:
        """Count gaps (rows of ``gap_rows``) that a piece of the report names."""
        self.gaps += len(gaps)
        self.gap_offsets += int((gaps[:, 1] - gaps[:, 0]).sum())
        self.gap_missing_before += int(gaps[:, 2].sum())
        self.pieces.append(piece)


@dataclass(frozen=True)
class _KeptShare:
    """The kept records of one log in one share. Record counts leave repeated offsets out."""

    log_id: int
    first_offset: int  # of all records
    end_offset: int  # after the last of them
    records: int
    before_first_kept: int
    after_last_kept: int
    kept: KeptLog  # within the share


def report_gaps(cleaning: Cleaning, job: FullJob) -> dict[int, KeptLog]:
    """Write the gaps of every log into parts; what stays of each log, by log id."""
    plans = cleaning.plans
    shares, _ = results_of(
        cleaning.tracked.shared,
        [0] * cleaning.tracked.shares.count,
        job,
        lambda job, share, blocks: _report_share(job, share, share_rows(blocks), plans),
    )
    parts: dict[int, list[_KeptShare]] = defaultdict(list)
    for share in shares:
        for part in share:
            parts[part.log_id].append(part)
    return {i: _together(of_log, job.names[i], job.render_gaps) for i, of_log in parts.items()}


def _report_share(job: FullJob, share: int, rows: pa.Table, plans: Mapping[int, Plan]) -> list[_KeptShare]:
    rows = with_verdicts(rows, plans)
    rows = rows.filter(pc.not_equal(rows["verdict"], int(Verdict.REPEATED)))
    name = f"gaps-{share:06}"
    found = []
    with job.workplace.create(name) as part:
        for log_id, of_log in slices_by_log(rows):
            gaps, kept = _kept(log_id, of_log)
            start = part.tell()
            part.write(job.render_gaps(*job.names[log_id], gaps))
            kept.kept.add_gaps(gaps, PartRange(name, start, part.tell()))
            found.append(kept)
    return found


def _kept(log_id: int, rows: pa.Table) -> tuple[np.ndarray, _KeptShare]:
    """The gaps between the kept records of one log in a share, and its figures."""
    offsets = rows["offset"].to_numpy()
    where = np.flatnonzero(rows["verdict"].to_numpy() == int(Verdict.RETAINED))
    kept = KeptLog()
    before, after = len(offsets), len(offsets)
    if len(where):
        stays = rows.take(pa.array(where))
        kept.kept = len(where)
        kept.kept_bytes = int(stays["record_bytes"].to_numpy().sum(dtype=np.int64))
        kept.tombstones_kept = pc.sum(stays["is_tombstone"]).as_py()
        kept.first_kept, kept.last_kept = int(offsets[where[0]]), int(offsets[where[-1]])
        before, after = int(where[0]), len(offsets) - 1 - int(where[-1])
    starts, ends, present = offsets[where[:-1]] + 1, offsets[where[1:]], np.diff(where) - 1
    gaps = np.stack([starts, ends, ends - starts - present], axis=1)[ends > starts]
    first, end = int(offsets[0]), int(offsets[-1]) + 1
    return gaps, _KeptShare(log_id, first, end, len(offsets), before, after, kept)


def _together(parts: list[_KeptShare], name: tuple[str, int], render: RenderGaps) -> KeptLog:
    """One log over its shares, with the gaps that no share holds whole."""
    log = KeptLog()
    start, present = parts[0].first_offset, 0  # of the gap that may be open, and records in it

    def close(end_offset: int) -> None:
        if end_offset > start:
            gap = np.array([[start, end_offset, end_offset - start - present]], np.int64)
            log.add_gaps(gap, render(*name, gap))

    for part in parts:
        within = part.kept
        if not within.kept:
            present += part.records
            continue
        present += part.before_first_kept
        close(within.first_kept)
        log.kept += within.kept
        log.kept_bytes += within.kept_bytes
        log.tombstones_kept += within.tombstones_kept
        log.first_kept = within.first_kept if log.first_kept < 0 else log.first_kept
        log.last_kept = within.last_kept
        log.gaps += within.gaps
        log.gap_offsets += within.gap_offsets
        log.gap_missing_before += within.gap_missing_before
        log.pieces += within.pieces
        start, present = within.last_kept + 1, part.after_last_kept
    close(parts[-1].end_offset)
    return log
