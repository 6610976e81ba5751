"""Brings the files of splits to this machine's disk while they are read, such as objects of a store."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath

from kcompact.broker.state.state_output import OutputFile, output_file
from kcompact.dumps.files.containers import is_plain_path, unpack
from kcompact.dumps.files.origin import place_in
from kcompact.dumps.files.utf16 import as_utf8
from kcompact.dumps.paired.side_files import SideShape
from kcompact.dumps.records.layout import DumpFile, Split, SplitToIndex
from kcompact.storage.object_reading import fetch
from kcompact.storage.object_stores import is_address
from kcompact.storage.scratch import scratch_folder

_READ_WITHIN_SPLITS = {"json_lines", "csv_lines", "avro"}
"""Layouts that look at nothing outside of the split that they read."""

_READ_WHOLE_BYTES = 16 << 20
"""Parquet up to this size comes as a whole, in one request; of larger files, the columns that are read."""


@contextmanager
def at_hand(parts: Sequence[SplitToIndex]) -> Iterator[Sequence[SplitToIndex]]:
    """Within the context, the files of the parts can be read from a disk."""
    if all(part.file.origin is None for part in parts):
        yield parts
        return
    with spool_folder() as spool:
        for number in range(len(parts)):
            (spool / str(number)).mkdir()
        files = [_brought(part.file, part.split, spool / str(n)) for n, part in enumerate(parts)]
        yield [part._replace(file=file) for part, file in zip(parts, files, strict=True)]


@contextmanager
def file_at_hand(file: DumpFile, split: Split | None = None) -> Iterator[DumpFile]:
    """Within the context, a file, or at least a split of it, can be read from a disk."""
    if file.origin is None:
        yield file
        return
    with spool_folder() as spool:
        yield _brought(file, split, spool)


def sha256_of(file: DumpFile) -> str:
    """The SHA-256 of a file as it is at its place, packed or not. Raises InputError if it has changed.

    For a pipe, which cannot be read again, the SHA-256 of its bytes, unpacked.
    """
    with spool_folder() as spool:
        if file.origin is not None:
            file.origin.bring(spool)
        if is_address(file.path):
            path = place_in(spool, file.path)
        else:
            path = Path(file.path if is_plain_path(file.path) else file.data_path)
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()


def stored_output_file(address: str) -> OutputFile:
    """An object of a store as a state remembers it. Raises InputError."""
    with spool_folder() as spool:
        target = spool / PurePath(address).name
        fetch(address, target)
        return output_file(target)


@contextmanager
def spool_folder() -> Iterator[Path]:
    """A task's folder for files that it brings: where Spark spills, or else where temporary files go."""
    folders = [Path(folder) for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if folder]
    with scratch_folder(next((folder for folder in folders if folder.is_dir()), None)) as folder:
        yield folder


def _brought(file: DumpFile, split: Split | None, spool: Path) -> DumpFile:
    origin = file.origin
    if origin is None:
        return file
    if split is not None and origin.is_plain and file.layout in _READ_WITHIN_SPLITS:
        return replace(file, data_path=origin.bring_range(spool, split.start, split.end))
    if origin.is_plain and file.layout == "parquet" and file.data_bytes > _READ_WHOLE_BYTES:
        return file  # the layout itself fetches the ranges that it needs
    origin.bring(spool)
    if isinstance(file.shape, SideShape):
        parts = {
            role: replace(part, data_path=unpack(part.path, spool)[0])
            for role, part in file.shape.parts.items()
        }
        return replace(file, shape=replace(file.shape, parts=parts))
    data_path, _ = unpack(file.path, spool)
    return replace(file, data_path=as_utf8(file.path, data_path, spool) or data_path)
