"""Copies or converts the survivors of a split, and notes on parts of records that an output does not hold."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from kcompact.counted import counted
from kcompact.dumps.count_names import CountName
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.output.outputs import OutputPlan
from kcompact.dumps.records.layout import Chosen, ConversionNotes, DumpFile
from kcompact.dumps.records.shown import name_list, some_files
from kcompact.dumps.writers.writer import Writer


@dataclass(frozen=True)
class Copier:
    """Copies a file's survivors, or converts them if its output has a writer. Picklable."""

    writers: dict[int, Writer]  # by file_id

    def __call__(self, chosen: Chosen, out: BinaryIO, notes: ConversionNotes | None = None) -> int:
        """Write the chosen records, in their order; return the bytes written.

        ``notes`` takes notes on records that are converted.
        """
        writer, layout = self.writers.get(chosen.file.file_id), LAYOUTS[chosen.file.layout]
        if writer is None:
            return layout.copy(chosen, out)
        return sum(out.write(chunk) for chunk in writer.encode(layout.decode(chosen, notes)))


def copier_for(outputs: OutputPlan) -> Copier:
    """The copier that writes survivors to these outputs."""
    return Copier(
        {file.file_id: target.writer for target in outputs.targets if target.writer for file in target.files}
    )


def conversion_notes(outputs: OutputPlan, by_file: Mapping[int, Iterable[ConversionNotes]]) -> list[str]:
    """All notes on converted outputs; ``by_file``: by file id, those made while records were converted."""
    converted = [(target, target.writer) for target in outputs.targets if target.writer is not None]
    notes = [
        f"{target.path}: {', '.join(writer.losses)} of the records are not in this output"
        for target, writer in converted
        if writer.losses
    ]
    side = [file.path for target, _ in converted for file in target.files if file.layout == "side_files"]
    together = f"{side[0]}: keys and values from separate files are written together" if side else None
    files = [file for target, _ in converted for file in target.files]
    return [*notes, *([together] if together else []), *_left_out(files, by_file), *_doubtful(files, by_file)]


def _left_out(files: list[DumpFile], by_file: Mapping[int, Iterable[ConversionNotes]]) -> list[str]:
    """Notes on fields that the output lacks as they are no parts of a record; each set of fields once."""
    paths: dict[str, list[str]] = {}
    for file in files:
        names = dict.fromkeys(name for notes in by_file.get(file.file_id, ()) for name in notes.fields_beside)
        if names:
            paths.setdefault(name_list(list(names)), []).append(file.path)
    return [f"{some_files(about)}: {_NOT_THERE}: {names}" for names, about in paths.items()]


def _doubtful(files: list[DumpFile], by_file: Mapping[int, Iterable[ConversionNotes]]) -> Iterator[str]:
    """Notes on records with parts that the output may have wrong, or that are hard to recognise in it."""
    for name, doubt in _DOUBTS.items():
        for file in files:
            counts = [notes for notes in by_file.get(file.file_id, ()) if notes.counts.get(name)]
            if counts:
                records = counted(sum(notes.counts[name] for notes in counts), "record")
                example = next(iter(counts[0].examples.get(name, ())), "")
                yield f"{file.path}: {records} with {doubt.format(example=example)}"


_DOUBTS: dict[CountName, str] = {
    "doubtful_headers": "headers in which a comma, a colon or NULL may be a value's own, as nothing is quoted"
    " ({example}): check them, or export with kcat -J",
    "escapes": "backslashes ({example}), by which ClickHouse, PostgreSQL and MySQL write tabs and line ends:"
    " the output has them as they are",
    "datum_keys": "a key that is no text, bytes or integer: the output has the bytes of its Avro encoding, by"
    " which keys are compared",
    "quoted_keys": "a key that is a string which reads as JSON ({example}): its quotes are part of the key in"
    " the output, as other keys are JSON that is no string",
}
"""By the name of a count made while records are converted: the text of the note about it."""

_NOT_THERE = "not in the output, which holds the parts of records alone"
