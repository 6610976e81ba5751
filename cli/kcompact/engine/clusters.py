"""Sessions on a cluster, or behind a Spark Connect server.

On a cluster a session is started as its users do it, with ``SPARK_HOME``, ``spark-defaults.conf`` and
``--conf``; with Spark Connect (``--master sc://host:port``) no Java runs here. In both cases workers have
their own disks and their own Pythons: our package is shipped to them, and a first task finds out what else
they lack (``worker_check``).
"""

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import kcompact
from kcompact.engine.executor_wait import noted_without_executors
from kcompact.engine.failures import explained, start_explained
from kcompact.engine.masters import MasterKind
from kcompact.engine.reachability import refuse_unreachable, refuse_unreachable_server
from kcompact.engine.signals import handlers_kept
from kcompact.engine.startup.settings import CARRYING, SessionOptions
from kcompact.engine.startup.silence import keep_accumulators_quiet, stop_quietly
from kcompact.engine.startup.start_failures import last_words, not_started
from kcompact.errors import EngineError
from kcompact.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IMAGES = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")


@contextmanager
def cluster_session(options: SessionOptions) -> Iterator["SparkSession"]:
    """A new session, or that of the ``spark-submit`` that runs kcompact; stopped at the end."""
    if options.master_kind is not MasterKind.SUBMITTED:
        refuse_unreachable(options.master_kind, options.master or "")
    with explained(), scratch_folder() as folder:
        with handlers_kept(), start_explained(options.conf):
            session = _started(options, folder / "spark.log")
        keep_accumulators_quiet(session.sparkContext)
        try:
            session.sparkContext.addPyFile(str(zip_package(folder)))
            with noted_without_executors(session, options.master_kind):
                yield session
        finally:
            stop_quietly(session)


def _started(options: SessionOptions, log: Path) -> "SparkSession":
    from pyspark.sql import SparkSession

    settings = _settings_of(options)
    if options.master_kind is not MasterKind.SUBMITTED:
        _start_java(settings, options, log)
        _refuse_without_image(settings)
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _refuse_without_image(settings: Mapping[str, str]) -> None:
    """Raise EngineError if no image is named for executors on Kubernetes: Spark would wait for ever."""
    from pyspark import SparkConf

    conf = SparkConf().setAll(list(settings.items()))  # beside those of ``spark-defaults.conf``
    if conf.get("spark.master", "").startswith("k8s://") and not any(map(conf.contains, _IMAGES)):
        raise EngineError(
            "no image is named that Kubernetes could start executors from",
            hint=f"--conf {_IMAGES[0]}=..., such as one that docker build --target cluster makes",
        )


def _settings_of(options: SessionOptions) -> dict[str, str]:
    settings = {"spark.app.name": "kcompact"}
    if options.master_kind is not MasterKind.SUBMITTED:
        settings |= {"spark.master": options.master or "", "spark.submit.deployMode": "client"}
        if not options.verbose:
            settings |= {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
    if options.driver_memory:
        settings["spark.driver.memory"] = options.driver_memory
    return settings | CARRYING | dict(options.conf)


def _start_java(settings: Mapping[str, str], options: SessionOptions, log: Path) -> None:
    """Start Java as PySpark does, by Spark's own scripts. It prints to ``log``, or to stderr if verbose.

    Raises EngineError.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    _refuse_two_versions()
    # PySpark has no public way to tell Java where to print.
    if SparkContext._gateway is not None:  # noqa: SLF001  of an earlier session of this process
        return
    with log.open("wb") as out:
        sink = sys.stderr.fileno() if options.verbose else out.fileno()
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        try:
            # A session of its own: signals are ours to handle, not Java's.
            how = {"stdout": sink, "stderr": sink, "start_new_session": True}
            gateway = launch_gateway(conf, how)  # type: ignore[no-untyped-call]  # PySpark leaves it untyped
        except PySparkRuntimeError as error:
            raise not_started(last_words(log) or "Java ended", options.conf) from error
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  the only way to give it a gateway


def _refuse_two_versions() -> None:
    """Raise EngineError if the Spark in ``SPARK_HOME`` does not fit the PySpark of this process."""
    import pyspark

    home = os.environ.get("SPARK_HOME")
    jar = next(Path(home).glob("jars/spark-core_*-*.jar"), None) if home else None
    if jar is None:  # Spark is PySpark's own, or a build whose jars have other names
        return
    version = jar.stem.partition("-core_")[2].partition("-")[2]
    if version.split(".")[:2] != pyspark.__version__.split(".")[:2]:
        raise EngineError(
            f"SPARK_HOME is Spark {version}, and the PySpark that Python finds here is {pyspark.__version__}",
            hint=f"unset SPARK_HOME where the cluster is of {pyspark.__version__}, too; else have Python find"
            ' the PySpark of SPARK_HOME: export PYTHONPATH=$(echo "$SPARK_HOME"/python/lib/*.zip | tr " " :)',
        )


@contextmanager
def connected_session(url: str) -> Iterator["SparkSession"]:
    """A new session on the server, with kcompact shipped to its workers; stopped at the end."""
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise EngineError(
            "Spark Connect needs packages that are not installed", hint="pip install 'pyspark[connect]'"
        ) from error
    refuse_unreachable_server(url)
    with explained():
        session = SparkSession.builder.remote(url).create()
        try:
            ship_to(session)  # type: ignore[arg-type]  # the same interface, by another class
            yield session  # type: ignore[misc]  # likewise
        except BaseException:
            session.client.close()  # ``stop`` says goodbye to the server, for minutes if it is gone
            raise
        session.stop()


def is_on_cluster(session: "SparkSession") -> bool:
    """Whether the workers of a session that the caller had already may be on other machines."""
    context = getattr(session, "_sc", None)  # none with Spark Connect
    return context is None or not str(context.master).startswith("local")


def ship_to(session: "SparkSession") -> None:
    """Ship our package to the workers of a session that the caller had already."""
    context = getattr(session, "_sc", None)
    if context is None:
        with scratch_folder() as folder:
            session.addArtifacts(str(zip_package(folder)), pyfile=True)
    elif not any("kcompact.zip" in path for path in context.listFiles):
        folder = Path(tempfile.mkdtemp(prefix="kcompact-shipped-"))  # executors fetch it as long as it runs
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        context.addPyFile(str(zip_package(folder)))


def zip_package(folder: Path) -> Path:
    """Write our package as ``kcompact.zip`` into ``folder``, for ``addPyFile`` and ``addArtifacts``.

    The requirements of the package have to be installed where workers run.
    """
    package = Path(kcompact.__file__).parent
    target = folder / "kcompact.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in sorted(package.rglob("*.py")):
            archive.write(module, module.relative_to(package.parent))
    return target
