"""Bytes (not packed) that a plain compaction sends through Spark's shuffle, measured and by the model.

    python bench/shuffle.py [--records 400000] [--keys 60000] [--key-bytes 24] [--tasks 8]

It then shows what a topic of ten terabytes would send by the same model. Values never travel: a row
per key and reading task goes to the task that merges the key, and one per key goes on to the task that copies
its record.
"""

import argparse
import pickle
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from kcompact.engine.blocks import row_blocks
from kcompact.engine.exchange import receivers_by_key
from kcompact.engine.passes.grouped_rows import GROUPED, GROUPED_SCHEMA
from kcompact.engine.passes.grouping import KeyGrouper
from kcompact.engine.shuffle import Block, Sent, send_in_process

ROW_BYTES = 6 * 8 + 4  # six longs and the place of the key among the bytes of all keys
BLOCK_BYTES = 1_250  # of a block beside its rows: Arrow's schema and paddings, Spark's own row
MERGE_TASKS = 2
_LARGEST_SPLIT_BYTES, _DUMP_BYTES_PER_MERGE_TASK, _MOST_MERGE_TASKS = 256 << 20, 256 << 20, 512


@dataclass(frozen=True)
class Workload:
    """A compaction in the model. ``keys_of_a_task``: different keys that a reading task meets, on average."""

    tasks: int
    merge_tasks: int
    keys: int
    keys_of_a_task: float
    key_bytes: int


def shuffled_bytes(work: Workload) -> tuple[float, float]:
    """Bytes from reading to merging tasks, and from those to copying tasks."""
    row = ROW_BYTES + work.key_bytes
    blocks = work.tasks * work.merge_tasks * BLOCK_BYTES
    return work.tasks * work.keys_of_a_task * row + blocks, work.keys * row + blocks


def keys_met(draws: float, keys: int) -> float:
    """Different keys among so many draws, all keys being equally likely."""
    return keys * -np.expm1(draws * np.log1p(-1 / keys))


def measured_bytes(records: int, work: Workload, seed: int = 7) -> tuple[int, int]:
    """The bytes of ``shuffled_bytes``, measured by running the stages on keys drawn at random."""
    draws = np.random.default_rng(seed).integers(0, work.keys, records)
    cuts = np.linspace(0, records, work.tasks + 1).astype(int)
    sent = [0, 0]

    def weighed(blocks: Sent, stage: int) -> Sent:
        for receiver, block in blocks:
            sent[stage] += len(pickle.dumps(_unpacked(block)))
            yield receiver, block

    def read(task: int) -> Sent:
        start, end = list(pairwise(cuts))[task]
        rows = _index_rows(draws[start:end], start, task, work.key_bytes)
        grouper = KeyGrouper(GROUPED)
        groups = pa.Table.from_batches([*grouper.add(rows), *grouper.finish().to_batches()], GROUPED_SCHEMA)
        return weighed(row_blocks("g", groups, receivers_by_key(groups["key"], work.merge_tasks)), 0)

    def merge(_: int, blocks: list[Block]) -> Sent:
        groups = [batch for block in blocks for batch in pa.ipc.open_stream(block.content)]
        keys = GROUPED.merged(groups)
        return weighed(row_blocks("l", keys, keys["location"].to_numpy() >> 32), 1)

    send_in_process(work.tasks, work.merge_tasks, read).then(work.tasks, merge).driver_blocks()
    return sent[0], sent[1]


def _unpacked(block: Block) -> Block:
    """The block without compression, whose effect would depend on the values."""
    sink, rows = pa.BufferOutputStream(), pa.ipc.open_stream(block.content).read_all()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return block._replace(content=bytes(sink.getvalue()))


def _index_rows(draws: np.ndarray, first: int, split_id: int, key_bytes: int) -> pa.RecordBatch:
    keys = [str(number).zfill(key_bytes).encode() for number in draws.tolist()]
    offsets = np.arange(first, first + len(draws))
    columns = {
        "log_id": np.zeros(len(draws), np.int64),
        "key": pa.array(keys, pa.binary()),
        "offset": offsets,
        "split_id": np.full(len(draws), split_id, np.int32),
        "position": offsets * 300,
        "record_bytes": np.full(len(draws), 300, np.int32),
        "is_tombstone": np.zeros(len(draws), bool),
    }
    return pa.RecordBatch.from_pydict(columns)


def ten_terabytes(keys: int, record_bytes: int = 1_000, key_bytes: int = 24) -> Workload:
    """A topic of ten terabytes with equally likely keys."""
    dump_bytes = 10 * 10**12
    tasks = -(-dump_bytes // _LARGEST_SPLIT_BYTES)
    met = keys_met(_LARGEST_SPLIT_BYTES / record_bytes, keys)
    merge_tasks = min(dump_bytes // _DUMP_BYTES_PER_MERGE_TASK, _MOST_MERGE_TASKS)
    return Workload(tasks, merge_tasks, keys, met, key_bytes)


def ten_terabyte_rows() -> list[str]:
    """The table of docs/ten-terabytes.md."""
    rows = [
        "| keys | GB to the tasks that merge | GB to those that copy | GB a merging task |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for keys in (10**6, 10**8, 10**9):
        planned = ten_terabytes(keys)
        to_merge, to_copy = (size / 1e9 for size in shuffled_bytes(planned))
        rows.append(f"| {keys:,} | {to_merge:,.0f} | {to_copy:,.0f} | {to_merge / planned.merge_tasks:.1f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--keys", type=int, default=60_000)
    parser.add_argument("--key-bytes", type=int, default=24)
    parser.add_argument("--tasks", type=int, default=8)
    given = parser.parse_args()
    met = keys_met(given.records / given.tasks, given.keys)
    work = Workload(
        given.tasks, MERGE_TASKS, round(keys_met(given.records, given.keys)), met, given.key_bytes
    )
    drawn = Workload(given.tasks, MERGE_TASKS, given.keys, met, given.key_bytes)
    for name, found, modelled in zip(
        ("to merge", "to copy"), measured_bytes(given.records, drawn), shuffled_bytes(work), strict=True
    ):
        print(f"{name}: {found:,} bytes, by the model {modelled:,.0f} ({found / modelled:.2f})")
    print("\n".join(ten_terabyte_rows()))


if __name__ == "__main__":
    main()
