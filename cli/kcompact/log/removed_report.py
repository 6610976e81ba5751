"""removed-keys.csv in the full form, log by log."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.log.full_job import REASON_NAMES, FullJob, part_name
from kcompact.log.plain_copying import REMOVED_SCHEMA
from kcompact.log.verdicts import Verdict


@dataclass(frozen=True)
class RemovedLog:
    """The keys of one log, those that lost records, and the bytes of their part."""

    log_id: int
    keys: int = 0
    removed_keys: int = 0
    part_bytes: int = 0


REMOVED_BY = ("log_id", "key", "offset")
"""What ``report_removed_keys`` needs of a row beside its verdict."""


def report_removed_keys(verdicts: DataFrame, job: FullJob) -> dict[int, RemovedLog]:
    """Write the keys that lost records into parts, in the order of their last offset."""
    retained, verdict = F.col("verdict") == int(Verdict.RETAINED), F.col("verdict")
    removed = ~retained & (verdict != int(Verdict.REPEATED))
    keys = (
        verdicts.where("key is not null")
        .groupBy("log_id", "key")
        .agg(
            F.count_if(removed).alias("records_removed"),
            F.min(F.when(removed, F.col("offset"))).alias("first_offset_removed"),
            F.max(F.when(retained, F.col("offset"))).alias("retained_offset"),
            F.max_by("verdict", F.when(removed, F.col("offset"))).alias("last_verdict"),
            F.max("offset").alias("last_offset"),
        )
    )
    keys = keys.repartition("log_id").sortWithinPartitions("log_id", "last_offset")
    found = keys.mapInArrow(_removed_work(job), "report binary").toArrow()["report"].to_pylist()
    return {log.log_id: log for log in (RemovedLog(**orjson.loads(row)) for row in found)}


def _removed_work(job: FullJob) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        logs: dict[int, RemovedLog] = {}
        for batch in batches:
            log_ids = batch.column("log_id").to_numpy()
            for log_id in np.unique(log_ids).tolist():
                rows = pa.Table.from_batches([batch]).take(np.flatnonzero(log_ids == log_id))
                logs[log_id] = _added(job, logs.get(log_id), log_id, rows)
        reports = [orjson.dumps(asdict(log)) for log in logs.values()]
        yield pa.RecordBatch.from_arrays([pa.array(reports, pa.binary())], ["report"])

    return work


def _added(job: FullJob, before: RemovedLog | None, log_id: int, rows: pa.Table) -> RemovedLog:
    lost = rows.filter(pa.array(rows["records_removed"].to_numpy() > 0))
    text = job.render_removed(*job.names[log_id], _removed_rows(lost))
    with (job.folder / part_name("removed", log_id)).open("ab" if before else "wb") as part:
        part.write(text)
    before = before or RemovedLog(log_id)
    return RemovedLog(
        log_id,
        keys=before.keys + rows.num_rows,
        removed_keys=before.removed_keys + lost.num_rows,
        part_bytes=before.part_bytes + len(text),
    )


def _removed_rows(lost: pa.Table) -> pa.Table:
    """REMOVED_SCHEMA rows; the reason why a key is gone is that of its last record."""
    stays = lost["retained_offset"].is_valid().to_numpy()
    reasons = [REASON_NAMES[Verdict(code)] for code in lost["last_verdict"].to_pylist()]
    columns = [lost[name] for name in REMOVED_SCHEMA.names[:-1]]
    return pa.table([*columns, pa.array(reasons, pa.string(), mask=stays)], schema=REMOVED_SCHEMA)
