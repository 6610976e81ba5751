"""The Spark session that a run works on."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcompact.dumps.loops.compiled_code import RUN_FOLDER
from kcompact.dumps.loops.readiness import prepared_in_background
from kcompact.engine.clusters import cluster_session, connected_session, is_on_cluster, ship_to
from kcompact.engine.failures import explained, start_explained
from kcompact.engine.masters import MasterKind
from kcompact.engine.progress import job_known, progress_over
from kcompact.engine.signals import handlers_kept
from kcompact.engine.startup import jvm
from kcompact.engine.startup.no_pandas import drop_numpy_converters, keep_pandas_out
from kcompact.engine.startup.python_path import leave_out_other_sparks, safe_environment
from kcompact.engine.startup.settings import SessionOptions
from kcompact.engine.startup.silence import keep_accumulators_quiet, keep_py4j_quiet
from kcompact.engine.startup.worker_daemon import early_daemon
from kcompact.engine.startup.workers import WORKER_ENVIRONMENT, wake_worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SessionOptions", "open_recorded_session", "open_session", "spark_started"]


_DEFAULT = SessionOptions()


class _OwnSpark:
    """A Java process that this run starts, and its Spark session, which is made when asked for."""

    def __init__(self, options: SessionOptions) -> None:
        leave_out_other_sparks()
        os.environ.pop("SPARK_PREFER_IPV6", None)  # PySpark would look for our Java at ::1
        self._options = options
        self._cache = jvm.aot_cache_of_java()
        self._cached = self._cache is not None and self._cache.is_usable()
        self.java = self._launch()

    def session(self) -> "SparkSession":
        """Build the session. Raises EngineError where Spark cannot be started."""
        try:
            return _connect(self.java, self._options)
        except Exception:
            if not self._cached or self._cache is None or not self.java.is_dead():
                raise
        # Start once more without the cache; if that works, the cache was to blame.
        self._cached = False
        self.java.kill()
        _forget_session()  # a half-made context would be in the way of the next one
        self.java = self._launch()
        session = _connect(self.java, self._options)
        self._cache.discard()
        return session

    def record_cache(self) -> None:
        """Start making a cache in the background, if this run found none."""
        if self._cache is not None and not self._cached:
            self._cache.record_in_background()

    def _launch(self) -> jvm.Jvm:
        path = self._cache.path if self._cache is not None and self._cached else None
        java = jvm.launch(self._options, cache=path)
        if self._options.layouts and not self._options.is_elsewhere:
            environment = safe_environment(os.environ | {RUN_FOLDER: str(java.folder)})
            java.files.enter_context(prepared_in_background(self._options.layouts, environment))
        return java


_launched_early: list[_OwnSpark] = []  # at most one: the next ``open_session`` takes it


@contextmanager
def spark_started(options: SessionOptions) -> Iterator[None]:
    """In this context, Java starts while the caller imports and reads; ``open_session`` takes it over."""
    if _launched_early or _active_session() is not None or options.is_elsewhere:
        yield
        return
    _launched_early.append(_OwnSpark(options))
    try:
        yield
    finally:
        for unused in _launched_early:
            unused.java.kill()
        _launched_early.clear()


@contextmanager
def open_session(options: SessionOptions = _DEFAULT) -> Iterator["SparkSession"]:
    """A session for one run; a session that the caller already had is borrowed and left running.

    Our own session ends at once, with Java, its workers and their files, without waiting for Spark to stop.
    """
    active = _active_session()
    if active is not None:
        with explained():
            if is_on_cluster(active):
                ship_to(active)
            yield active
        return
    keep_py4j_quiet()
    # Set by a notebook with a Spark Connect session, if we are started from one: PySpark would make no other.
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
    if options.is_elsewhere:
        is_remote = options.master_kind is MasterKind.CONNECT
        job_known(options.input_bytes, writes=options.writes)
        with connected_session(options.master or "") if is_remote else cluster_session(options) as session:
            yield session
        progress_over()
        return
    spark = _launched_early.pop() if _launched_early else _OwnSpark(options)
    try:
        with explained(lambda: spark.java):
            job_known(options.input_bytes, writes=options.writes)
            yield spark.session()
    finally:
        progress_over()
        spark.java.kill()
        _forget_session()
    spark.record_cache()


@contextmanager
def open_recorded_session(options: SessionOptions, recording: Path) -> Iterator["SparkSession"]:
    """A session whose Java writes an ahead-of-time cache to ``recording`` when it ends; waits for that."""
    with jvm.launch(options, recording=recording) as java:
        try:
            yield _connect(java, options)
        finally:
            _forget_session()
            java.finish()


def _active_session() -> "SparkSession | None":
    if "pyspark.sql.session" not in sys.modules:  # there can be no session: PySpark is not imported for this
        return None
    from pyspark.sql import SparkSession

    session: Any = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    is_stopped = getattr(getattr(session, "_sc", None), "_jsc", session) is None  # Connect has no context
    return None if is_stopped else session


def works_elsewhere(options: SessionOptions) -> bool:
    """Whether workers may be on other machines, with other disks.

    If the caller has a session already, its workers count.
    """
    active = _active_session()
    return options.is_elsewhere if active is None else is_on_cluster(active)


def _connect(java: jvm.Jvm, options: SessionOptions) -> "SparkSession":
    kind = options.master_kind
    # Not earlier, as the driver's own imports and Java keep both cores busy until now.
    java.files.enter_context(early_daemon(java.folder, {**java.environment, **WORKER_ENVIRONMENT}))
    keep_pandas_out()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    drop_numpy_converters()
    gateway = java.gateway()
    if kind is MasterKind.LOCAL:
        wake_worker(gateway)
    with handlers_kept(), start_explained(options.conf):
        context = SparkContext(gateway=gateway)
    context.pythonExec = sys.executable
    keep_accumulators_quiet(context)  # Java is killed at the end
    # If this process is killed, Java ends by itself, and then removes the folder in its place.
    vm: Any = context._jvm
    run_folder = vm.java.io.File(str(java.folder))
    vm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(run_folder)
    return SparkSession(context)


def _forget_session() -> None:
    """Reset PySpark's own memory of a context whose JVM is gone; its ``stop`` would ask that JVM."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
    if server is not None:
        # Its loop looks up every half second only, for which the end of the run does not wait.
        threading.Thread(target=server.shutdown, daemon=True).start()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
