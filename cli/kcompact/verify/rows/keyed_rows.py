"""Index rows of the dumps that are verified, brought together by key in the tasks of a stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from kcompact.dumps.records.record import index_schema
from kcompact.engine.blocks import joined, row_blocks
from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.passes.summaries import packed
from kcompact.engine.shuffle import DRIVER, Block, Send, Sent, Stage
from kcompact.rules.orders import ranked, stretches
from kcompact.verify.rows.key_rows import EXTRA

BEFORE, AFTER, COMMITTED = "before", "after", "committed"
"""The dumps of a verification, and the kinds of the blocks with their rows. COMMITTED's rows are not sent."""

ORDER = pa.schema(
    [
        pa.field("previous_offset", pa.int64(), nullable=False),
        pa.field("largest_offset", pa.int64(), nullable=False),
    ]
)
"""The offset of the record before this one in its log and split, and the largest offset so far; -1: none.

Both are 0 if both are below the record's own offset: the numbers do not matter then, and equal ones take
little room.
"""

COLUMNS = EXTRA | {"log_bytes"}
ROWS_SCHEMA = pa.schema([*index_schema(COLUMNS), *ORDER])
"""The columns of all rows that are sent: INDEX_SCHEMA, COLUMNS and ORDER."""


def send_dumps(send: Send, plans: Mapping[str, IndexPlan], receivers: int) -> Stage:
    """Index dumps: rows by key to the receivers, summaries to the driver, both in blocks of the dump's kind.

    Rows without a key go by value, so that both copies of a record that only changed its place meet.
    """
    tasks = [(kind, task) for kind, plan in plans.items() for task in range(len(plan.tasks))]

    def work(number: int) -> Sent:
        kind, task = tasks[number]
        reader, order = TaskReader(plans[kind], task), OrderInSplits()
        batches = reader.rows()
        if kind == COMMITTED:
            for _ in batches:
                pass
        else:
            for rows in joined(order.add(batch) for batch in batches):
                yield from row_blocks(kind, rows, by_key(rows, receivers))
        yield summaries_block(kind, reader, plans)

    return send(len(tasks), receivers, work)


def summaries_block(kind: str, reader: TaskReader, plans: Mapping[str, IndexPlan]) -> tuple[int, Block]:
    """A task's summaries for the driver. AFTER's runs of offsets are many, and only needed without BEFORE."""
    with_runs = kind != AFTER or BEFORE not in plans
    return DRIVER, Block(kind, packed(reader.summaries.values(), with_runs=with_runs))


@dataclass
class OrderInSplits:
    """The last and the largest offset of each split and log so far."""

    offsets_by_place: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def add(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that come next, with the columns of ORDER added."""
        split_id, log_id = rows.column("split_id").to_numpy(), rows.column("log_id").to_numpy()
        offset = rows.column("offset").to_numpy()
        previous, largest = np.full(len(offset), -1), np.full(len(offset), -1)
        (_, splits), (logs, of_log) = ranked(split_id), ranked(log_id)
        for at in stretches(splits * len(logs) + of_log):
            place, offsets = (int(split_id[at[0]]), int(log_id[at[0]])), offset[at]
            last, most = self.offsets_by_place.get(place, (-1, -1))
            before = np.concatenate(([last], offsets[:-1]))
            reached = np.maximum.accumulate(np.concatenate(([most], offsets)))
            is_in_order = (reached[:-1] < offsets) & (before >= 0)
            previous[at] = np.where(is_in_order, 0, before)
            largest[at] = np.where(is_in_order, 0, reached[:-1])
            self.offsets_by_place[place] = int(offsets[-1]), int(reached[-1])
        columns = [*rows.columns, pa.array(previous), pa.array(largest)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*rows.schema, *ORDER]))


def by_key(rows: pa.Table, receivers: int) -> np.ndarray:
    """The receiver of each row: by key, or by value if it has no key."""
    return receivers_by_key(rows["key"], receivers, lambda: receivers_by_key(rows["value_hash"], receivers))


def by_place(rows: pa.Table, receivers: int) -> np.ndarray:
    """The receiver of each row by offset: records of one place meet."""
    numbers: np.ndarray = rows["offset"].to_numpy() % receivers
    return numbers
