"""Where the Pythons that we start import from: never the folder that the user happens to work in.

A downloaded folder may hold a ``json.py`` beside the dump. Python looks there first when it is started with
``-m`` (unless ``PYTHONSAFEPATH`` is set), and wherever an entry of ``PYTHONPATH`` is empty or relative. Our
own process sees to itself (``kcompact.__main__``).

Nor from the PySpark of another Spark, which many a shell has in ``PYTHONPATH`` (``$SPARK_HOME/python``, and a
zip of py4j beside it), and ``spark-submit`` adds: it fits the Java of that Spark, and is found before ours.
"""

import os
import site
import sys
from collections.abc import Mapping
from pathlib import Path


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment to start a process in whose Pythons import only from where they are installed."""
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    folders = [entry for entry in entries if Path(entry).is_absolute() and not _is_of_other_spark(entry)]
    variables = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return variables | {"PYTHONSAFEPATH": "1"} | ({"PYTHONPATH": os.pathsep.join(folders)} if folders else {})


def leave_out_other_sparks() -> None:
    """Have this process import the PySpark whose Java is to be started, unless it has one already."""
    if "pyspark" in sys.modules:
        return
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    named = {site.makepath(entry)[0] for entry in entries}  # as Python put them into its path
    sys.path[:] = [entry for entry in sys.path if entry not in named or not _is_of_other_spark(entry)]


def _is_of_other_spark(entry: str) -> bool:
    """Whether an entry of Python's path has a PySpark without Java's part, or the py4j of one."""
    path = Path(entry)
    if path.suffix == ".zip":
        return path.name.startswith(("pyspark", "py4j-"))
    return (path / "pyspark").is_dir() and not (path / "pyspark" / "jars").is_dir()
