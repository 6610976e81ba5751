"""Checks workers on other machines by a first task: which packages they lack, which inputs they cannot see.

The function of the task is pickled by value, and imports nothing of kcompact, so that it runs even where our
package cannot be imported.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcompact.errors import EngineError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = ("pyarrow", "numpy", "numba", "fastavro", "orjson", "cramjam", "lz4")
_TASKS = 4
_HINT = (
    "install kcompact's requirements where the workers run: in their image, or as a packed environment"
    " (venv-pack, then --conf spark.archives=env.tar.gz#env and PYSPARK_PYTHON=./env/bin/python)"
)


def check_workers(spark: "SparkSession", inputs: Sequence[str], folder: Path | None) -> bool:
    """Whether workers can write into ``folder``, which is the driver's (None: there is none).

    Raises EngineError for a missing package or another Python, and InputError for an input on this disk that
    workers cannot see.
    """
    is_shared = folder is not None
    token = None if folder is None else folder / "seen-by-workers"
    if token is not None:
        token.touch()
    look = _look(_PACKAGES, [*inputs, *([str(token)] if token else [])], str(token))
    for host, version, lacking, unseen in _answers(spark, look):
        if version != sys.version_info[:2]:
            remote, own = ".".join(map(str, version)), ".".join(map(str, sys.version_info[:2]))
            raise EngineError(f"the workers on {host} run Python {remote}, and this is {own}", hint=_HINT)
        if lacking:
            raise EngineError(f"the workers on {host} lack {', '.join(lacking)}", hint=_HINT)
        if str(token) in unseen:
            is_shared = False
            unseen.remove(str(token))
        if unseen:
            raise InputError(
                f"{unseen[0]}: workers on {host} cannot see this file",
                hint="put the dump on a store or on a disk that all machines see, or run kcompact on this"
                " machine alone, without a cluster",
            )
    return is_shared


Answer = tuple[str, tuple[int, int], list[str], list[str]]
"""Host, Python's version, packages that cannot be imported, paths that cannot be read (or written: token)."""


def _look(packages: Sequence[str], paths: Sequence[str], token: str) -> Callable[[], Answer]:
    names, inputs = tuple(packages), tuple(paths)

    def look() -> Answer:
        import importlib.util
        import os
        import socket
        import sys

        lacking = [name for name in names if importlib.util.find_spec(name) is None]
        unseen = [path for path in inputs if not os.access(path, os.W_OK if path == token else os.R_OK)]
        return socket.gethostname(), sys.version_info[:2], lacking, unseen

    return look


def _answers(spark: "SparkSession", look: Callable[[], Answer]) -> list[Answer]:
    import pickle

    from pyspark import cloudpickle

    by_value: Any = cloudpickle
    module = sys.modules[__name__]
    by_value.register_pickle_by_value(module)
    try:
        context: Any = getattr(spark, "_sc", None)
        if context is not None:
            return context.range(0, _TASKS, 1, _TASKS).map(lambda _: look()).collect()

        def rows(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for _ in batches:
                yield pa.RecordBatch.from_pydict({"answer": pa.array([pickle.dumps(look())], pa.binary())})

        table = spark.range(0, _TASKS, 1, _TASKS).mapInArrow(rows, "answer binary").toArrow()
        return [pickle.loads(answer) for answer in table["answer"].to_pylist()]  # noqa: S301  pickled above
    finally:
        by_value.unregister_pickle_by_value(module)
