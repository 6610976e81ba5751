"""Several input files into one output: only of one format and schema, unless they are converted."""

from dataclasses import replace

from kcompact.dumps.avro.avro_layout import AvroShape
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.output.outputs import OutputPlan
from kcompact.dumps.parquet.parquet_output import ParquetForm
from kcompact.dumps.records.layout import DumpFile
from kcompact.errors import OutputError


def joined(outputs: OutputPlan) -> tuple[DumpFile, ...]:
    """All files by their id, made to fit the first file of their target. Raises OutputError."""
    files = [
        file if target.writer else _fitting(target.files[0], file)
        for target in outputs.targets
        for file in target.files
    ]
    return tuple(sorted(files, key=lambda file: file.file_id))


def order_notes(outputs: OutputPlan, overtaken: set[tuple[int, int]]) -> list[str]:
    """Which outputs are out of offset order, since a file holds offsets below those of one before it.

    ``overtaken`` names such files by their ids.
    """
    notes = []
    for target in outputs.targets:
        paths = {file.file_id: file.path for file in target.files}
        pair = min((pair for pair in overtaken if pair[0] in paths and pair[1] in paths), default=None)
        if pair is not None:
            notes.append(
                f"{target.path} is not in offset order: {paths[pair[1]]} follows {paths[pair[0]]} and holds"
                " smaller offsets; compact it once more to sort it, or write one file each with -o DIR/"
            )
    return notes


def _fitting(first: DumpFile, file: DumpFile) -> DumpFile:
    """The file as one whose records can follow those of ``first``."""
    if file.file_id == first.file_id:
        return file
    difference = _difference(first, file)
    if difference is not None:
        raise OutputError(
            f"{first.path} and {file.path} cannot be joined into one file: {difference}",
            hint="write one file each with -o DIR/",
        )
    if isinstance(file.shape, AvroShape):
        return replace(file, shape=replace(file.shape, target=first.shape.header))
    return file


def _difference(first: DumpFile, file: DumpFile) -> str | None:
    if first.layout != file.layout:
        return f"one is {first.layout.replace('_', ' ')}, the other {file.layout.replace('_', ' ')}"
    if isinstance(file.shape, AvroShape):
        is_equal = first.shape.header.schema == file.shape.header.schema
        return None if is_equal else "their Avro schemas differ"
    if isinstance(file.shape, ParquetForm):
        is_equal = first.shape.schema.equals(file.shape.schema)
        return None if is_equal else "their Parquet schemas differ"
    if first.dialect.name != file.dialect.name:
        return f"one is of {first.dialect.tool}, the other of {file.dialect.tool}"
    if LAYOUTS[first.layout].around(first)[0] != LAYOUTS[file.layout].around(file)[0]:
        return "they begin differently (their header lines, or a byte order mark)"
    return None
