"""CSV, with or without a header line; a record may span lines inside quotes."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from kcompact.dumps.json.json_scan import chunks_of
from kcompact.dumps.records.framed import NOISE_LINES, Frame
from kcompact.dumps.records.layout import DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.text.between_records import is_of_kcat, refuse_kcat_within, refuse_telling
from kcompact.dumps.text.console_labels import NOISE
from kcompact.dumps.text.csv_quoting import QUOTING_HINT
from kcompact.dumps.text.csv_reader import CsvReader, CsvShape
from kcompact.dumps.text.lines import LineLayout, lines_of, ranges_between, without_line_end
from kcompact.errors import UnreadableError

_COUNTED_BYTES = 256 << 10  # counted at once: they stay in the processor's cache
_MOST_THREADS = 8
CR_LF_ROWS: Final = "cr_lf_rows"  # a count of SplitNotes
BLANK_LINES: Final = "blank_lines"  # likewise: those behind rows whose last cell may have ended in a line end
OPEN_LINES: Final = "open_lines"  # likewise: last lines that may have been cut off
_LAST_BYTES = b'\r\n"}]'  # a file that ends so is not cut off within a text
_UNFINISHED = "a quoted field does not end before the file does"


class CsvLines(LineLayout):
    """A record is a line, or several if quotes are open where a line ends."""

    reader = CsvReader

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut after line ends that are outside of quotes."""
        ranges = super().plan(file, split_bytes)
        is_cut_well = len(ranges) <= 1 or file.shape.quoting == "none"
        return ranges if is_cut_well else _outside_quotes(file, ranges)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]] | None:
        """As ``plan``, for an open file; None where line ends may be quoted and the file has to be cut."""
        is_whole = not file.shape.splittable or file.data_bytes - file.shape.start <= split_bytes
        return super().cut(file, source, split_bytes) if is_whole or file.shape.quoting == "none" else None

    def index_together(
        self, parts: Sequence[SplitToIndex], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        """Index rows; a file that may be cut off in its last line, judging by its last byte, is counted."""
        for file, split, notes, *_ in parts:
            if split.start < split.end == file.data_bytes:
                last = next(iter(lines_of(file.data_path, split.end - 1, split.end)))
                notes.count(OPEN_LINES, last.data not in _LAST_BYTES)
        return super().index_together(parts, extra)

    def frames(self, file: DumpFile, start: int, end: int, notes: SplitNotes) -> Iterator[Frame]:
        """Rows of cells; blank lines and a tool's own are skipped."""
        shape: CsvShape = file.shape
        lines: list[Frame] = []
        position, open_quotes, blanks = start, False, 0
        for line in lines_of(file.data_path, start, end):
            if not open_quotes:
                text = without_line_end(line.data)
                if not text or _is_of_tool(text, file):
                    notes.count(NOISE_LINES, bool(text))
                    blanks += not text
                    continue
                position, lines = line.position, []
                if shape.takes_rest:
                    refuse_telling(text, position)
                    refuse_kcat_within(text, position)
                    notes.count(BLANK_LINES, blanks)
                blanks = 0
            open_quotes ^= quotes_in(line.data, shape.quoting) % 2 == 1
            if not open_quotes:
                notes.count(CR_LF_ROWS, line.data.removesuffix(b"\n").endswith(b"\r"))
            if not open_quotes and not lines:
                yield line
                continue
            lines.append(line)
            if not open_quotes:
                yield Frame(position, b"".join(part.data for part in lines))
        if open_quotes:
            raise UnreadableError(_UNFINISHED, QUOTING_HINT, position=position)


def _is_of_tool(line: bytes, file: DumpFile) -> bool:
    """Whether a line is a message of the console consumer, or of kcat in text without quotes."""
    return (file.dialect.labelled and NOISE.match(line) is not None) or (
        file.shape.takes_rest and is_of_kcat(line)
    )


def quotes_in(data: bytes, quoting: str) -> int:
    """The number of quotes that open or close a field; a doubled quote counts as two, which has no effect."""
    if quoting == "none":
        return 0
    quotes = data.count(b'"')
    if quoting == "backslash" and b"\\" in data:
        quotes -= data.replace(b"\\\\", b"").count(b'\\"')
    return quotes


def _outside_quotes(file: DumpFile, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges, with each cut inside of quotes moved to the end of its record.

    Whether a quote is open can only be known from the start of the file on, so all quotes are counted, of
    several ranges at a time.
    """
    with ThreadPoolExecutor(_MOST_THREADS) as pool:
        counts = pool.map(
            lambda bounds: _quotes_between(file.data_path, file.shape.quoting, *bounds), ranges[:-1]
        )
        cuts, quotes = [ranges[0][0]], 0
        for (_, candidate), count in zip(ranges[:-1], counts, strict=True):
            quotes += count
            if candidate <= cuts[-1]:
                continue
            cut = _end_of_record(file, candidate) if quotes % 2 == 1 else candidate
            if cut < file.data_bytes:
                cuts.append(cut)
    return ranges_between(cuts, file.data_bytes)


def _quotes_between(path: str, quoting: str, start: int, end: int) -> int:
    if quoting == "backslash":
        return sum(quotes_in(chunk, quoting) for _, chunk in chunks_of(path, start, end))
    quotes, buffer = 0, bytearray(_COUNTED_BYTES)
    marks = np.frombuffer(buffer, np.uint8)  # numpy counts several times as fast as bytes do, and in threads
    with Path(path).open("rb", buffering=0) as source:
        source.seek(start)
        while start < end:
            size = source.readinto(memoryview(buffer)[: end - start])
            if not size:
                raise EOFError(path)
            quotes += int(np.count_nonzero(marks[:size] == ord('"')))
            start += size
    return quotes


def _end_of_record(file: DumpFile, start: int) -> int:
    """The end of the first line from ``start`` on that closes the quote that is open there."""
    for line in lines_of(file.data_path, start, file.data_bytes):
        if quotes_in(line.data, file.shape.quoting) % 2 == 1:
            return line.position + line.record_bytes
    return file.data_bytes
