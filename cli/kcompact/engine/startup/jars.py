"""Which of Spark's jars are on Java's class path, and in which order."""

from importlib.util import find_spec
from pathlib import Path

from kcompact.errors import EngineError

# PySpark brings every module of Spark. Jars with these names are never used here, and some make every session
# slower: spark-mllib registers its functions in each new session, by Scala reflection (0.5 s).
_LEFT_OUT = (
    "arpack",
    "blas-",
    "breeze",
    "datanucleus",
    "derby",
    "hive-",
    "kubernetes-",
    "lapack",
    "spark-connect_",
    "spark-graphx",
    "spark-hive",
    "spark-kubernetes",
    "spark-mllib",
    "spark-pipelines",
    "spark-repl",
    "spark-yarn",
    "spire",
    "vertx-",
    "volcano",
)

# Java looks for a class in one jar after another, and has to open each: those with most classes come first.
_FIRST = (
    "spark-core_",
    "scala-library-",
    "spark-catalyst_",
    "spark-sql-api_",
    "spark-sql_",
    "spark-common-utils",
    "spark-config_",
    "spark-network-common_",
    "spark-unsafe_",
    "janino-",
    "arrow-vector-",
    "netty-common-",
    "hadoop-client-api-",
    "jackson-",
    "slf4j-api-",
    "py4j-",
)


def class_path() -> tuple[Path, ...]:
    """The jars to start Java with, in the same order every time. Raises EngineError where there are none."""
    jars = [jar for jar in jars_folder().glob("*.jar") if not jar.name.startswith(_LEFT_OUT)]
    if not jars:
        raise EngineError(
            f"{package_folder('pyspark')}: this PySpark comes without Spark's Java part",
            hint="pip uninstall pyspark-client, if it is installed; pip install --force-reinstall pyspark",
        )
    return tuple(sorted(jars, key=lambda jar: (_rank(jar.name), jar.name)))


def _rank(name: str) -> int:
    ranks = (rank for rank, prefix in enumerate(_FIRST) if name.startswith(prefix))
    return next(ranks, len(_FIRST))


def jars_folder() -> Path:
    """The folder of Spark's jars in the installed PySpark."""
    return package_folder("pyspark") / "jars"


def package_folder(package: str) -> Path:
    """Where a package is installed, found without importing it. Raises EngineError."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EngineError(f"the package {package} is not installed", hint=f"pip install {package}")
    return Path(spec.submodule_search_locations[0])
