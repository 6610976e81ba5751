"""Sets the Avro loop up for a file, if the loop can read its schema and dialect."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pyarrow as pa

from kcompact.dumps.avro.avro_container import Chunk
from kcompact.dumps.avro.avro_reader import DAMAGE, AvroReader, headers_decoder
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.avro.avro_loop import (
    BYTE_EXACT,
    CONTENTS,
    RULES,
    TOPIC_NEEDED,
    WHOLE_VALUE,
    UnpackedBlocks,
    scan_avro_blocks,
)
from kcompact.dumps.loops.avro.avro_program import ROLES, AvroProgram, compile_program
from kcompact.dumps.loops.avro.avro_record import MOST_DIGITS, SPAN_FACTS
from kcompact.dumps.loops.columns import MOST_ROWS, Columns
from kcompact.dumps.loops.scanned_rows import Misfit, ScannedRows
from kcompact.dumps.loops.value_columns import added_columns, contents_of, gathered
from kcompact.dumps.records.content_hashes import ABSENT
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import SplitToIndex

_UNITS = {"auto", "ms", "us", "ns"}
_BLOCK_SHIFT = 32


class AvroScanner:
    """The loop set up for a file, as ``block_loop.BlockLoop`` calls it."""

    def __init__(
        self,
        part: SplitToIndex,
        program: AvroProgram,
        headers: Callable[[bytes], Headers],
        extra: frozenset[str],
    ) -> None:
        file, self._part = part.file, part
        dialect: Dialect = file.dialect
        self._program, self._headers, self._extra = program, headers, extra
        self._rules = np.zeros(RULES, np.int64)
        self._rules[BYTE_EXACT] = dialect.byte_exact
        self._rules[TOPIC_NEEDED] = file.topic is None
        self._rules[WHOLE_VALUE] = dialect.value.place == ""
        self._rules[CONTENTS] = bool(extra)
        self._spans = np.zeros((len(ROLES), SPAN_FACTS), np.int64)
        self._stack = np.zeros((program.deepest, 2), np.int64)
        self._buffer = bytearray()  # the same for all chunks: a new one costs more than the copy
        self._data = np.zeros(0, np.uint8)
        self._blocks = UnpackedBlocks(*(np.zeros(0, np.int64) for _ in range(4)))

    def start(self, chunk: Chunk, split_start: int, columns: Columns) -> Columns:
        """Prepare for the blocks of a chunk, copied side by side; return columns with room for their keys."""
        blocks, unpacked = zip(*chunk, strict=True)
        sizes = np.array([len(records) for records in unpacked], np.int64)
        ends = np.cumsum(sizes)
        self._data = self._side_by_side(unpacked, int(sizes.sum()))
        counts = np.array([block.count for block in blocks], np.int64)
        bases = np.array([block.position - split_start for block in blocks], np.int64) << _BLOCK_SHIFT
        self._blocks = UnpackedBlocks(ends - sizes, ends, counts, bases)
        columns.state[[c.AT, c.BLOCK, c.DONE]] = 0
        return columns.with_room(len(self._data) + MOST_DIGITS * MOST_ROWS)

    def _side_by_side(self, unpacked: Iterable[bytes], size: int) -> np.ndarray:
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        filled, view = 0, memoryview(self._buffer)
        for records in unpacked:
            view[filled : filled + len(records)] = records
            filled += len(records)
        return np.frombuffer(view[:size], np.uint8)

    def scan(self, columns: Columns) -> None:
        """Fill the columns with the next records; ``columns.state[REFUSALS]`` tells if one was refused."""
        read = self._data, self._blocks, self._program
        scan_avro_blocks(*read, self._stack, self._rules, self._spans, columns)

    def more(self, rows: ScannedRows, keys: pa.Array) -> list[pa.Array]:
        """The columns after INDEX_SCHEMA for these rows. Raises Misfit."""
        return added_columns(self._extra, lambda: np.zeros(0), partial(self._contents, rows, keys))

    def _contents(self, rows: ScannedRows, keys: pa.Array, names: frozenset[str]) -> dict[str, pa.Array]:
        starts, ends = rows[c.VALUE_START], rows[c.VALUE_END]
        values = self._data, starts, np.where(rows.is_null("value"), ABSENT, ends - starts)
        sizes = rows[c.HEADERS_END] - rows[c.HEADERS_START]
        headers = gathered(self._data, rows[c.HEADERS_START], np.where(sizes == 0, ABSENT, sizes))
        try:
            return contents_of(names, keys, *values, headers, self._headers, self._part)
        except DAMAGE as error:
            raise Misfit from error


def scanner_for(part: SplitToIndex, extra: frozenset[str]) -> AvroScanner | None:
    """The loop set up for a file; None where only the reference can read its schema or make these columns."""
    file = part.file
    if not _covers(file.dialect, extra):
        return None
    reader = AvroReader(file, part.notes, values=False)
    roles = ROLES if extra else ROLES[:-1]
    paths = {role: path for role, path in reader.paths.items() if role in roles and path}
    program = compile_program(reader.wire, paths, contents=bool(extra))
    return None if program is None else AvroScanner(part, program, headers_decoder(reader), extra)


def _covers(dialect: Dialect, extra: frozenset[str]) -> bool:
    is_ruled = bool(dialect.null_literal) or "empty" in dialect.key.nulls | dialect.value.nulls
    has_columns = not extra or (extra <= CONTENT_EXTRA and dialect.value.place != "")
    is_spelt = dialect.key.encoding == "text" and dialect.timestamp_unit in _UNITS
    has_offset = dialect.offset is not None
    is_judged = is_ruled or dialect.reads_values or dialect.is_judged
    return has_columns and is_spelt and has_offset and not is_judged
