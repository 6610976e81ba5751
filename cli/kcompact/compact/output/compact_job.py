"""The inputs that all tasks of the output stage share."""

from collections.abc import Mapping
from dataclasses import dataclass

from kcompact.broker.log_names import LogName
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes.index_pass import IndexPlan


@dataclass(frozen=True)
class CompactJob:
    """The plan, the output and the reports of one run. Picklable. ``copier`` None: nothing is copied."""

    plan: IndexPlan
    workplace: Workplace
    copier: Copier | None
    names: Mapping[int, LogName]  # topic and partition, by log id
    sorted_files: frozenset[int] = frozenset()  # files whose output is sorted by topic, partition and offset
