"""Layouts whose files can be cut at lines."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from kcompact.dumps.loops.line_loop import index_lines
from kcompact.dumps.records.framed import FramedLayout, ends_line
from kcompact.dumps.records.layout import DumpFile, SplitToIndex
from kcompact.dumps.text.lines import cut_behind, without_line_end


class LineLayout(FramedLayout):
    """A record is a line, or several."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after line ends."""
        if file.data_bytes - file.shape.start <= split_bytes:
            return _after_lines(file, BytesIO(), split_bytes)  # not to be cut: there may be ten thousand
        with Path(file.data_path).open("rb") as source:
            return _after_lines(file, source, split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """Likewise: line ends are looked for where cuts are wanted."""
        return _after_lines(file, source, split_bytes)

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """By a compiled loop where the dump is large and its dialect allows it."""
        yield from self.index_together([part], extra)

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """Likewise, across the ends of files."""
        return index_lines(parts, extra, super().index)

    def is_copied_as_it_is(self, file: DumpFile) -> bool:
        """Where the last line has a line end: else a copy gives it one."""
        return file.data_bytes > 0 and ends_line(file)

    def content(self, data: bytes) -> bytes:
        """The record without its last line end."""
        return without_line_end(data)


def _after_lines(file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
    if not file.shape.splittable:
        return [(file.shape.start, file.data_bytes)]
    return cut_behind(b"\n", source, file.shape.start, file.data_bytes, split_bytes)
