"""A note for the user where a cluster starts no executors, as Spark itself waits for ever, and says nothing.

This is no error: workers may be busy, or still starting, and Spark's users expect to wait.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kcompact.engine.masters import MasterKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_SECONDS = 17.0  # a worker of a standalone cluster starts an executor within five
_USUAL_MEMORY = "1g"
_MEMORY, _CORES = "spark.executor.memory", "spark.executor.cores"
_PAGES = {
    MasterKind.STANDALONE: "the master's page (port 8080 as a rule)",
    MasterKind.YARN: "YARN's page of the application",
    MasterKind.KUBERNETES: "kubectl get pods",
}


@contextmanager
def noted_without_executors(session: "SparkSession", kind: MasterKind) -> Iterator[None]:
    """In this context, print one note if the session's cluster has started no executor after a while."""
    if str(session.sparkContext.master).startswith("local"):  # by spark-submit: its one Java does the work
        yield
        return
    is_over = threading.Event()
    waiting = threading.Thread(
        target=_note_if_none, args=(session, kind, is_over), name="executor-wait", daemon=True
    )
    waiting.start()
    try:
        yield
    finally:
        is_over.set()


def _note_if_none(session: "SparkSession", kind: MasterKind, is_over: threading.Event) -> None:
    from py4j.protocol import Py4JError

    if is_over.wait(_PATIENCE_SECONDS):
        return
    try:
        has_executors = _executors(session) > 0
        conf = session.sparkContext.getConf()
        memory, cores = conf.get(_MEMORY) or _USUAL_MEMORY, conf.get(_CORES)
    except (Py4JError, OSError):  # the session has just ended
        return
    if has_executors or is_over.is_set():
        return
    from kcompact.console import note

    note(
        f"the cluster has started no executor so far: each needs {memory} of memory ({_MEMORY})"
        + (f" and {cores} cores ({_CORES})" if cores else "")
        + f" that are free on a worker; {_PAGES.get(kind, 'the page of the cluster')} shows what is free;"
        " the run keeps waiting"
    )


def _executors(session: "SparkSession") -> int:
    context: Any = session.sparkContext
    managers = context._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001  the driver's among them
    return int(managers) - 1
