"""Runs a command and measures it with all processes that it starts: wall time, CPU time, peak memory."""

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Time and memory of one run. Memory is the peak of the whole tree, shared pages counted once (PSS).

    ``memory_bytes`` leaves out pages of files that are only mapped (they can be dropped at any time);
    ``memory_with_files_bytes`` includes them.
    """

    wall_s: float
    cpu_s: float
    memory_bytes: int
    memory_with_files_bytes: int
    exit_code: int


def parents() -> dict[int, int]:
    """Every process and its parent."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def tree_of(root: int, known: set[int]) -> set[int]:
    """The processes ``root`` and below it, with those of ``known`` that have another parent by now."""
    above = parents()
    tree = {root} | (known & above.keys())
    while more := {pid for pid, parent in above.items() if parent in tree} - tree:
        tree |= more
    return tree & above.keys()


def memory_of(pid: int) -> tuple[int, int]:
    """The memory of a process in bytes, without and with the pages of mapped files."""
    fields = {}
    for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]:
        name, kilobytes = line.split()[:2]
        fields[name.rstrip(":")] = int(kilobytes) * 1024
    return fields["Pss_Anon"] + fields["Pss_Shmem"], fields["Pss"]


def cpu_of(pid: int) -> float:
    """User and system time so far, in seconds."""
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


class Watch:
    """Sums and peaks from samples of one process tree."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.seen: set[int] = set()
        self.cpu: dict[int, float] = {}
        self.memory_bytes = 0
        self.memory_with_files_bytes = 0

    def sample(self, *, memory: bool = True) -> set[int]:
        """Take one sample; return the ids of processes that are alive."""
        alive = tree_of(self.root, self.seen)
        self.seen |= alive
        own = with_files = 0
        for pid in alive:
            with contextlib.suppress(OSError, KeyError, IndexError):
                self.cpu[pid] = cpu_of(pid)
                if memory:
                    one = memory_of(pid)
                    own, with_files = own + one[0], with_files + one[1]
        self.memory_bytes = max(self.memory_bytes, own)
        self.memory_with_files_bytes = max(self.memory_with_files_bytes, with_files)
        return alive


def run(command: Sequence[str], log: Path, env: dict[str, str] | None = None) -> Usage:
    """Run ``command`` with its output in ``log``; return when no process that it started is left.

    The wall time ends with the command itself. Waiting for the others keeps them from disturbing a later run.
    """
    with log.open("wb") as out:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env)
    watch, interval_s = Watch(process.pid), 0.05
    while process.poll() is None:
        watch.sample()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(interval_s)
        # Walking page tables takes time itself: look less often the longer a run lasts.
        interval_s = min(interval_s * 1.05, 0.3)
    wall_s = time.perf_counter() - started
    while watch.sample(memory=False) - {process.pid}:
        time.sleep(0.05)
    return Usage(
        wall_s, sum(watch.cpu.values()), watch.memory_bytes, watch.memory_with_files_bytes, process.returncode
    )
