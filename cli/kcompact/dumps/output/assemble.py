"""Joins the parts that tasks have written into the files that a user asked for."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from kcompact.dumps.avro.avro_layout import AvroShape
from kcompact.dumps.files.containers import open_packed, output_container
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.output.outputs import OutputPlan, Target
from kcompact.dumps.parquet.parquet_output import ParquetForm, row_groups_in, write_parquet
from kcompact.dumps.records.layout import ConversionNotes, DumpFile
from kcompact.dumps.writers.parquet_writer import ParquetWriter
from kcompact.errors import OutputError
from kcompact.storage import disk


def joined(outputs: OutputPlan) -> tuple[DumpFile, ...]:
    """All files, in the order of ids, adapted to the first file of their target. Raises OutputError."""
    files = [
        file if target.writer else _fitting(target.files[0], file)
        for target in outputs.targets
        for file in target.files
    ]
    return tuple(sorted(files, key=lambda file: file.file_id))


def order_notes(outputs: OutputPlan, overtaken: set[tuple[int, int]]) -> list[str]:
    """Notes on outputs out of offset order, where a file holds smaller offsets than a file before it.

    ``overtaken``: pairs of such files, by id, the later file second.
    """
    notes = []
    for target in outputs.targets:
        paths = {file.file_id: file.path for file in target.files}
        pair = min((pair for pair in overtaken if pair[0] in paths and pair[1] in paths), default=None)
        if pair is not None:
            place = str(target.path)
            remedy = "compact it once more to sort it, or write one file each with -o DIR/"
            if outputs.stored is not None:  # part files are not sorted with one another
                place, remedy = outputs.stored.prefix, "-o FILE, compacted once more, makes a file that is"
            notes.append(
                f"{place} is not in offset order: {paths[pair[1]]} follows {paths[pair[0]]} and holds"
                f" smaller offsets; {remedy}"
            )
    return notes


def _fitting(first: DumpFile, file: DumpFile) -> DumpFile:
    """The file, adapted so that its records can follow those of ``first``. Raises OutputError."""
    if file.file_id == first.file_id:
        return file
    difference = _difference(first, file)
    if difference is not None:
        raise OutputError(
            f"{first.path} and {file.path} cannot be joined into one file: {difference}",
            hint="name the format of -o with --to (jsonl, csv, avro or parquet), which writes all alike,"
            " or write one file each with -o DIR/",
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


WHOLE = "whole"
"""The beginning of the name of a part that is a whole output: that of a file of one split."""

_FEW_BYTES = 128 << 10  # up to here, copying through a buffer is as fast as by the kernel


class Fragment(NamedTuple):
    """The output of one split: bytes [start, end) of a part file."""

    split_id: int
    part: str
    start: int
    end: int
    records: int
    notes: ConversionNotes | None = None  # on records that were converted


def assemble(path: Path, target: Target, fragments: Iterable[Fragment], folder: Path) -> None:
    """Write ``target`` at ``path``: its beginning, the fragments in order, its end; packed as it is named."""
    fragments = list(fragments)
    whole = next((fragment.part for fragment in fragments if fragment.part.startswith(WHOLE)), None)
    if whole is not None:
        disk.rename(folder / whole, path)
        return
    first = target.files[0]
    container = output_container(target.path.name, first.path, first.container)
    with open_packed(path, container) as out:
        write_joined(out, target, fragments, folder)


def write_joined(out: BinaryIO, target: Target, fragments: Iterable[Fragment], folder: Path) -> None:
    """Write beginning, fragments and end to an open file or pipe."""
    form = parquet_form(target)
    if form is not None:
        write_parquet(out, form, _row_groups(fragments, folder))
        return
    begin, between, end = around(target)
    out.write(begin)
    written = False
    for fragment in fragments:
        if fragment.end == fragment.start:
            continue
        if written:
            out.write(between)
        with (folder / fragment.part).open("rb") as part:
            copy_range(part, fragment.start, fragment.end - fragment.start, out)
        written = True
    out.write(end)


def parquet_form(target: Target) -> ParquetForm | None:
    """How to write a target that is Parquet; None for other targets."""
    if target.writer is not None:
        return target.writer.form if isinstance(target.writer, ParquetWriter) else None
    shape = target.files[0].shape
    return shape if isinstance(shape, ParquetForm) else None


def _row_groups(fragments: Iterable[Fragment], folder: Path) -> Iterator[pa.Table]:
    for fragment in fragments:
        with (folder / fragment.part).open("rb") as part:
            yield from row_groups_in(part, fragment.start, fragment.end)


def around(target: Target) -> tuple[bytes, bytes, bytes]:
    """The bytes before, between and after the fragments."""
    if target.writer is not None:
        return target.writer.begin(), b"", b""
    return LAYOUTS[target.files[0].layout].around(target.files[0])


def copy_range(source: BinaryIO, start: int, length: int, out: BinaryIO) -> None:
    """Append a range of a file to ``out``; the kernel copies it where it can, if both are plain files."""
    remaining = length
    source.seek(start)
    is_plain = type(out).__name__ == "BufferedWriter" and out.seekable()
    if length > _FEW_BYTES and hasattr(os, "copy_file_range") and is_plain:
        out.flush()
        while remaining:
            count = disk.copy_range(source, out, remaining)
            if not count:
                break
            remaining -= count
        out.seek(0, os.SEEK_END)
        source.seek(start + length - remaining)
    while remaining and (chunk := source.read(min(remaining, 1 << 20))):
        out.write(chunk)
        remaining -= len(chunk)
