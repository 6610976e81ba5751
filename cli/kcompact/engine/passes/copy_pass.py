"""Pass 2: survivors' original bytes, copied split by split into parts that the driver joins."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kcompact.dumps.files.at_hand import file_at_hand
from kcompact.dumps.files.containers import CONTAINERS
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.output.assemble import WHOLE, Fragment
from kcompact.dumps.output.workplace import PartFiles, Workplace
from kcompact.dumps.parquet.parquet_output import row_groups_in, write_parquet
from kcompact.dumps.records.layout import Chosen, ConversionNotes, Split
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.meter import WRITTEN, Meter
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.errors import OutputError
from kcompact.storage.disk import explained
from kcompact.storage.object_stores import create
from kcompact.storage.scratch import create_part, create_whole, folder_outside

_LOOKED_FOR_BYTES = 64 << 20  # written at most before the free room on the disk is looked up again


def open_part(plan: IndexPlan, workplace: Workplace, task: str, copier: Copier | None) -> "Part | StoredPart":
    """The part that takes the survivors of one task. ``task``: its number in six digits."""
    if workplace.parts is not None and copier is not None:
        return StoredPart(plan, workplace.parts, task, copier)
    own_outputs = workplace.own_outputs - plan.cut_files
    return Part(plan, f"part-{task}", copier, own_outputs)


class Part:
    """The part file of one task. Without a ``copier`` nothing is written (a dry run).

    ``own_outputs``: ids of files that have one split each, and whose survivors go into an output file of
    their own.
    """

    def __init__(
        self,
        plan: IndexPlan,
        name: str,
        copier: Copier | None,
        own_outputs: frozenset[int] = frozenset(),
    ) -> None:
        self._plan = plan
        self._own_outputs = own_outputs
        self._path = Path(plan.folder) / name
        self._copier = copier
        self._out = None if copier is None else create_part(self._path)
        self._room_bytes = 0
        self._meter = Meter(self._path.parent, WRITTEN, name, sys.maxsize)

    def copy(self, split_id: int, positions: np.ndarray, record_bytes: np.ndarray) -> Fragment:
        """Copy one split's survivors; call once per split, with all of them in output order."""
        split = self._plan.split(split_id)
        if self._out is None or self._copier is None or not len(positions):
            return Fragment(split_id, self._path.name, 0, 0, len(positions))
        self._look_for_room(int(record_bytes.sum(dtype=np.int64)))
        with file_at_hand(self._plan.file_of(split), split) as file:
            chosen = Chosen(file, split, positions, record_bytes)
            if split.file_id in self._own_outputs:
                fragment = self._copied_whole(chosen, self._copier)
            else:
                fragment = self._copied(chosen, self._out, self._copier)
        self._meter.add(split.end - split.start)
        return fragment

    def _copied(self, chosen: Chosen, out: BinaryIO, copier: Copier) -> Fragment:
        notes, start = ConversionNotes(), out.tell()
        copier(chosen, out, notes)
        split_id, records = chosen.split.split_id, len(chosen.positions)
        return Fragment(split_id, self._path.name, start, out.tell(), records, notes or None)

    def _copied_whole(self, chosen: Chosen, copier: Copier) -> Fragment:
        """Write a whole output file, which is published later as it is, without being copied again."""
        split_id, records = chosen.split.split_id, len(chosen.positions)
        name = f"{WHOLE}-{split_id}"
        begin, _, end = LAYOUTS[chosen.file.layout].around(chosen.file)
        with create_whole(self._path.with_name(name)) as out:
            written = out.write(begin) + copier(chosen, out) + out.write(end)
        return Fragment(split_id, name, 0, written, records)

    def close(self) -> None:
        """Finish the part file."""
        if self._out is not None:
            self._out.close()

    def _look_for_room(self, wanted_bytes: int) -> None:
        """Raise OutputError if the disk lacks room, which is not looked up for each of many small files."""
        self._room_bytes -= wanted_bytes
        if self._room_bytes >= 0:
            return
        with explained(folder_outside(self._path)):
            free_bytes = shutil.disk_usage(self._path.parent).free
        self._room_bytes = min(free_bytes - wanted_bytes, _LOOKED_FOR_BYTES)
        if free_bytes < wanted_bytes:
            raise OutputError(
                f"not enough room on the disk of {folder_outside(self._path)}: "
                f"{wanted_bytes:,} bytes are to be written, {free_bytes:,} are free",
                hint="free some space, or write elsewhere with -o",
            )


class StoredPart:
    """The part of one task, as a whole file on a store. Nothing is written before the first survivors come.

    If files are put in the order of their offsets, or go into folders that tell their logs, the part is
    several files: one for each series of splits with successive places in the output and the same folder. A
    split without survivors also ends such a series, as the task does not know where it belongs.
    """

    def __init__(self, plan: IndexPlan, files: PartFiles, task: str, copier: Copier) -> None:
        self._plan = plan
        self._files = files
        self._name = files.new_name(task)
        self._copier = copier
        self._opened: Sequence[BinaryIO] = ()
        self._row_groups: BinaryIO | None = None
        self._place, self._folder = -1, ""  # of the split before
        self._meter = Meter(Path(plan.folder), WRITTEN, self._name, sys.maxsize)

    def copy(self, split_id: int, positions: np.ndarray, record_bytes: np.ndarray) -> Fragment:
        """Copy one split's survivors; call once per split, with all of them in output order."""
        if not len(positions):
            return Fragment(split_id, self._name, 0, 0, 0)
        split = self._plan.split(split_id)
        self._begin_anew_where_needed(split)
        with file_at_hand(self._plan.file_of(split), split) as file:
            notes = ConversionNotes()
            chosen = Chosen(file, split, positions, record_bytes)
            written = self._copier(chosen, self._ready_for_next(), notes)
        self._meter.add(split.end - split.start)
        return Fragment(split_id, self._name, 0, written, len(positions), notes or None)

    def _begin_anew_where_needed(self, split: Split) -> None:
        place = self._files.places.get(split.split_id)
        if place is None:
            return
        folder = self._files.folders.get(split.file_id, "")
        if place != self._place + 1 or folder != self._folder or not self._opened:
            self.close()
            self._opened, self._row_groups = (), None
            self._name = folder + self._files.new_name(f"{place:06}")
        self._place, self._folder = place, folder

    def _ready_for_next(self) -> BinaryIO:
        """The file for the survivors of the next split, opened, and with the bytes before these written."""
        begin, between, _ = self._files.around
        if self._opened:
            self._gathered().write(between)
            return self._gathered()
        raw = create(self._files.output.prefix + self._name)
        container = self._files.container
        self._opened = (raw,) if container is None else (CONTAINERS[container].write(raw), raw)
        if self._files.parquet is not None:
            self._row_groups = tempfile.TemporaryFile()  # noqa: SIM115  closed with the part
        self._gathered().write(begin)
        return self._gathered()

    def _gathered(self) -> BinaryIO:
        """The file to write to; for Parquet's row groups, a temporary file until all of them have come."""
        return self._row_groups or self._opened[0]

    def close(self) -> None:
        """Finish the part file, if there is one."""
        if self._opened and self._row_groups and self._files.parquet:
            tables = row_groups_in(self._row_groups, 0, self._row_groups.tell())
            write_parquet(self._opened[0], self._files.parquet, tables)
            self._row_groups.close()
        elif self._opened:
            self._opened[0].write(self._files.around[2])
        for file in self._opened:
            file.close()
