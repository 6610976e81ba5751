"""Several input files into one output: only of one format and schema, unless they are converted."""

from dataclasses import replace

from kcompact.dumps.avro import AvroShape
from kcompact.dumps.layout import DumpFile
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.outputs import OutputPlan
from kcompact.errors import OutputError


def joined(outputs: OutputPlan) -> tuple[DumpFile, ...]:
    """All files by their id, made to fit the first file of their target. Raises OutputError."""
    files = [
        file if target.writer else _fitting(target.files[0], file)
        for target in outputs.targets
        for file in target.files
    ]
    return tuple(sorted(files, key=lambda file: file.file_id))


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
        same = first.shape.header.schema == file.shape.header.schema
        return None if same else "their Avro schemas differ"
    if first.dialect.name != file.dialect.name:
        return f"one is of {first.dialect.tool}, the other of {file.dialect.tool}"
    if LAYOUTS[first.layout].begin(first) != LAYOUTS[file.layout].begin(file):
        return "they begin differently (their header lines, or a byte order mark)"
    return None
