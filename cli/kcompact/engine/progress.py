"""How far Spark is: a bar of finished tasks on stderr, on a terminal only, and not for what is quick."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kcompact.console import stderr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.25
_QUIET_SECONDS = 1.0  # who is done by then shows nothing

Counts = tuple[int, int]  # finished tasks, tasks known so far


@contextmanager
def progress_shown(session: "SparkSession") -> Iterator[None]:
    """Inside, show the progress of the session's jobs, on whichever door it came through."""
    if not stderr.is_terminal:
        yield
        return
    context = getattr(session, "_sc", None)
    count = _connect_counter(session) if context is None else _classic_counter(context)
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(count, done), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(2.0)  # Java may be slow to answer; nobody waits for a bar


def _show(count: Callable[[], Counts], done: threading.Event) -> None:
    from py4j.protocol import Py4JError
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    if done.wait(_QUIET_SECONDS):
        return
    columns = TextColumn("tasks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # Unasked, rich would send what goes to stdout meanwhile to stderr.
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False) as bar:
        row = bar.add_task("tasks", total=None)
        while not done.wait(_POLL_SECONDS):
            try:
                finished, known = count()
            except (Py4JError, OSError):
                return  # Java is gone; the run itself says so
            bar.update(row, completed=finished, total=known or None)


def _classic_counter(context: Any) -> Callable[[], Counts]:
    tracker = context.statusTracker()
    seen: dict[int, Counts] = {}

    def count() -> Counts:
        for stage in {*tracker.getActiveStageIds(), *seen}:
            info = tracker.getStageInfo(stage)
            if info is not None:  # Spark forgets old stages
                seen[stage] = (info.numCompletedTasks, info.numTasks)
        return _sum(seen.values())

    return count


def _connect_counter(session: Any) -> Callable[[], Counts]:
    seen: dict[tuple[str, int], Counts] = {}

    def hear(stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:
        del inflight_tasks, done
        for stage in stages or ():
            seen[operation_id, stage.stage_id] = (stage.num_completed_tasks, stage.num_tasks)

    session.registerProgressHandler(hear)
    return lambda: _sum(list(seen.values()))


def _sum(counts: Any) -> Counts:
    pairs = list(counts)
    return sum(finished for finished, _known in pairs), sum(known for _finished, known in pairs)
