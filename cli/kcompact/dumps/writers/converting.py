"""Survivors of a split, decoded and written in a target format."""

from dataclasses import dataclass
from typing import BinaryIO

from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.output.outputs import OutputPlan
from kcompact.dumps.records.layout import Chosen, ConversionNotes
from kcompact.dumps.writers.writer import Writer


@dataclass(frozen=True)
class Copier:
    """Copies a file's survivors, or converts them where its output has a writer. Picklable."""

    writers: dict[int, Writer]  # by file_id

    def __call__(self, chosen: Chosen, out: BinaryIO, notes: ConversionNotes | None = None) -> int:
        """Write the chosen records, in their order; return the bytes written.

        ``notes`` learn of records that are converted.
        """
        writer, layout = self.writers.get(chosen.file.file_id), LAYOUTS[chosen.file.layout]
        if writer is None:
            return layout.copy(chosen, out)
        return sum(out.write(chunk) for chunk in writer.encode(layout.decode(chosen, notes)))


def copier_for(outputs: OutputPlan) -> Copier:
    """How survivors get into these outputs."""
    return Copier(
        {file.file_id: target.writer for target in outputs.targets if target.writer for file in target.files}
    )
