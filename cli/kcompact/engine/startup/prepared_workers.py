"""A ``pyspark.daemon`` that imports the modules that our tasks need before it forks its workers.

It serves this machine only (``spark.python.daemon.module``); workers of a cluster are PySpark's own.
"""

import gc
import importlib
import os
import socket
import sys
from typing import Any

from pyspark import daemon

from kcompact.dumps.loops.readiness import load_loops
from kcompact.engine.startup.no_pandas import keep_pandas_out
from kcompact.engine.startup.workers import LAYOUTS, WORKER_MODULES

_NEEDED_SOON = (
    "pyspark.worker",
    "pyarrow",
    "kcompact.engine.passes.index_pass",
    "kcompact.engine.passes.grouped_rows",
)

_serve = daemon.worker


def _serve_collecting(connection: socket.socket, authenticated: bool) -> int:
    """Turn garbage collection on again in a worker; called for each of its tasks."""
    gc.enable()
    return _serve(connection, authenticated)


def load() -> None:
    """Import the modules that all workers share. This is done in the daemon, before it forks any worker.

    No module may start a thread, as a process with threads cannot be forked safely. Arrow's jemalloc would.
    """
    gc.disable()  # nothing that is imported becomes garbage
    # Spark puts one of its jars first. It holds nothing for Python, but a lookup of a version would list it.
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(".jar")]
    for layout in _words_in(LAYOUTS):
        load_loops(layout, compile_now=False)
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    for module in _NEEDED_SOON:
        importlib.import_module(module)
    keep_pandas_out()
    # If each worker imported the modules of its command, that would take a twentieth of a small run's time.
    for module in _words_in(WORKER_MODULES):
        importlib.import_module(module)
    arrow: Any = importlib.import_module("pyarrow")
    # Arrow's own pool does not give memory back: 100 MB more for each worker, and no time saved.
    arrow.set_memory_pool(arrow.system_memory_pool())
    gc.freeze()  # PySpark collects garbage after each task; this spares the modules' memory, which is shared


def _words_in(variable: str) -> list[str]:
    return [word for word in os.environ.get(variable, "").split(",") if word]


def serve() -> None:
    """Fork workers as Java asks for them on standard input, until the input ends."""
    vars(daemon)["worker"] = _serve_collecting
    daemon.manager()
