"""``pyspark.daemon``, whose workers import what ours need before their first task asks for it.

Spark starts it on this machine only (``spark.python.daemon.module``); workers of a cluster are PySpark's own.
"""

import importlib
import os
import socket
from typing import Any

from pyspark import daemon

from kcompact.dumps.loops.readiness import load_loops
from kcompact.engine.startup.no_pandas import keep_pandas_out
from kcompact.engine.startup.workers import LAYOUTS

_NEEDED_SOON = (
    "pyspark.worker",
    "pyarrow",
    "kcompact.engine.passes.index_pass",
    "kcompact.engine.passes.grouping",
)

_serve = daemon.worker


def _import_and_serve(connection: socket.socket, authenticated: bool) -> int:
    """Runs in a worker, which has just been forked: these imports start threads, no fork may follow."""
    for module in _NEEDED_SOON:
        importlib.import_module(module)
    keep_pandas_out()
    arrow: Any = importlib.import_module("pyarrow")
    # Arrow's own pool keeps what it once had: 100 MB more for each worker, and no time saved.
    arrow.set_memory_pool(arrow.system_memory_pool())
    return _serve(connection, authenticated)


if __name__ == "__main__":
    for layout in filter(None, os.environ.get(LAYOUTS, "").split(",")):
        load_loops(layout, compile_now=False)  # all workers share what stands in memory when they are forked
    vars(daemon)["worker"] = _import_and_serve
    daemon.manager()
