"""Where tasks leave their output: a folder that the driver sees, too, a store, or nowhere (a dry run)."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from kcompact.dumps.files.marks import NONCE_LETTERS
from kcompact.dumps.output.stored_output import StoredOutput, letters
from kcompact.dumps.parquet.parquet_output import ParquetForm
from kcompact.storage.object_stores import create, is_address
from kcompact.storage.scratch import create_part


@dataclass(frozen=True)
class PartFiles:
    """Whole files of an output on a store, one of each task that has survivors. Picklable.

    ``around``: the bytes before, between and after the survivors of splits. ``folders``: by file id, the
    folder below the prefix for the file's parts, if names of folders have to tell their log. ``places``: by
    split id, the split's place in the output, given if places are not in the order of ids, or if there are
    folders. A part then holds splits of successive places and of one folder, and has the number of the first.
    """

    output: StoredOutput
    suffix: str
    container: str | None
    around: tuple[bytes, bytes, bytes]
    parquet: ParquetForm | None = None  # how to make such a file of the survivors
    folders: Mapping[int, str] = field(default_factory=dict)
    places: Mapping[int, int] = field(default_factory=dict)

    def new_name(self, number: str) -> str:
        """A unique name for a part file, so that a task that is tried again does not meet its earlier file.

        ``number``: six digits, which order part files.
        """
        return self.output.part_name(number, letters(NONCE_LETTERS), self.suffix)


@dataclass(frozen=True)
class Workplace:
    """Where tasks leave parts of the output and pieces of reports.

    ``folder``: a folder's path or a store's address, for pieces of reports; None: they are not wanted.
    ``parts`` are the files of an output on a store; None: parts are in the folder, too, and the driver joins
    them. ``is_afar``: tasks do not see the folder, and their output is brought there through Spark.
    ``own_outputs``: ids of files whose survivors are a whole output by themselves, which a task may write.
    """

    folder: str | None
    parts: PartFiles | None = None
    is_afar: bool = False
    own_outputs: frozenset[int] = frozenset()

    def create(self, name: str) -> BinaryIO:
        """A piece of a report, open for writing; a task that is tried again begins it anew."""
        if self.folder is None:
            return cast(BinaryIO, io.BufferedWriter(_Nowhere()))
        if is_address(self.folder):
            return create(self.folder + name)
        return create_part(Path(self.folder) / name)


class _Nowhere(io.RawIOBase):
    """A file that discards its bytes and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._bytes

    def write(self, data: Any) -> int:
        self._bytes += len(data)
        return len(data)
