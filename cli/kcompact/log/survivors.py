"""Pass 2 of the full form: the retained records are copied, split by split."""

from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcompact.dumps.assemble import Fragment
from kcompact.engine.copying import Part, rows_by_split
from kcompact.engine.indexing import TASK_SHIFT
from kcompact.log.full_job import FullJob
from kcompact.log.verdicts import Verdict

COPIED_BY = ("split_id", "position", "record_bytes", "log_id", "offset")
"""What ``copy_survivors`` needs of a row beside its verdict."""


def copy_survivors(verdicts: DataFrame, job: FullJob) -> list[Fragment]:
    """Copy the retained records; the fragments of the output, by split."""
    kept = verdicts.where(F.col("verdict") == int(Verdict.RETAINED)).select(*COPIED_BY)
    kept = kept.repartitionById(len(job.plan.tasks), F.shiftright("split_id", TASK_SHIFT))
    copied = kept.sortWithinPartitions("split_id", "position").mapInArrow(_copy_work(job), "fragment binary")
    fragments = [Fragment(**orjson.loads(row)) for row in copied.toArrow()["fragment"].to_pylist()]
    return sorted(fragments, key=lambda fragment: fragment.split_id)


def _copy_work(job: FullJob) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part: Part | None = None
        fragments: list[bytes] = []
        for split_id, found in rows_by_split(batches):
            part = part or Part(job.plan, f"part-{split_id >> TASK_SHIFT:06}", job.copier)
            rows = _in_output_order(job, split_id, found)
            positions, record_bytes = rows["position"].to_numpy(), rows["record_bytes"].to_numpy()
            fragments.append(orjson.dumps(asdict(part.copy(split_id, positions, record_bytes))))
        if part is not None:
            part.close()
        yield pa.RecordBatch.from_arrays([pa.array(fragments, pa.binary())], ["fragment"])

    return work


def _in_output_order(job: FullJob, split_id: int, rows: pa.Table) -> pa.Table:
    """As in the input, or by topic, partition and offset where the input is out of order."""
    if job.plan.split(split_id).file_id not in job.sorted_files:
        return rows
    ranks = job.ranks()
    known, inverse = np.unique(rows["log_id"].to_numpy(), return_inverse=True)
    rank = np.array([ranks[int(log_id)] for log_id in known])[inverse]
    return rows.take(np.lexsort((rows["offset"].to_numpy(), rank)))
