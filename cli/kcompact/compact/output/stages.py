"""The stages of the output: decided rows go to the tasks that copy them and report on them.

Where splits of a log overlap, or its offsets do not ascend, no single reading task knows which records lie
between two kept ones. Such a dump is reported on by shares of its logs' offsets, in a stage beside the
copying.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from kcompact.cleaner.shares import Shares, slices_by_log
from kcompact.compact.context.remembering import KnownByLog, chosen_of
from kcompact.compact.output.compact_job import CompactJob
from kcompact.compact.output.keys_across_partitions import SharedKeys, together
from kcompact.compact.output.reporting import ReportedLog, Reporter
from kcompact.compact.output.survivor_copying import SurvivorCopy, by_place, in_output_order
from kcompact.compact.output.task_files import results_of
from kcompact.dumps.output.assemble import Fragment
from kcompact.engine.blocks import row_blocks, rows_in
from kcompact.engine.passes.grouped_rows import split_of
from kcompact.engine.passes.index_pass import TASK_SHIFT
from kcompact.engine.passes.offset_runs import union_of
from kcompact.engine.passes.summaries import RUNS, LogSummary, passed_on, unpacked
from kcompact.engine.shuffle import DRIVER, Block, Sent, Stage

_DECIDED, _OFFSETS, _FIGURES = "decided", "offsets", "figures"


@dataclass(frozen=True)
class KeyFigures:
    """Figures of some keys. ``tallies`` leave out the records that were merged into others."""

    shared: SharedKeys = field(default_factory=SharedKeys)
    tallies: Sequence[pa.Table] = ()
    known: KnownByLog = field(default_factory=dict)  # candidates for a state; empty without a state

    @classmethod
    def together(cls, parts: Sequence["KeyFigures"]) -> "KeyFigures":
        """The figures of the keys of all parts."""
        return cls(
            together(part.shared for part in parts),
            [table for part in parts for table in part.tallies],
            chosen_of(part.known for part in parts),
        )


Decide = Callable[[list[Block]], Iterator[tuple[pa.Table, KeyFigures]]]
"""Makes DECIDED_SCHEMA rows and figures, some keys at a time, from all blocks that a merge task was sent."""


def decided_by_task(keyed: Stage, job: CompactJob, decide: Decide) -> Stage:
    """The stage that sends decided rows to the tasks that read the records, and figures to the driver."""

    def send(_: int, blocks: list[Block]) -> Sent:
        figures = []
        for rows, more in decide(blocks):
            figures.append(more)
            yield from row_blocks(_DECIDED, rows, split_of(rows["location"].to_numpy()) >> TASK_SHIFT)
        yield from passed_on(blocks)
        yield DRIVER, Block(_FIGURES, pickle.dumps(figures))

    return keyed.then(len(job.plan.tasks), send)


def decided_by_share(
    keyed: Stage, shares: Shares, decide: Decide, offsets_of: Callable[[list[Block]], pa.Table]
) -> Stage:
    """The stage that sends decided rows, and the log_id and offset of all records, to shares by offset."""

    def send(_share: int, blocks: list[Block]) -> Sent:
        offsets = offsets_of(blocks)
        places = (offsets[name].to_numpy() for name in ("log_id", "offset"))
        yield from row_blocks(_OFFSETS, offsets, shares.of(*places))
        for rows, _figures in decide(blocks):
            places = (rows[name].to_numpy() for name in ("log_id", "last_offset"))
            yield from row_blocks(_DECIDED, rows, shares.of(*places))

    return keyed.then(shares.count, send)


def figures_in(blocks: list[Block]) -> KeyFigures:
    """The figures of all keys, from the driver's blocks of ``decided_by_task``."""
    parts = (pickle.loads(block.content) for block in blocks)  # noqa: S301  pickled by decided_by_task
    return KeyFigures.together([of_keys for of_task in parts for of_keys in of_task])


@dataclass(frozen=True)
class Written:
    """The results of copying and reporting: logs by stretch, fragments of the output, and figures of keys.

    ``stretches`` holds summaries of the stretches by which logs were reported on: splits or shares.
    """

    logs: list[ReportedLog]
    fragments: list[Fragment]
    stretches: list[LogSummary]
    figures: KeyFigures


@dataclass(frozen=True)
class DecidedStages:
    """The stages that send the decided rows of a dump: ``by_task`` to the tasks that read the records.

    ``by_share`` sends them to the shares of their offsets as well; None: not needed, as offsets are in order.
    """

    by_task: Stage
    by_share: Stage | None = None
    shares: int = 0


def write(decided: DecidedStages, job: CompactJob, summaries: list[LogSummary]) -> Written:
    """Copy and report: in one pass over the rows or, where splits overlap, in two separate stages."""
    by_task, by_share = decided.by_task, decided.by_share
    work = _copy_and_report if by_share is None else _copy
    results, figures = results_of(by_task, job.plan.task_bytes, job, work)
    logs = [log for of_task, _ in results for log in of_task]
    fragments = [fragment for _, of_task in results for fragment in of_task]
    if by_share is not None:
        reports, _ = results_of(by_share, [0] * decided.shares, job, _report_share)
        logs = [log for of_share, _ in reports for log in of_share]
        summaries = [summary for _, of_share in reports for summary in of_share]
    return Written(logs, fragments, summaries, figures_in(figures))


TaskResult = tuple[list[ReportedLog], list[Fragment]]


def _copy_and_report(job: CompactJob, task: int, blocks: list[Block]) -> TaskResult:
    decided = rows_in(blocks, _DECIDED)
    if not decided:
        return [], []
    summaries, _ = unpacked(block.content for block in blocks if block.kind == RUNS)
    copy, reporter = SurvivorCopy(job, task), Reporter(job, f"{task:06}", summaries)
    for rows in by_place(decided):
        copy.add(rows)
        reporter.add(rows)
    return reporter.finish(), copy.finish()


def _copy(job: CompactJob, task: int, blocks: list[Block]) -> TaskResult:
    decided = rows_in(blocks, _DECIDED)
    if not decided:
        return [], []
    copy = SurvivorCopy(job, task)
    copy.add(in_output_order(job, decided))
    return [], copy.finish()


def _report_share(
    job: CompactJob, share: int, blocks: list[Block]
) -> tuple[list[ReportedLog], list[LogSummary]]:
    """The reported logs of a share, and a summary of each log in it, as if the share were a split."""
    offsets, decided = rows_in(blocks, _OFFSETS), rows_in(blocks, _DECIDED)
    summaries = _summaries_of(share, offsets, job) if offsets else []
    if not decided:
        return [], summaries
    rows = pa.Table.from_batches(decided).combine_chunks()
    order = np.lexsort((rows["last_offset"].to_numpy(), rows["log_id"].to_numpy()))
    rows = rows.take(pa.array(order)).append_column("split_id", pa.array(np.full(len(order), share)))
    reporter = Reporter(job, f"{share:06}", summaries)
    reporter.add(rows.combine_chunks())
    return reporter.finish(), summaries


def _summaries_of(share: int, offsets: list[pa.RecordBatch], job: CompactJob) -> list[LogSummary]:
    summaries = []
    for log_id, rows in slices_by_log(pa.Table.from_batches(offsets).sort_by("log_id")):
        starts = rows["offset"].to_numpy()
        runs = union_of(np.stack([starts, starts + 1], axis=1))
        records = int((runs[:, 1] - runs[:, 0]).sum())
        summaries.append(
            LogSummary(
                share,
                log_id,
                *job.names[log_id],
                records,
                first_offset=int(runs[0, 0]),
                last_offset=int(runs[-1, 1]) - 1,
                runs=runs,
            )
        )
    return summaries
