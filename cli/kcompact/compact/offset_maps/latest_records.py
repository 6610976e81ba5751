"""The plain run: in one closed log that was never cleaned the latest record of each key stays."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kcompact.compact.offset_maps.key_groups import HowToRead, KeyScan, groups_of_keys, read_keys
from kcompact.compact.output.decided_rows import decided_table
from kcompact.compact.output.keys_across_partitions import find_shared_keys
from kcompact.compact.output.stages import Decide, DecidedStages, KeyFigures, decided_by_task
from kcompact.compact.request import Decided, Request, job_for, refuse_doubtful, refuse_null_keys
from kcompact.dumps.dump import Dump
from kcompact.engine.passes.grouped_rows import GROUPED, is_tombstone_of
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.shuffle import Block, Send
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.verdicts import Verdict


def decide_latest(
    send: Send, dump: Dump, request: Request, plan: IndexPlan, merge_tasks: int
) -> Decided | None:
    """None: the dump is out of order, or may hold an offset twice, which no key tells."""
    scan = read_keys(send, dump, HowToRead(plan, merge_tasks))
    refuse_doubtful(dump, scan.notes, request)
    refuse_null_keys(scan, request.policy, sum(part.null_keys for part in scan.summaries))
    if not scan.is_in_order:
        return None
    decide = latest_of_keys(scan, drop_tombstones=request.policy.drop_tombstones)
    job = job_for(request, scan)
    return Decided(scan, job, DecidedStages(decided_by_task(scan.keyed, job, decide)))


def latest_of_keys(scan: KeyScan, *, drop_tombstones: bool) -> Decide:
    """The latest record of each key stays."""
    reading, names = scan.reading, scan.names

    def decide(blocks: list[Block]) -> Iterator[tuple[pa.Table, KeyFigures]]:
        for groups in groups_of_keys(blocks, reading):
            keys = GROUPED.merged(groups)
            yield _latest(keys, drop_tombstones=drop_tombstones), KeyFigures(find_shared_keys(keys, names))

    return decide


def _latest(keys: pa.Table, *, drop_tombstones: bool) -> pa.Table:
    """DECIDED_SCHEMA rows of one row per log and key (GROUPED_SCHEMA)."""
    dropped = is_tombstone_of(keys["location"].to_numpy()) & drop_tombstones
    verdict = np.where(dropped, int(Verdict.EXPIRED_TOMBSTONE), int(Verdict.RETAINED)).astype(np.int8)
    return decided_table(
        keys.append_column("verdict", pa.array(verdict)),
        np.where(dropped, NO_OFFSET, keys["last_offset"].to_numpy()),
        keys["records"].to_numpy() - ~dropped,
        keys["first_offset"].to_numpy(),
    )
