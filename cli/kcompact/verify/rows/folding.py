"""All values of a key folded into one row: ``verify`` sends these first, as most keys need no more.

For dumps in which no offset occurs twice. Tombstones keep rows of their own: it matters when each may go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import flags_of
from kcompact.dumps.records.record_contents import as_words
from kcompact.engine.blocks import row_blocks
from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.grouping import MOST_ROWS, KeyGrouper, KeyGrouping
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.shuffle import Block, Send, Sent, Stage
from kcompact.verify.rows.key_rows import EXTRA
from kcompact.verify.rows.keyed_rows import AFTER, summaries_block

VALUES, TOMBSTONES, CONTROLS, KEYLESS = "values", "tombstones", "controls", "keyless"
"""Kinds of blocks with rows of FOLDED, beside AFTER: records of AFTER, one row each, that have a key.

The first three are BEFORE's: values, folded; tombstones and control records, one row each. KEYLESS are
AFTER's records without a key, one row each.
"""

CONTENT_COLUMNS = {
    "timestamp_ms": ("timestamp_ms",),
    "value_hash": ("value_hash", "value_hash_more"),
    "headers_hash": ("headers_hash", "headers_hash_more"),
}
"""By column of ``key_rows.CONTENT``, the columns of FOLDED that hold it."""

_MERGE = {
    "records": "sum",
    "first_offset": "min",
    "last_offset": "max",
    "second_offset": "second",
    **{name: "last" for names in CONTENT_COLUMNS.values() for name in names},
}
FOLDED = pa.schema(
    [
        pa.field("log_id", pa.int64()),
        pa.field("key", pa.binary()),
        *(pa.field(name, pa.int64()) for name in _MERGE),
    ]
)
"""Records of a log and key: number, first offset, last two offsets (-1: none), and the last one's content."""

_TASK = b"task"  # metadata of rows on their way: the number of the task that read them


FOLDING = KeyGrouping(FOLDED, _MERGE, lambda rows: rows)
"""Merges rows of FOLDED into one per (log, key)."""


def folded_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Index rows with the columns ``key_rows.EXTRA`` as rows of FOLDED, one each."""
    words = [as_words(pa.chunked_array([rows.column(name)])) for name in ("value_hash", "headers_hash")]
    offset = rows.column("offset")
    arrays = [
        rows.column("log_id"),
        rows.column("key"),
        pa.array(np.ones(rows.num_rows, np.int64)),
        offset,
        offset,
        pa.array(np.full(rows.num_rows, -1)),
        rows.column("timestamp_ms"),
        *(pa.array(words_of[:, place].copy()) for words_of in words for place in range(2)),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FOLDED)


def send_folded(send: Send, plans: Mapping[str, IndexPlan], receivers: int) -> Stage:
    """Index BEFORE and AFTER: rows of FOLDED by key to the receivers, summaries to the driver.

    BEFORE's records without a key are not sent: the summaries count them.
    """
    lean = {kind: replace(plan, extra=EXTRA) for kind, plan in plans.items()}
    tasks = [(kind, task) for kind, plan in lean.items() for task in range(len(plan.tasks))]

    def work(number: int) -> Sent:
        kind, task = tasks[number]
        reader = TaskReader(lean[kind], task)
        folded = _each_record(reader) if kind == AFTER else _values_merged(reader)
        for kind_of_rows, rows in _joined(folded):
            named = rows.replace_schema_metadata({_TASK: str(number)})
            yield from row_blocks(kind_of_rows, named, receivers_by_key(rows["key"], receivers))
        yield summaries_block(kind, reader, plans)

    return send(len(tasks), receivers, work)


def tasks_with(blocks: Iterable[Block], keys: pa.Array) -> set[int]:
    """The numbers of the tasks of ``send_folded`` whose blocks of rows have some of the keys."""
    tasks = set()
    for block in blocks if len(keys) else ():
        with pa.ipc.open_stream(block.content) as rows:
            if any(pc.any(pc.is_in(batch.column("key"), keys)).as_py() for batch in rows):
                tasks.add(int(rows.schema.metadata[_TASK]))
    return tasks


def _each_record(reader: TaskReader) -> Iterator[tuple[str, pa.RecordBatch]]:
    for batch in reader.rows():
        yield AFTER, folded_rows(_with_key(batch))
        if batch.column("key").null_count:
            yield KEYLESS, folded_rows(batch.filter(batch.column("key").is_null()))


def _values_merged(reader: TaskReader) -> Iterator[tuple[str, pa.RecordBatch]]:
    grouper = KeyGrouper(FOLDING)
    for batch in reader.rows():
        rows = _with_key(batch)
        each = folded_rows(rows)
        is_control = flags_of(rows.column("is_control"))
        is_tombstone = flags_of(rows.column("is_tombstone")) & ~is_control
        yield TOMBSTONES, each.filter(pa.array(is_tombstone))
        yield CONTROLS, each.filter(pa.array(is_control))
        for full in grouper.add(each.filter(pa.array(~is_tombstone & ~is_control))):
            yield VALUES, full
    for batch in grouper.finish().to_batches():
        yield VALUES, batch


def _joined(batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.Table]]:
    """Batches of a kind joined into tables that are large enough to be divided among the receivers."""
    waiting: dict[str, list[pa.RecordBatch]] = {}
    for kind, batch in batches:
        of_kind = waiting.setdefault(kind, [])
        of_kind.append(batch)
        if sum(map(len, of_kind)) >= MOST_ROWS:
            yield kind, pa.Table.from_batches(waiting.pop(kind), FOLDED)
    for kind, of_kind in waiting.items():
        yield kind, pa.Table.from_batches(of_kind, FOLDED)


def _with_key(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(batch.column("key").is_valid()) if batch.column("key").null_count else batch
