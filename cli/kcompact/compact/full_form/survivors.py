"""Pass 2 of the full form: the retained records are copied, split by split."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.cleaning import Cleaning
from kcompact.cleaner.tracked import share_rows
from kcompact.compact.full_form.full_job import FullJob
from kcompact.compact.task_files import results_of
from kcompact.dumps.output.assemble import Fragment
from kcompact.engine.blocks import row_blocks, rows_in
from kcompact.engine.passes.copy_pass import open_part
from kcompact.engine.passes.index_pass import TASK_SHIFT
from kcompact.engine.shuffle import Block, Sent
from kcompact.rules.decisions import Plan, with_verdicts
from kcompact.rules.verdicts import Verdict

_SURVIVORS = "survivors"
_COPIED_BY = ["split_id", "position", "record_bytes", "log_id", "offset"]


def copy_survivors(cleaning: Cleaning, job: FullJob) -> list[Fragment]:
    """Copy the retained records; the fragments of the output, by split."""
    plans = cleaning.plans
    sent = cleaning.tracked.shared.then(len(job.plan.tasks), lambda _, blocks: _send_survivors(blocks, plans))
    parts, _ = results_of(sent, job.plan.task_bytes, job, _copy)
    return [fragment for part in parts for fragment in part]


def _send_survivors(blocks: list[Block], plans: Mapping[int, Plan]) -> Sent:
    rows = with_verdicts(share_rows(blocks), plans)
    kept = rows.filter(pc.equal(rows["verdict"], int(Verdict.RETAINED))).select(_COPIED_BY)
    return row_blocks(_SURVIVORS, kept, kept["split_id"].to_numpy().astype(np.int64) >> TASK_SHIFT)


def _copy(job: FullJob, task: int, blocks: list[Block]) -> list[Fragment]:
    batches = rows_in(blocks, _SURVIVORS)
    if not batches:
        return []
    rows = pa.Table.from_batches(batches).sort_by([("split_id", "ascending"), ("position", "ascending")])
    part = open_part(job.plan, job.workplace, f"{task:06}", job.copier)
    fragments = []
    for split_id in np.unique(rows["split_id"].to_numpy()).tolist():
        of_split = _in_output_order(job, split_id, rows.filter(pc.equal(rows["split_id"], split_id)))
        places = of_split["position"].to_numpy(), of_split["record_bytes"].to_numpy()
        fragments.append(part.copy(split_id, *places))
    part.close()
    return fragments


def _in_output_order(job: FullJob, split_id: int, rows: pa.Table) -> pa.Table:
    """As in the input, or by topic, partition and offset where the input is out of order."""
    if job.plan.split(split_id).file_id not in job.sorted_files:
        return rows
    ranks = job.ranks()
    known, inverse = np.unique(rows["log_id"].to_numpy(), return_inverse=True)
    rank = np.array([ranks[int(log_id)] for log_id in known])[inverse]
    return rows.take(np.lexsort((rows["offset"].to_numpy(), rank)))
