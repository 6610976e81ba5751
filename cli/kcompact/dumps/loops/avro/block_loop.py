"""Index rows of Avro blocks: a loop reads them until it refuses a record.

From there on the reference reads the remainder of that block, as only it knows where the next record begins.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.avro.avro_container import Chunk
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.columns import new_columns
from kcompact.dumps.loops.scanned_rows import Misfit, RecordPlaces, ScannedRows, note_logs, only_wanted
from kcompact.dumps.records.layout import SplitToIndex

if TYPE_CHECKING:
    from kcompact.dumps.loops.avro.avro_scanner import AvroScanner  # which needs numba


class Cursor(NamedTuple):
    """A place in a chunk: ``done`` records of a block were read, which take its first ``at`` bytes."""

    block: int
    done: int = 0
    at: int = 0


Reference = Callable[[Chunk, Cursor, Cursor], Iterator[pa.RecordBatch]]
"""The reference reader: index rows of the records between two places of a chunk. Raises UnreadableError."""


class BlockLoop:
    """Indexes the chunks of a split, one after another."""

    def __init__(
        self, scanner: "AvroScanner", part: SplitToIndex, extra: frozenset[str], reference: Reference
    ) -> None:
        self._scanner, self._extra, self._reference = scanner, extra, reference
        self._file, self._split, self._notes, _, self._needs_extra, _ = part
        self._columns = new_columns()
        self._logs: dict[int, LogName] = {}

    def index(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``. Raises UnreadableError."""
        state, starts = self._columns.state, np.cumsum([0, *(len(unpacked) for _, unpacked in chunk)])
        self._columns = self._scanner.start(chunk, self._split.start, self._columns)
        first = Cursor(0)
        while first.block < len(chunk):
            self._scanner.scan(self._columns)
            block, records, at = (int(state[place]) for place in (c.BLOCK, c.DONE, c.AT))
            last = Cursor(block, records, at - int(starts[block]))
            behind = Cursor(block + 1) if state[c.REFUSALS] else last
            try:
                yield from self._accepted()
                if behind != last:
                    yield from self._reference(chunk, last, behind)
            except Misfit:
                yield from self._reference(chunk, first, behind)
            state[[c.BLOCK, c.DONE, c.AT]] = behind.block, behind.done, starts[behind.block] + behind.at
            first = behind

    def _accepted(self) -> Iterator[pa.RecordBatch]:
        """The rows that the loop accepted. Raises Misfit before the first one."""
        rows = ScannedRows(self._file, self._columns, self._logs)
        if not rows.count:
            return
        places = RecordPlaces(
            np.full(rows.count, self._split.split_id, np.int32),
            rows[c.START].copy(),
            (rows[c.END] - rows[c.START]).astype(np.int32),
        )
        batch = rows.batch(places, self._extra, self._scanner.more, self._needs_extra)
        rows.count_in(self._notes, 0, rows.count, is_table=True)
        note_logs(self._notes, self._file, self._logs, batch)
        yield only_wanted(batch, self._file, self._logs)
