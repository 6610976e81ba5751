"""Kafka's cleaner decides on every record of a dump."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.cleaner.cleaning import Cleaning, clean
from kcompact.cleaner.tracked import index_rows_in, rows_of_keys
from kcompact.compact.context.log_contexts import log_contexts
from kcompact.compact.context.remembering import records_to_know
from kcompact.compact.output.decided_rows import by_key, decided_by_key, decided_table, is_last
from kcompact.compact.output.keys_across_partitions import find_shared_keys
from kcompact.compact.output.stages import (
    DecidedStages,
    KeyFigures,
    decided_by_share,
    decided_by_task,
)
from kcompact.compact.request import Decided, Request, job_for, refuse_doubtful, refuse_null_keys
from kcompact.compact.whole_logs.record_index import RecordIndex, index_records
from kcompact.compact.whole_logs.repeats import refuse_conflicts
from kcompact.dumps.dump import Dump
from kcompact.dumps.records.record import are_tombstones
from kcompact.engine.passes.grouped_rows import location_of
from kcompact.engine.shuffle import Block, Send
from kcompact.rules.decisions import Plan, with_verdicts
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.lookups import Lookup
from kcompact.rules.verdicts import Verdict


def decide_by_record(send: Send, dump: Dump, request: Request) -> Decided:
    """Decide by record, which covers every request. ``send`` runs the stages."""
    index = index_records(send, dump, request.folder)
    refuse_doubtful(dump, index.notes, request)
    job = job_for(request, index)
    if not index.summaries:
        if request.beside.state is not None:
            request.beside.state.check_logs({})
        return Decided(index, job, None)
    contexts, assumed = log_contexts(send, index, request.beside, request.folder)
    repeats = refuse_conflicts(send, index)
    cleaning = clean_records(index, contexts, request)
    keyless = sum(log.removed.get(Verdict.KEYLESS, 0) for log in cleaning.logs.values())
    refuse_null_keys(index, request.policy, keyless)
    lookups, shares = cleaning.tracked.lookups, cleaning.tracked.shares
    has_state = request.beside.state is not None
    decide = _RecordVerdicts(job.names, lookups, cleaning.plans, has_state).decide
    stages = DecidedStages(decided_by_task(index.keyed, job, decide))
    if not index.is_in_order:
        by_share = decided_by_share(
            index.keyed, shares, decide, lambda blocks: index_rows_in(blocks).select(["log_id", "offset"])
        )
        stages = DecidedStages(stages.by_task, by_share, shares.count)
    disorder = "is not in offset order: its output is, partition by partition"
    notes = [f"{dump.files[file_id].path} {disorder}" for file_id in sorted(index.sorted_files)]
    return Decided(index, job, stages, cleaning.logs, [*repeats, *assumed, *notes])


def clean_records(index: RecordIndex, contexts: Mapping[int, LogContext], request: Request) -> Cleaning:
    """The cleaner's decisions on every log."""
    policies = request.policies_of(index)
    names = {log_id: str(name) for log_id, name in index.names.items()}
    return clean(index.keyed, index.shares, contexts, policies, names)


@dataclass(frozen=True)
class _RecordVerdicts:
    """The verdicts on all records of one task's keys. Names, lookups and plans are by log id."""

    names: Mapping[int, LogName]
    lookups: Mapping[int, Lookup]
    plans: Mapping[int, Plan]
    has_state: bool

    def decide(self, blocks: list[Block]) -> Iterator[tuple[pa.Table, KeyFigures]]:
        """Decide on the keys of a task (see ``Decide``). Blocks are those of ``send_index``."""
        rows = with_verdicts(rows_of_keys(blocks, self.lookups), self.plans)
        decided = decided_records(rows)
        keys = decided.filter(pa.array(is_last(decided)))
        known = records_to_know(rows) if self.has_state else {}
        yield decided, KeyFigures(find_shared_keys(keys, self.names), known=known)


def decided_records(rows: pa.Table) -> pa.Table:
    """DECIDED_SCHEMA rows of all records of some keys, and of records without key.

    ``rows`` have the columns of TRACKED, and key and verdict.
    """
    rows = rows.filter(pc.not_equal(rows["verdict"], int(Verdict.REPEATED)))
    places = (*(rows[name].to_numpy() for name in ("split_id", "record_bytes")), are_tombstones(rows))
    rows = pa.table(
        {name: rows[name] for name in ("log_id", "key", "position", "verdict")}
        | {"first_offset": rows["offset"], "last_offset": rows["offset"]}
        | {"records": np.ones(rows.num_rows, np.int64), "location": location_of(*places)}
    )
    has_key = rows["key"].is_valid()
    keyless = rows.filter(pc.and_(pc.invert(has_key), pc.equal(rows["verdict"], int(Verdict.RETAINED))))
    offsets = keyless["last_offset"].to_numpy()
    kept = decided_table(keyless, offsets, np.full(len(offsets), NO_OFFSET), offsets)
    keyed = rows.filter(has_key)
    if not keyed.num_rows:
        return kept
    return pa.concat_tables([decided_by_key(*by_key(keyed)), kept])
