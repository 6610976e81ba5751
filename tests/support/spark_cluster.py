"""Spark on loopback, as a standalone cluster (a master, two workers) or behind a Connect server.

If this process is root's, Spark belongs to another user, who cannot read the driver's folders. If that user
could not even start this Python, it runs where the driver's folders are hidden by an empty mount. So data can
only go from one to the other through Spark.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine_runs import FULL_JDK
from free_ports import free_port

SECONDS_TO_START = 90
NOBODY = 65534


def wait_for_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(log.read_text()[-2000:])


def other_user() -> dict[str, Any]:
    """Arguments of Popen for another user; none if this is not root, or the user could not start Python."""
    if os.geteuid() != 0:
        return {}
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        tried = subprocess.run([sys.executable, "-c", "import pyspark"], check=False, cwd="/", **user)
    except PermissionError:
        return {}
    return user if tried.returncode == 0 else {}


def without(folder: Path) -> list[str]:
    """The beginning of a command line that hides a folder behind an empty mount; empty if none can be had."""
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder)]
    try:
        tried = subprocess.run([*hide, "true"], check=False, capture_output=True)
    except OSError:
        return []
    return hide if tried.returncode == 0 else []


def cluster_environment() -> dict[str, str]:
    import pyspark

    assert FULL_JDK is not None, "executors need a full JDK, such as openjdk-17-jdk-headless"
    return {
        "JAVA_HOME": FULL_JDK,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


@dataclass(frozen=True)
class _Processes:
    """Starts Java processes of Spark's that cannot see a folder, and stops them by their ids."""

    stack: ExitStack
    folder: Path
    hidden: Path
    environment: Mapping[str, str]

    def start(self, name: str, *arguments: str) -> tuple["subprocess.Popen[bytes]", Path]:
        user = other_user()
        if user:
            _give(self.folder)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": str(self.folder)}
        environment |= cluster_environment() | dict(self.environment)
        spark_class = str(Path(environment["SPARK_HOME"]) / "bin" / "spark-class")
        log = self.folder / f"{name}.log"
        out = self.stack.enter_context(log.open("wb"))
        process = subprocess.Popen(
            [*([] if user else without(self.hidden)), spark_class, *arguments],
            stdout=out,
            stderr=out,
            env=environment,
            cwd=self.folder,
            start_new_session=True,
            **user,
        )
        self.stack.callback(_stop, process)
        return process, log


def _give(folder: Path) -> None:
    """Give the other user a folder, and the right to go through the folders above it."""
    os.chown(folder, NOBODY, NOBODY)
    for parent in folder.parents:
        status = parent.stat()
        if status.st_uid == os.geteuid() and not status.st_mode & 0o001:
            parent.chmod(status.st_mode | 0o011)


@contextmanager
def standalone_cluster(folder: Path, hidden: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The URL of a master with two workers of one core each, which cannot see ``hidden``.

    ``environment`` is what executors have; their own files are below ``folder``.
    """
    folder.mkdir()
    port = free_port()
    deploy = "org.apache.spark.deploy"
    here = ("-h", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as stack:
        daemons = {**environment, "SPARK_DAEMON_MEMORY": "256m"}
        processes = _Processes(stack, folder, hidden, daemons)
        master, log = processes.start("master", f"{deploy}.master.Master", *here, "-p", str(port))
        wait_for_port(master, port, log)
        url = f"spark://127.0.0.1:{port}"
        for number in range(2):
            own = ("-c", "1", "-m", "1g", "-d", str(folder / f"work-{number}"))
            processes.start(f"worker-{number}", f"{deploy}.worker.Worker", url, *here, *own)
        yield url


@contextmanager
def connect_server(folder: Path, hidden: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The URL of a Spark Connect server with two cores, which cannot see ``hidden``."""
    folder.mkdir()
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
    }
    with ExitStack() as stack:
        processes = _Processes(stack, folder, hidden, environment)
        server, log = processes.start(
            "connect",
            *("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
        )
        wait_for_port(server, port, log)
        yield f"sc://localhost:{port}"


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
