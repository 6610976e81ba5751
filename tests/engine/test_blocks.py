"""Arrow rows cut into blocks and put together again."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kcompact.engine.blocks import row_blocks, rows_in
from kcompact.engine.shuffle import Block, Sent, send_in_process

ROWS = pa.schema([("key", pa.binary()), ("number", pa.int64())])


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers()), max_size=20), max_size=4))
def test_rows_come_out_with_their_receiver_in_their_order(tables: list[list[tuple[int, int]]]) -> None:
    def work(task: int) -> Sent:
        rows = tables[task]
        table = pa.table([[b"%d" % n for _, n in rows], [n % 2**40 for _, n in rows]], schema=ROWS)
        return row_blocks("rows", table, np.array([receiver for receiver, _ in rows], np.int64))

    keys = send_in_process(len(tables), 6, work).results(
        lambda _receiver, blocks: [
            row["key"] for batch in rows_in(blocks, "rows") for row in batch.to_pylist()
        ]
    )

    expected = [[b"%d" % n for rows in tables for to, n in rows if to == receiver] for receiver in range(6)]
    assert keys == expected


def test_blocks_of_another_kind_hold_no_rows_to_take() -> None:
    assert rows_in([Block("other", b"no Arrow")], "rows") == []
