"""A session on a cluster, as its users start one: ``SPARK_HOME``, ``spark-defaults.conf``, ``--conf``.

Or one behind a Spark Connect server (``--master sc://host:port``), with no Java here. Workers there have
their own disks and their own Pythons: our package is shipped to them, and the first task finds out what else
they lack (``worker_check``).
"""

import atexit
import os
import shutil
import socket
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import kcompact
from kcompact.engine.failures import explained
from kcompact.engine.masters import MasterKind
from kcompact.engine.signals import handlers_kept
from kcompact.engine.startup.settings import CARRYING, SessionOptions
from kcompact.errors import EngineError
from kcompact.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SECONDS_TO_REACH = 10
_DEFAULT_PORTS = {MasterKind.STANDALONE: 7077, MasterKind.KUBERNETES: 443}
_CONNECT_PORT = 15002


@contextmanager
def cluster_session(options: SessionOptions) -> Iterator["SparkSession"]:
    """A session of our own, or that of ``spark-submit`` around us; gone at the end."""
    if options.master_kind is not MasterKind.SUBMITTED:
        refuse_unreachable(options.master_kind, options.master or "")
    from pyspark.sql import SparkSession

    with explained(), scratch_folder() as folder:
        builder = SparkSession.builder.appName("kcompact")
        if options.master_kind is not MasterKind.SUBMITTED:
            builder = builder.master(options.master or "").config("spark.submit.deployMode", "client")
            if not options.verbose:
                builder = builder.config("spark.log.level", "ERROR")
                builder = builder.config("spark.ui.showConsoleProgress", "false")
        if options.driver_memory:
            builder = builder.config("spark.driver.memory", options.driver_memory)
        for name, value in (*CARRYING.items(), *options.conf):
            builder = builder.config(name, value)
        with handlers_kept():
            session = builder.getOrCreate()
        try:
            session.sparkContext.addPyFile(str(zip_package(folder)))
            yield session
        finally:
            session.stop()


@contextmanager
def connected_session(url: str) -> Iterator["SparkSession"]:
    """A session of our own on the server, with our package shipped to its workers; gone at the end."""
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise EngineError(
            "Spark Connect needs packages that are not installed", hint="pip install 'pyspark[connect]'"
        ) from error
    _refuse_unreachable_server(url)
    with explained():
        session = SparkSession.builder.remote(url).create()
        try:
            ship_to(session)  # type: ignore[arg-type]  # the same interface, by another class
            yield session  # type: ignore[misc]  # likewise
        except BaseException:
            session.client.close()  # ``stop`` says goodbye to the server, for minutes if it is gone
            raise
        session.stop()


def _refuse_unreachable_server(url: str) -> None:
    """Raise EngineError if nobody listens there: Connect's own client would try again for many minutes."""
    address = urlsplit(url)
    problem = connection_problem(address.hostname or "localhost", address.port or _CONNECT_PORT)
    if problem is not None:
        raise EngineError(
            f"no Spark Connect server can be reached at {problem}", hint="look at the address in --master"
        )


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
    elif not any("kcompact.zip" in path for path in _files(context)):
        folder = Path(tempfile.mkdtemp(prefix="kcompact-shipped-"))  # executors fetch it as long as it runs
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        context.addPyFile(str(zip_package(folder)))


def _files(context: "SparkContext") -> list[str]:
    return list(context.listFiles)


def zip_package(folder: Path) -> Path:
    """Write our package as ``kcompact.zip`` into ``folder``: what ``addPyFile`` and ``addArtifacts`` take.

    Workers have to have its requirements installed.
    """
    package = Path(kcompact.__file__).parent
    target = folder / "kcompact.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in sorted(package.rglob("*.py")):
            archive.write(module, module.relative_to(package.parent))
    return target


def refuse_unreachable(kind: MasterKind, master: str) -> None:
    """Raise EngineError if nobody listens there: Spark would go on trying for a minute or more."""
    if kind is MasterKind.YARN:
        if not ("HADOOP_CONF_DIR" in os.environ or "YARN_CONF_DIR" in os.environ):
            raise EngineError(
                "--master yarn: neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set",
                hint="set one to the folder with yarn-site.xml and core-site.xml",
            )
        return
    addresses = master.partition("://")[2].removeprefix("https://").removeprefix("http://").split(",")
    port = _DEFAULT_PORTS[kind]
    problems = [problem for address in addresses if (problem := _problem(address, port)) is not None]
    if len(problems) == len(addresses):
        raise EngineError(
            f"no Spark master can be reached at {problems[0]}", hint="look at the address in --master"
        )


def _problem(address: str, default_port: int) -> str | None:
    host, _, port = address.partition("/")[0].rpartition(":")
    return connection_problem(*((host, int(port)) if port.isdigit() else (address, default_port)))


def connection_problem(host: str, port: int) -> str | None:
    """The address and why nothing answers there; None where something does."""
    try:
        socket.create_connection((host, port), timeout=_SECONDS_TO_REACH).close()
    except (OSError, UnicodeError) as error:
        return f"{host}:{port}: {getattr(error, 'strerror', None) or error}"
    return None
