"""Arrow rows as blocks of a shuffle: cut by receiver on the one side, put together again on the other."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from kcompact.engine.shuffle import Block

_RADIX_SORTED = 1 << 16  # numpy sorts numbers of two bytes in one pass
_PACKED = pa.ipc.IpcWriteOptions(compression="lz4")  # column by column: half the bytes for Java to carry
_ROWS_AT_A_TIME = 250_000  # that are cut by receiver: with fewer, blocks cost more than their rows


def row_blocks(kind: str, rows: pa.Table, receiver_of: np.ndarray) -> Iterator[tuple[int, Block]]:
    """Rows cut into a block for each receiver, with the receiver's number. Rows keep their order.

    ``receiver_of`` holds the receiver of each row (int64).
    """
    if not rows.num_rows:
        return
    small = receiver_of.astype(np.uint16) if receiver_of.max() < _RADIX_SORTED else receiver_of
    order = np.argsort(small, kind="stable")
    ordered = receiver_of[order]
    batch = rows.take(pa.array(order)).combine_chunks()
    cuts = np.flatnonzero(np.diff(ordered)) + 1
    for start, end in pairwise([0, *cuts.tolist(), len(ordered)]):
        yield int(ordered[start]), block_of(kind, batch.slice(start, end - start))


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of one schema, put together into tables of some _ROWS_AT_A_TIME rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows >= _ROWS_AT_A_TIME:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def rows_in(blocks: Iterable[Block], kind: str) -> list[pa.RecordBatch]:
    """The rows of all blocks of one kind, in their order, without empty batches."""
    return [
        batch
        for block in blocks
        if block.kind == kind
        for batch in pa.ipc.open_stream(block.content)
        if batch.num_rows
    ]


def block_of(kind: str, rows: pa.Table) -> Block:
    """All rows in one block, as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_PACKED) as writer:
        writer.write_table(rows)
    return Block(kind, bytes(sink.getvalue()))
