"""One JSON object per line: kcat -J, and most others."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from kcompact.dumps.fast_lines import FAST_EXTRA, FastLines, are_few_bytes
from kcompact.dumps.framed import Frame, FramedLayout, ReadRecord
from kcompact.dumps.json_reader import JsonReader, json_reader
from kcompact.dumps.json_rules import JsonRules, holds_record
from kcompact.dumps.json_template import covers
from kcompact.dumps.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.lines import cut_at_lines, lines_of, without_line_end
from kcompact.dumps.window_rows import KIND_EXTRA


class JsonLines(FramedLayout):
    """A record is a line; blank lines and what kcat says about itself (``% ...``) are skipped."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after line ends."""
        if not file.shape.splittable:
            return [(file.shape.start, file.data_bytes)]
        return cut_at_lines(file.data_path, file.shape.start, file.data_bytes, split_bytes)

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Lines that hold something."""
        for line in lines_of(file.data_path, start, end):
            if holds_record(line.data, notes):
                yield line

    def index(
        self, file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
    ) -> Iterator[pa.RecordBatch]:
        """Many lines at once where their dialect allows it."""
        yield from self.index_together([SplitToIndex(file, split, notes)], extra)

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """Likewise, across the ends of files."""
        file = parts[0].file
        exactly = partial(self._exactly, extra=extra)
        if not _is_fast(file, extra) or are_few_bytes(parts):
            for part in parts:
                yield from exactly(part)
        else:
            reader = partial(JsonReader, file, values=bool(extra))
            yield from FastLines(JsonRules(file.dialect), reader, parts, extra=extra).index(exactly)

    def _exactly(self, part: SplitToIndex, *, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        return super().index(part.file, part.split, extra, part.notes)

    def content(self, data: bytes) -> bytes:
        """The line without its line end."""
        return without_line_end(data)

    def reader(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> ReadRecord:
        """Read JSON."""
        return json_reader(file, notes, values=values)


def _is_fast(file: DumpFile, extra: frozenset[str]) -> bool:
    """Whether templates tell all that is asked for; of values only what stands there as it is."""
    means_itself = not extra & KIND_EXTRA or file.dialect.value_encoding == "text"
    return extra <= FAST_EXTRA and means_itself and covers(file.dialect)
