"""The progress bar: one for the whole run, by bytes; on a terminal only, and not for quick runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcompact.engine.meter import READ, WRITTEN, done_bytes

_POLL_SECONDS = 0.25
_QUIET_SECONDS = 1.0  # a run that is over by then shows no bar
_LEAST_WIDTH_OF_BAR = 65  # columns: in a narrower terminal the line would be folded
_WRITING_SHARE = 0.25  # of the work, where survivors are written: copying takes less time than parsing


@dataclass
class _Job:
    """The facts about the current run that the bar needs."""

    input_bytes: int = 0
    writes: bool = False
    folders: list[Path] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def done(self) -> tuple[str, float]:
        """The phase in a word, and the work done so far, expressed in bytes of the input."""
        read_bytes = min(sum(done_bytes(folder, READ) for folder in self.folders), self.input_bytes)
        written_bytes = min(sum(done_bytes(folder, WRITTEN) for folder in self.folders), self.input_bytes)
        share = _WRITING_SHARE if self.writes else 0.0
        return self._phase(read_bytes, written_bytes), read_bytes * (1 - share) + written_bytes * share

    def _phase(self, read_bytes: int, written_bytes: int) -> str:
        if written_bytes:
            return "writing"
        if not read_bytes:
            return "starting"
        return "reading" if read_bytes < self.input_bytes else "merging"


_job = _Job()  # a process runs one command at a time


@contextmanager
def progress_shown(input_bytes: int) -> Iterator[None]:
    """In this context, show the progress bar. ``input_bytes``: as known before the dump is opened."""
    global _job  # noqa: PLW0603  the engine tells the one bar of the process
    _job = _Job(input_bytes)
    _job.thread = threading.Thread(target=_show, args=(_job,), name="progress", daemon=True)
    _job.thread.start()
    try:
        yield
    finally:
        progress_over()


def job_known(input_bytes: int, *, writes: bool) -> None:
    """Tell the bar, once the dump is opened, how many bytes are read, and whether survivors are written."""
    _job.input_bytes, _job.writes = input_bytes, writes


def folder_watched(folder: Path) -> None:
    """From now on, count the bytes that tasks note in ``folder`` as progress."""
    _job.folders.append(folder)


def progress_over() -> None:
    """Remove the progress bar, so that the answer can be printed."""
    _job.is_over.set()
    if _job.thread is not None:
        _job.thread.join()
        _job.thread = None


def _show(job: _Job) -> None:
    if job.is_over.wait(_QUIET_SECONDS):
        return
    from kcompact.console import stderr

    if not (stderr.is_terminal and stderr.file.isatty()):  # FORCE_COLOR alone makes no terminal of a log
        return
    with _bar(stderr) as bar:
        row = bar.add_task("starting", total=job.input_bytes or None)
        shown = 0.0
        while True:
            phase, done = job.done()
            shown = max(shown, done)  # a task that is tried again starts from nothing
            bar.update(row, description=phase, completed=shown, total=job.input_bytes or None)
            if job.is_over.wait(_POLL_SECONDS):
                return


def _bar(console: Any) -> Any:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    phase, moved, remaining = TextColumn("{task.description:8}"), DownloadColumn(), TimeRemainingColumn()
    columns = [phase, moved, remaining]
    if console.width >= _LEAST_WIDTH_OF_BAR:
        columns = [phase, BarColumn(), moved, TransferSpeedColumn(), remaining]
    # By default, rich would redirect to stderr all that is printed to stdout meanwhile.
    return Progress(*columns, console=console, transient=True, redirect_stdout=False)
