"""One JSON object per line: kcat -J, and most others."""

from collections.abc import Iterator

from kcompact.dumps.json.json_reader import JsonReader
from kcompact.dumps.records.framed import NOISE_LINES, Frame
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.text.line_layout import LineLayout
from kcompact.dumps.text.lines import lines_of


class JsonLines(LineLayout):
    """A record is a line; blank lines and what kcat says about itself (``% ...``) are skipped."""

    reader = JsonReader

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Lines that hold something."""
        for line in lines_of(file.data_path, start, end):
            if _holds_record(line.data, notes):
                yield line


def _holds_record(line: bytes, notes: SplitNotes) -> bool:
    """Whether a line is neither blank nor kcat talking about itself, which notes count."""
    if line.startswith(b"%"):
        notes.count(NOISE_LINES)
        return False
    return bool(line) and not line.isspace()
