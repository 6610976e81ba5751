"""Index rows made from the records of many logs in one table, and cleaned without Spark."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from index_frames import part_of_rows
from kcompact.broker.log_context import LogContext
from kcompact.cleaner.cleaning import Cleaning, clean
from kcompact.cleaner.shares import Shares, plan_shares
from kcompact.cleaner.tracked import INDEXED, ROW_BLOCKS, receivers_of
from kcompact.dumps.records.indexing import index_rows
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import Record, log_id_of
from kcompact.engine.blocks import row_blocks
from kcompact.engine.passes.summaries import LogSummary, SplitSummary
from kcompact.engine.shuffle import Stage, send_in_process
from kcompact.rules.decisions import with_verdicts
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict

KEY_RECEIVERS = 3


def index_table(logs: Mapping[int, Iterable[Record]]) -> pa.Table:
    """Rows of all logs; a log has the id that it has in ``logs``, whatever topic its records name."""
    batches = []
    for split_id, (log_id, records) in enumerate(logs.items()):
        found = [(position, 1, record) for position, record in enumerate(records)]
        for batch in index_rows(found, part_of_rows(split_id), INDEXED):
            ids = pa.array([log_id] * batch.num_rows, pa.int64())
            batches.append(batch.set_column(0, batch.schema.field("log_id"), ids))
    return pa.Table.from_batches(batches)


def keyed_rows(table: pa.Table) -> Stage:
    """The rows as a scan sends them, by key."""
    blocks = row_blocks(ROW_BLOCKS, table, receivers_of(table, KEY_RECEIVERS))
    return send_in_process(1, KEY_RECEIVERS, lambda _: blocks)


def shares_of(table: pa.Table) -> Shares:
    """Shares so small that most logs have several, and the longest some fifty."""
    return plan_shares(summaries_of(table), max(40, _longest(table) // 50))


def _longest(table: pa.Table) -> int:
    counts = pc.value_counts(table["log_id"]).field("counts")
    return int(pc.max(counts).as_py() or 0)


def summaries_of(table: pa.Table) -> list[LogSummary]:
    """The summaries of logs, as if each lay in several splits."""
    summaries: list[LogSummary] = []
    step = max(25, _longest(table) // 80)
    for log_id in pc.unique(table["log_id"]).to_pylist():
        rows = table.filter(pc.equal(table["log_id"], log_id)).combine_chunks()
        for start in range(0, rows.num_rows, step):
            notes = SplitNotes(logs={log_id: (str(log_id), 0)})
            summary = SplitSummary(start, notes)
            summary.add(rows.slice(start, step).combine_chunks().to_batches()[0])
            summaries += summary.logs()
    return summaries


def cleaned(
    logs: Mapping[int, Iterable[Record]],
    contexts: Mapping[int, LogContext],
    policies: Mapping[int, Policy],
    names: Mapping[int, str] | None = None,
) -> Cleaning:
    """The result of ``clean`` on records instead of a dump."""
    table = index_table(logs)
    return clean(
        keyed_rows(table), shares_of(table), contexts, policies, names or {i: str(i) for i in policies}
    )


def retained(cleaning: Cleaning) -> list[dict[str, int]]:
    """log_id, offset and position of the records that stay."""
    parts = cleaning.tracked.each(lambda rows: with_verdicts(rows, cleaning.plans))
    rows = pa.concat_tables(parts)
    kept = rows.filter(pc.equal(rows["verdict"], int(Verdict.RETAINED)))
    return kept.select(["log_id", "offset", "position"]).to_pylist()


def log_id(*names: object) -> int:
    return log_id_of("/".join(map(str, names)), 0)
