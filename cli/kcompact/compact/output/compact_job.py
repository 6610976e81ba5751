"""The inputs that all tasks of the output stage share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.compact.output.decided_rows import is_kept
from kcompact.dumps.output.assemble import WHOLE
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes.grouped_rows import record_bytes_of, split_of
from kcompact.engine.passes.index_pass import TASK_SHIFT, IndexPlan
from kcompact.storage import disk


@dataclass(frozen=True)
class CompactJob:
    """The plan, the output and the reports of one run. Picklable. ``copier`` None: nothing is copied."""

    plan: IndexPlan
    workplace: Workplace
    copier: Copier | None
    names: Mapping[int, LogName]  # topic and partition, by log id
    sorted_files: frozenset[int] = frozenset()  # files that come out by topic, partition and offset
    starts: tuple[int, ...] | None = None  # of each task's survivors in WHOLE, and where the last ones end

    @property
    def writes_in_place(self) -> bool:
        """Whether tasks write the output file itself, each in its place.

        Not where files are sorted: a last line that lacks its end gets one there.
        """
        return self.workplace.whole_begin is not None and self.copier is not None and not self.sorted_files

    def kept_bytes(self, rows: pa.Table) -> np.ndarray:
        """How many bytes each task will copy of some rows (DECIDED_SCHEMA), as int64."""
        location = rows["location"].to_numpy()
        task_bytes = np.zeros(len(self.plan.tasks), np.int64)
        kept = np.where(is_kept(rows), record_bytes_of(location), 0)
        np.add.at(task_bytes, split_of(location) >> TASK_SHIFT, kept)
        return task_bytes

    def in_place(self, task_bytes: np.ndarray) -> "CompactJob":
        """With the place of each task's survivors in the output file, whose beginning is written."""
        begin = self.workplace.whole_begin or b""
        with disk.create(Path(self.plan.folder) / WHOLE) as out:
            out.write(begin)
        return replace(self, starts=(len(begin), *(len(begin) + np.cumsum(task_bytes)).tolist()))
