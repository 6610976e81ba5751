"""gaps.csv in the full form, log by log, and what stayed of each log."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.engine.copying import rows_by_split
from kcompact.log.full_job import FullJob, part_name
from kcompact.log.gaps import Presence, gap_rows
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
        F.col("log_id").alias("split_id"),  # what rows_by_split goes by
        "offset",
        "record_bytes",
        "is_tombstone",
        (F.col("verdict") == int(Verdict.RETAINED)).alias("kept"),
    )
    rows = rows.repartition("split_id").sortWithinPartitions("split_id", "offset")
    found = rows.mapInArrow(_gap_work(job), "report binary").toArrow()["report"].to_pylist()
    return {log.log_id: log for log in (KeptLog(**orjson.loads(row)) for row in found)}


def _gap_work(job: FullJob) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reports = [orjson.dumps(asdict(_kept_log(job, *log))) for log in rows_by_split(batches)]
        yield pa.RecordBatch.from_arrays([pa.array(reports, pa.binary())], ["report"])

    return work


def _kept_log(job: FullJob, log_id: int, rows: pa.Table) -> KeptLog:
    offsets, kept = rows["offset"].to_numpy(), rows["kept"].to_numpy()
    gaps = _all_gaps(offsets, offsets[kept])
    text = job.render_gaps(*job.names[log_id], gaps)
    (job.folder / part_name("gaps", log_id)).write_bytes(text)
    return KeptLog(
        log_id=log_id,
        kept=int(kept.sum()),
        kept_bytes=int(rows["record_bytes"].to_numpy()[kept].sum(dtype=np.int64)),
        tombstones_kept=int((rows["is_tombstone"].to_numpy() & kept).sum()),
        first_kept=int(offsets[kept][0]) if kept.any() else -1,
        last_kept=int(offsets[kept][-1]) if kept.any() else -1,
        gaps=len(gaps),
        gap_offsets=int((gaps[:, 1] - gaps[:, 0]).sum()),
        gap_missing_before=int(gaps[:, 2].sum()),
        gaps_bytes=len(text),
    )


def _all_gaps(present: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Gaps among ``kept`` within the span of the offsets that were present (both ascending)."""
    cuts = np.flatnonzero(np.diff(present) != 1)
    runs = np.stack([present[np.r_[0, cuts + 1]], present[np.r_[cuts, len(present) - 1]] + 1], axis=1)
    ends = np.concatenate([kept, present[-1:] + 1])
    starts = np.concatenate([present[:1], kept + 1])
    wide = ends > starts
    return gap_rows(starts[wide], ends[wide], Presence(runs))
