"""One JSON object per line: kcat -J, and most others."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from kcompact.dumps.json.json_reader import json_reader
from kcompact.dumps.loops.line_loop import index_lines
from kcompact.dumps.records.framed import Frame, FramedLayout, ReadRecord, count_noise
from kcompact.dumps.records.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.text.lines import cut_at_lines, lines_of, without_line_end


class JsonLines(FramedLayout):
    """A record is a line; blank lines and what kcat says about itself (``% ...``) are skipped."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after line ends."""
        with Path(file.data_path).open("rb") as source:
            return self.cut(file, source, split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
        """Likewise: line ends are looked for where cuts are wanted."""
        if not file.shape.splittable:
            return [(file.shape.start, file.data_bytes)]
        return cut_at_lines(source, file.shape.start, file.data_bytes, split_bytes)

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Lines that hold something."""
        for line in lines_of(file.data_path, start, end):
            if _holds_record(line.data, notes):
                yield line

    def index(
        self, file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
    ) -> Iterator[pa.RecordBatch]:
        """By a compiled loop where the dump is large and its dialect allows it."""
        yield from self.index_together([SplitToIndex(file, split, notes)], extra)

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """Likewise, across the ends of files."""
        return index_lines(parts, extra, super().index)

    def content(self, data: bytes) -> bytes:
        """The line without its line end."""
        return without_line_end(data)

    def reader(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> ReadRecord:
        """Read JSON."""
        return json_reader(file, notes, values=values)


def _holds_record(line: bytes, notes: SplitNotes) -> bool:
    """Whether a line is neither blank nor kcat talking about itself, which notes count."""
    if line.startswith(b"%"):
        count_noise(notes, 1)
        return False
    return bool(line) and not line.isspace()
