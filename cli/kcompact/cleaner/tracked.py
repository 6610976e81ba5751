"""Index rows with all that rules need to know of each record: the facts known beside the dump, and its links.

All rows of a key meet in one task, which finds their links; then each row goes on to the share that holds its
offset. Every question about a log is then answered by its shares, in one stage each. Spark keeps the blocks
that tasks have sent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from kcompact.cleaner.shares import Shares, slices_by_log
from kcompact.dumps.records.record import index_schema
from kcompact.engine.blocks import joined, row_blocks, rows_in
from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.passes.summaries import SUMMARIES, packed, to_second_pass
from kcompact.engine.shuffle import DRIVER, Block, Send, Sent, Stage
from kcompact.rules.links import LINKS, with_links
from kcompact.rules.lookups import LOOKED_UP, Lookup, look_up
from kcompact.rules.orders import order_by_place

State = TypeVar("State")
Result = TypeVar("Result")
AddColumns = Callable[[pa.Table], pa.Table]

ROW_BLOCKS = "rows"
"""The kind of blocks that index rows and tracked rows travel in."""

_SHARED = ("log_id", "offset", "timestamp_ms", "log_bytes", "is_tombstone", "is_control", "has_key")
_PLACE = ("split_id", "position", "record_bytes")
INDEXED = frozenset({"log_bytes", "is_control"})
"""The extra columns (``EXTRA_FIELDS``) that the index has to hold beside INDEX_SCHEMA."""

TRACKED = (*_SHARED, *_PLACE, *LOOKED_UP.names, *LINKS.names)
"""The columns of a share's rows, which are in the order of logs, offsets and places in the dump."""


def send_index(send: Send, plan: IndexPlan, receivers: int) -> Stage:
    """Pass 1: send all index rows of a key to one receiver, and the summaries of splits to the driver.

    Rows without a key are sent by their offset, so that rows of the same offset meet.
    """

    def work(task: int) -> Sent:
        reader = TaskReader(plan, task)
        for rows in joined(reader.rows()):
            yield from row_blocks(ROW_BLOCKS, rows, receivers_of(rows, receivers))
        summaries = packed(reader.summaries.values())
        yield DRIVER, Block(SUMMARIES, summaries)
        yield to_second_pass(task, receivers, summaries)

    return send(len(plan.tasks), receivers, work)


def receivers_of(rows: pa.Table, receivers: int) -> np.ndarray:
    """The receiver of each index row: the same for all rows of a key, by offset for rows without a key."""
    return receivers_by_key(rows["key"], receivers, lambda: rows["offset"].to_numpy() % receivers)


@dataclass(frozen=True)
class Tracked:
    """The rows of a dump: in ``keyed`` by key (``rows_of_keys``), in ``shared`` by share, without keys."""

    keyed: Stage
    shared: Stage
    shares: Shares
    lookups: Mapping[int, Lookup]

    def each(self, work: Callable[[pa.Table], Result]) -> list[Result]:
        """The results of ``work`` on each share's rows, in the order of shares."""
        return self.each_numbered(lambda _, rows: work(rows))

    def each_numbered(self, work: Callable[[int, pa.Table], Result]) -> list[Result]:
        """Like ``each``, for work that also takes the number of the share."""
        return self.shared.results(lambda share, blocks: work(share, share_rows(blocks)))

    def in_turn(
        self, states: Mapping[int, State], feed: Callable[[State, pa.Table], State]
    ) -> dict[int, State]:
        """See the function ``in_turn``."""
        return in_turn(self.shared, self.shares, share_rows, states, feed)


def in_turn(
    shared: Stage,
    shares: Shares,
    rows_of_share: Callable[[Sequence[Block]], pa.Table],
    states: Mapping[int, State],
    feed: Callable[[State, pa.Table], State],
) -> dict[int, State]:
    """Feed the rows of each log in ``states`` to its state, share by share in the order of offsets.

    ``feed`` returns the state after some rows. Returns the last state of each log.
    """
    last_states = dict(states)
    for wave in shares.waves() if last_states else ():
        before = dict(last_states)

        def work(_: int, blocks: list[Block], before: dict[int, State] = before) -> dict[int, State]:
            logs = slices_by_log(rows_of_share(blocks))
            return {log_id: feed(before[log_id], rows) for log_id, rows in logs if log_id in before}

        for after in shared.results(work, wave):
            last_states |= after
    return last_states


def track(
    keyed: Stage, shares: Shares, lookups: Mapping[int, Lookup], add_columns: AddColumns | None = None
) -> Tracked:
    """Find the links of all rows, and send each row to the share of its offset.

    ``add_columns``, if given, adds columns to the rows that meet in a task: all rows of some keys.
    """

    def work(_: int, blocks: list[Block]) -> Sent:
        rows = rows_of_keys(blocks, lookups)
        if add_columns is not None:
            rows = add_columns(rows)
        rows = rows.drop_columns("key")
        return row_blocks(ROW_BLOCKS, rows, shares.of(rows["log_id"].to_numpy(), rows["offset"].to_numpy()))

    return Tracked(keyed, keyed.then(shares.count, work), shares, lookups)


def rows_of_keys(blocks: Sequence[Block], lookups: Mapping[int, Lookup]) -> pa.Table:
    """All rows of the keys that one receiver was sent: TRACKED's columns and ``key``, in no order."""
    rows = index_rows_in(blocks).combine_chunks()
    batch = rows.to_batches()[0] if rows.num_rows else pa.RecordBatch.from_pylist([], rows.schema)
    rows = pa.Table.from_batches([look_up(batch, lookups)])
    rows = rows.append_column("has_key", rows["key"].is_valid())
    return with_links(rows).select([*TRACKED, "key"])


def index_rows_in(blocks: Sequence[Block]) -> pa.Table:
    """The index rows that one receiver was sent."""
    return pa.Table.from_batches(rows_in(blocks, ROW_BLOCKS), index_schema(INDEXED))


def share_rows(blocks: Sequence[Block]) -> pa.Table:
    """The rows of one share, in their order."""
    batches = rows_in(blocks, ROW_BLOCKS)
    rows = pa.Table.from_batches(batches) if batches else rows_of_keys([], {}).drop_columns("key")
    rows = rows.combine_chunks()
    return rows.take(pa.array(order_by_place(rows))).combine_chunks()
