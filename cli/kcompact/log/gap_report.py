"""gaps.csv in the full form, log by log, and what stayed of each log."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.log.full_job import FullJob, part_name
from kcompact.log.verdicts import Verdict


@dataclass(frozen=True)
class KeptLog:
    """What stays of one log; the gaps include those before the first and after the last kept record."""

    log_id: int
    kept: int
    kept_bytes: int
    tombstones_kept: int
    first_kept: int  # -1: nothing stays
    last_kept: int
    gaps: int
    gap_offsets: int
    gap_missing_before: int
    gaps_bytes: int


GAPS_BY = ("log_id", "offset", "record_bytes", "is_tombstone")
"""What ``report_gaps`` needs of a row beside its verdict."""


def report_gaps(verdicts: DataFrame, job: FullJob) -> dict[int, KeptLog]:
    """Write the gaps of every log into parts."""
    rows = verdicts.where(F.col("verdict") != int(Verdict.REPEATED)).select(
        "log_id",
        "offset",
        "record_bytes",
        "is_tombstone",
        (F.col("verdict") == int(Verdict.RETAINED)).alias("kept"),
    )
    rows = rows.repartition("log_id").sortWithinPartitions("log_id", "offset")
    found = rows.mapInArrow(_gap_work(job), "report binary").toArrow()["report"].to_pylist()
    return {log.log_id: log for log in (KeptLog(**orjson.loads(row)) for row in found)}


def _gap_work(job: FullJob) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reports: list[bytes] = []
        log: _Log | None = None
        for batch in batches:
            for log_id, rows in _by_log(batch):
                if log is None or log.log_id != log_id:
                    reports += [] if log is None else [log.finish()]
                    log = _Log(job, log_id)
                log.add(rows)
        reports += [] if log is None else [log.finish()]
        yield pa.RecordBatch.from_arrays([pa.array(reports, pa.binary())], ["report"])

    return work


def _by_log(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Slices of a batch sorted by log."""
    log_ids = batch.column("log_id").to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(log_ids)) + 1).tolist(), len(log_ids)]
    for start, end in itertools.pairwise(cuts):
        if start < end:
            yield int(log_ids[start]), batch.slice(start, end - start)


class _Log:
    """Adds up one log, whose rows come in the order of offsets, however many they are."""

    def __init__(self, job: FullJob, log_id: int) -> None:
        self.log_id = log_id
        self._name = job.names[log_id]
        self._render = job.render_gaps
        self._part = (job.folder / part_name("gaps", log_id)).open("wb")
        self._kept = KeptLog(log_id, 0, 0, 0, -1, -1, 0, 0, 0, 0)
        self._start = (
            self._end
        ) = -1  # of the gap that may be open: from the first row or behind the last kept
        self._present = 0  # records in it

    def add(self, rows: pa.RecordBatch) -> None:
        offsets, kept = (rows.column(name).to_numpy(zero_copy_only=False) for name in ("offset", "kept"))
        if self._start < 0:
            self._start = int(offsets[0])
        self._end = int(offsets[-1]) + 1
        where = np.flatnonzero(kept)
        if not len(where):
            self._present += len(offsets)
            return
        starts = np.concatenate([[self._start], offsets[where[:-1]] + 1])
        present = np.diff(where, prepend=-1) - 1
        present[0] += self._present
        self._write(starts, offsets[where], present)
        self._start, self._present = int(offsets[where[-1]]) + 1, len(offsets) - 1 - int(where[-1])
        self._count(rows, kept)

    def finish(self) -> bytes:
        """Write what is missing at the end; the log's figures as JSON."""
        self._write(np.array([self._start]), np.array([self._end]), np.array([self._present]))
        self._part.close()
        return orjson.dumps(asdict(self._kept))

    def _write(self, starts: np.ndarray, ends: np.ndarray, present: np.ndarray) -> None:
        wide = ends > starts
        gaps = np.stack([starts, ends, ends - starts - present], axis=1)[wide]
        text = self._render(*self._name, gaps)
        self._part.write(text)
        self._kept = replace(
            self._kept,
            gaps=self._kept.gaps + len(gaps),
            gap_offsets=self._kept.gap_offsets + int((gaps[:, 1] - gaps[:, 0]).sum()),
            gap_missing_before=self._kept.gap_missing_before + int(gaps[:, 2].sum()),
            gaps_bytes=self._kept.gaps_bytes + len(text),
        )

    def _count(self, rows: pa.RecordBatch, kept: np.ndarray) -> None:
        offsets, record_bytes, is_tombstone = (
            rows.column(name).to_numpy(zero_copy_only=False)[kept]
            for name in ("offset", "record_bytes", "is_tombstone")
        )
        self._kept = replace(
            self._kept,
            kept=self._kept.kept + len(offsets),
            kept_bytes=self._kept.kept_bytes + int(record_bytes.sum(dtype=np.int64)),
            tombstones_kept=self._kept.tombstones_kept + int(is_tombstone.sum()),
            first_kept=int(offsets[0]) if self._kept.first_kept < 0 else self._kept.first_kept,
            last_kept=int(offsets[-1]),
        )
