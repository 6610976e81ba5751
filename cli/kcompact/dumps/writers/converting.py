"""Survivors of a split, decoded and written in a target format."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.output.outputs import OutputPlan
from kcompact.dumps.records.layout import DumpFile, Split
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.writer import Writer


@dataclass(frozen=True)
class Copying:
    """Copies a file's survivors, or converts them where its output has a writer. Picklable."""

    writers: dict[int, Writer]  # by file_id

    def __call__(
        self, file: DumpFile, split: Split, positions: np.ndarray, record_bytes: np.ndarray, out: BinaryIO
    ) -> int:
        """Write the records at ``positions``, in that order; return the bytes written."""
        writer = self.writers.get(file.file_id)
        if writer is None:
            return LAYOUTS[file.layout].copy(file, split, positions, record_bytes, out)
        records = _records(file, split, positions, record_bytes)
        return sum(out.write(chunk) for chunk in writer.encode(records))


def copying_for(outputs: OutputPlan) -> Copying:
    """How survivors get into these outputs."""
    return Copying({file.file_id: one.writer for one in outputs.targets if one.writer for file in one.files})


def _records(
    file: DumpFile, split: Split, positions: np.ndarray, record_bytes: np.ndarray
) -> Iterator[Record]:
    layout = LAYOUTS[file.layout]
    if not file.dialect.in_order:
        yield from layout.decode(file, split, positions, record_bytes)
        return
    # One record tells something of another: those between survivors count, too.
    wanted = set(positions.tolist())
    yield from (record for position, _, record in layout.records(file, split) if position in wanted)
