"""Where tasks leave what they write: a folder that the driver sees too, a store, or nowhere (a dry run)."""

import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from kcompact.dumps.files.containers import CONTAINERS
from kcompact.dumps.files.marks import NONCE_LETTERS
from kcompact.dumps.output.stored_output import StoredOutput, letters
from kcompact.dumps.parquet.parquet_output import ParquetForm, row_groups_in, write_parquet
from kcompact.storage.object_stores import create, is_address
from kcompact.storage.scratch import create_part


@dataclass(frozen=True)
class PartFiles:
    """Whole files of an output on a store, one of each task that has survivors. Picklable.

    ``around``: the bytes before, between and after the survivors of splits.
    """

    output: StoredOutput
    suffix: str
    container: str | None
    around: tuple[bytes, bytes, bytes]
    parquet: ParquetForm | None = None  # how to make such a file of the survivors

    def open(self, task: str) -> "PartFile":
        """A file with a name of its own: a task that is tried again does not meet what it left before."""
        return PartFile(self, self.output.part_name(task, letters(NONCE_LETTERS), self.suffix))


class PartFile:
    """A part file of one task; nothing is written before the first survivors come."""

    def __init__(self, files: PartFiles, name: str) -> None:
        self.name = name
        self._files = files
        self._opened: Sequence[BinaryIO] = ()
        self._row_groups: BinaryIO | None = None

    def next(self) -> BinaryIO:
        """The file, ready for the survivors of the next split."""
        begin, between, _ = self._files.around
        if self._opened:
            self._gathered().write(between)
            return self._gathered()
        raw = create(self._files.output.prefix + self.name)
        container = self._files.container
        self._opened = (raw,) if container is None else (CONTAINERS[container].write(raw), raw)
        if self._files.parquet is not None:
            self._row_groups = tempfile.TemporaryFile()  # noqa: SIM115  closed with the part
        self._gathered().write(begin)
        return self._gathered()

    def _gathered(self) -> BinaryIO:
        """Where survivors go: into the file, or, as row groups, beside it until all of them are there."""
        return self._row_groups or self._opened[0]

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._opened and self._row_groups and self._files.parquet:
            tables = row_groups_in(self._row_groups, 0, self._row_groups.tell())
            write_parquet(self._opened[0], self._files.parquet, tables)
            self._row_groups.close()
        elif self._opened:
            self._opened[0].write(self._files.around[2])
        for file in self._opened:
            file.close()


@dataclass(frozen=True)
class Workplace:
    """``folder``: a folder's path or a store's address, for pieces of reports; None: they are not wanted.

    ``parts`` are the files of an output on a store; None: parts are in the folder too, the driver joins them.
    ``is_afar``: tasks do not see the folder, and what they write is brought there through Spark.
    ``own_outputs``: files, by id, whose survivors are an output of their own, which a task may write.
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
    """Takes bytes and knows how many there were."""

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
