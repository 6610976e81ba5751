"""One JSON object per line: kcat -J, and most others."""

from collections.abc import Iterator

from kcompact.dumps.json.json_reader import json_reader
from kcompact.dumps.records.framed import Frame, ReadRecord, count_noise
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.text.line_layout import LineLayout
from kcompact.dumps.text.lines import lines_of


class JsonLines(LineLayout):
    """A record is a line; blank lines and what kcat says about itself (``% ...``) are skipped."""

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Lines that hold something."""
        for line in lines_of(file.data_path, start, end):
            if _holds_record(line.data, notes):
                yield line

    def reader(self, file: DumpFile, notes: SplitNotes, *, values: bool) -> ReadRecord:
        """Read JSON."""
        return json_reader(file, notes, values=values)


def _holds_record(line: bytes, notes: SplitNotes) -> bool:
    """Whether a line is neither blank nor kcat talking about itself, which notes count."""
    if line.startswith(b"%"):
        count_noise(notes, 1)
        return False
    return bool(line) and not line.isspace()
