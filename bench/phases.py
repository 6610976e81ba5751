"""Where the time of one ``kcompact compact`` goes: when each phase begins, and the CPU time of each process.

    python bench/phases.py dump.jsonl -o out.jsonl

Runs kcompact in this process, with a clock around the functions that phases begin with.
"""

import functools
import itertools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from process_tree import cpu_of, parents, tree_of

START = time.time() - time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)  # Python's own start is all CPU time
MARKS: list[tuple[float, str]] = []
CPU_S: dict[str, float] = {}


def mark(phase: str) -> None:
    """A phase begins now."""
    MARKS.append((time.time() - START, phase))


def wrapped(module: Any, name: str, before: Callable[[], object], after: Callable[[], object]) -> None:
    """Have ``before`` and ``after`` called around a function of a module or class."""
    function = getattr(module, name)

    @functools.wraps(function)
    def around(*args: Any, **kwargs: Any) -> Any:
        before()
        result = function(*args, **kwargs)
        after()
        return result

    setattr(module, name, around)


def count_cpu() -> None:
    """Add up the CPU time of Java and of the workers, while they are still running."""
    above, me = parents(), os.getpid()
    for pid in tree_of(me, set()) - {me}:
        kind = "Java" if above[pid] == me else "workers"
        CPU_S[kind] = CPU_S.get(kind, 0.0) + cpu_of(pid)


def watch_the_rest() -> None:
    """Put clocks around later phases once Java is starting, when kcompact imports these modules anyway."""
    mark("Java starts; imports")
    from kcompact.commands import compact_run as compaction
    from kcompact.compact import pipeline
    from kcompact.engine import session
    from kcompact.engine.startup.jvm import Jvm

    wrapped(session, "_connect", lambda: mark("waiting for Java"), lambda: mark("dump is looked at"))
    wrapped(Jvm, "gateway", lambda: None, lambda: mark("SparkContext"))
    jobs = iter(["job 1: index, group", "job 2: merge", "job 3: copy"])
    wrapped(pipeline, "run_tasks", lambda: mark(next(jobs)), lambda: mark("between jobs, reports"))
    wrapped(Jvm, "kill", lambda: (count_cpu(), mark("end of Java")), lambda: mark("report is put together"))
    wrapped(compaction, "publish", lambda: mark("publishing"), lambda: mark("showing, end of Python"))


def main() -> None:
    """Run kcompact, then print the table of phases."""
    from kcompact.app import main as kcompact
    from kcompact.engine.startup import jvm

    wrapped(jvm, "launch", lambda: None, watch_the_rest)
    code = kcompact(["compact", *sys.argv[1:]])
    mark("")
    CPU_S["driver"] = time.process_time()
    print("phase                          begins s   takes s", file=sys.stderr)
    for (begin, phase), (end, _) in itertools.pairwise(MARKS):
        print(f"{phase:30} {begin:8.2f} {end - begin:9.2f}", file=sys.stderr)
    print(", ".join(f"{kind} {seconds:.2f} CPU s" for kind, seconds in CPU_S.items()), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    mark("Python, command line")
    main()
