"""Files of tasks that share no disk with the driver: they come to it through Spark, in order.

A task writes into a folder of its own. Its files are then sent on as blocks, a limited number of bytes to
each receiver of one more stage. The driver takes the blocks of one receiver at a time, and appends them to
files of the same names.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from kcompact.compact.output.compact_job import CompactJob
from kcompact.dumps.files.at_hand import spool_folder
from kcompact.engine.shuffle import DRIVER, Block, Sent, Stage
from kcompact.storage import disk
from kcompact.storage.scratch import folder_outside

Result = TypeVar("Result")

_BLOCK_BYTES = 256 << 10  # Spark's Python side holds up to a thousand blocks before it writes them out
_TAKEN_BYTES = 64 << 20  # about as much as the driver takes at a time
_RESULT = "result"
_NAMES = ("part-", "removed-", "gaps-")  # the folder also holds meters and a lock, which are not sent


def results_of(
    stage: Stage,
    task_bytes: Sequence[int],
    job: CompactJob,
    work: Callable[[CompactJob, int, list[Block]], Result],
) -> tuple[list[Result], list[Block]]:
    """The results of ``work`` in each task of a stage, and the driver's blocks.

    The files that tasks write lie in the job's folder afterwards.
    ``work`` takes the job (with the folder that the task has to write into), the number of the task, and its
    blocks. ``task_bytes`` tells about how much each task writes.
    """
    if not job.workplace.is_afar:
        return stage.results_and_driver_blocks(lambda task, blocks: work(job, task, blocks))
    takings = _Takings.of(task_bytes, _TAKEN_BYTES)

    def send(task: int, blocks: list[Block]) -> Sent:
        with spool_folder() as folder:
            yield DRIVER, Block(_RESULT, pickle.dumps(work(_in_folder(job, folder), task, blocks)))
            yield from takings.sent(task, folder)

    sent = stage.then(takings.receivers, send)
    results = [pickle.loads(block.content) for block in sent.driver_blocks()]  # noqa: S301  pickled by send
    folder = Path(job.plan.folder)
    with disk.explained(folder_outside(folder / _RESULT)):
        for receiver in range(takings.receivers):
            for block in sent.blocks_for(receiver):
                with (folder / block.kind).open("ab") as out:
                    out.write(block.content)
    return results, stage.driver_blocks()


def _in_folder(job: CompactJob, folder: Path) -> CompactJob:
    workplace = replace(job.workplace, folder=str(folder), is_afar=False)
    return replace(job, plan=replace(job.plan, folder=str(folder)), workplace=workplace)


@dataclass(frozen=True)
class _Takings:
    """The receivers of each task's files: those from ``first_receivers[task]`` on."""

    first_receivers: tuple[int, ...]  # and, last, the number of all receivers
    taken_bytes: int

    @classmethod
    def of(cls, task_bytes: Sequence[int], taken_bytes: int) -> "_Takings":
        return cls(
            tuple(accumulate((size // taken_bytes + 1 for size in task_bytes), initial=0)), taken_bytes
        )

    @property
    def receivers(self) -> int:
        return self.first_receivers[-1]

    def sent(self, task: int, folder: Path) -> Sent:
        """The blocks of a task's files. The task's last receiver takes all that exceeds the expected size."""
        taken, last = 0, self.first_receivers[task + 1] - 1
        for block in _blocks_in(folder):
            yield min(self.first_receivers[task] + taken // self.taken_bytes, last), block
            taken += len(block.content)


def _blocks_in(folder: Path) -> Iterator[Block]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_NAMES):
            with path.open("rb") as source:
                yield Block(path.name, source.read(_BLOCK_BYTES))  # of empty files, too: they are created
                while content := source.read(_BLOCK_BYTES):
                    yield Block(path.name, content)
