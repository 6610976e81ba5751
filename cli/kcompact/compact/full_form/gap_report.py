"""gaps.csv in the full form: within each share by the task that holds it (between shares: ``totals``)."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.cleaning import Cleaning
from kcompact.cleaner.shares import slices_by_log
from kcompact.cleaner.tracked import share_rows
from kcompact.compact.full_form.full_job import FullJob
from kcompact.compact.task_files import results_of
from kcompact.compact.totals import KeptShare, LogOutcome, Piece, add_kept
from kcompact.rules.decisions import Plan, with_verdicts
from kcompact.rules.verdicts import Verdict


def report_gaps(cleaning: Cleaning, job: FullJob, logs: Mapping[int, LogOutcome]) -> list[Piece]:
    """Write the gaps of every log into parts, and add what stays to ``logs``; the pieces of gaps.csv."""
    plans = cleaning.plans
    shares, _ = results_of(
        cleaning.tracked.shared,
        [0] * cleaning.tracked.shares.count,
        job,
        lambda job, share, blocks: _report_share(job, share, share_rows(blocks), plans),
    )
    parts: dict[int, list[KeptShare]] = defaultdict(list)
    for share in shares:
        for part in share:
            parts[part.log_id].append(part)
    pieces: list[Piece] = []
    for log_id, log in logs.items():
        records = [0, *accumulate(part.records for part in parts[log_id])]
        pieces += add_kept(log, list(zip(parts[log_id], records, strict=False)), records[-1], job.render_gaps)
    return pieces


def _report_share(job: FullJob, share: int, rows: pa.Table, plans: Mapping[int, Plan]) -> list[KeptShare]:
    rows = with_verdicts(rows, plans)
    rows = rows.filter(pc.not_equal(rows["verdict"], int(Verdict.REPEATED)))
    task = f"{share:06}"
    kept = []
    with job.workplace.create(f"gaps-{task}") as part:
        for log_id, of_log in slices_by_log(rows):
            gaps = _gaps(of_log)
            start = part.tell()
            part.write(job.render_gaps(*job.names[log_id], gaps))
            kept.append(_kept(log_id, task, of_log, gaps, (start, part.tell())))
    return kept


def _retained(rows: pa.Table) -> np.ndarray:
    return np.flatnonzero(rows["verdict"].to_numpy() == int(Verdict.RETAINED))


def _gaps(rows: pa.Table) -> np.ndarray:
    """The gaps between the kept records of one log in a share, as rows of ``gap_rows``."""
    offsets, where = rows["offset"].to_numpy(), _retained(rows)
    starts, ends, present = offsets[where[:-1]] + 1, offsets[where[1:]], np.diff(where) - 1
    gaps: np.ndarray = np.stack([starts, ends, ends - starts - present], axis=1)[ends > starts]
    return gaps


def _kept(log_id: int, task: str, rows: pa.Table, gaps: np.ndarray, gaps_range: tuple[int, int]) -> KeptShare:
    """The figures of one log in a share."""
    offsets, where = rows["offset"].to_numpy(), _retained(rows)
    stays = rows.take(pa.array(where))
    return KeptShare(
        log_id=log_id,
        task=task,
        records=len(offsets),
        kept=len(where),
        kept_bytes=int(stays["record_bytes"].to_numpy().sum(dtype=np.int64)),
        tombstones_kept=int(stays["is_tombstone"].to_numpy().sum()),
        first_kept=int(offsets[where[0]]) if len(where) else -1,
        last_kept=int(offsets[where[-1]]) if len(where) else -1,
        records_before=int(where[0]) if len(where) else 0,
        records_through=int(where[-1]) + 1 if len(where) else 0,
        gaps=len(gaps),
        gap_offsets=int((gaps[:, 1] - gaps[:, 0]).sum()),
        gap_missing_before=int(gaps[:, 2].sum()),
        gaps_range=gaps_range,
    )
