"""Where the Python processes that we start import from: not the working folder, and not another Spark.

A downloaded folder may hold a ``json.py`` beside the dump. Python looks in the working folder first when it
is started with ``-m`` (unless ``PYTHONSAFEPATH`` is set), and for an empty or relative entry of
``PYTHONPATH``. Our own process takes care of this by itself (``kcompact.__main__``).

Many shells have the PySpark of another Spark in ``PYTHONPATH`` (``$SPARK_HOME/python``, and a zip of py4j
beside it), and ``spark-submit`` adds it. It would be found before ours, but fits only the Java of that Spark.
"""

import os
import site
import sys
from collections.abc import Mapping
from pathlib import Path


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process, in which Python imports only from where packages are installed."""
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    folders = [entry for entry in entries if Path(entry).is_absolute() and not _is_of_other_spark(entry)]
    variables = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return variables | {"PYTHONSAFEPATH": "1"} | ({"PYTHONPATH": os.pathsep.join(folders)} if folders else {})


def leave_out_other_sparks() -> None:
    """Let this process import the PySpark whose Java is to be started, unless one is imported already."""
    if "pyspark" in sys.modules:
        return
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    named = {site.makepath(entry)[0] for entry in entries}  # in the spelling that Python put into its path
    sys.path[:] = [entry for entry in sys.path if entry not in named or not _is_of_other_spark(entry)]


def _is_of_other_spark(entry: str) -> bool:
    """Whether an entry of Python's path holds a PySpark without its jars, or the py4j of one."""
    path = Path(entry)
    if path.suffix == ".zip":
        return path.name.startswith(("pyspark", "py4j-"))
    return (path / "pyspark").is_dir() and not (path / "pyspark" / "jars").is_dir()
