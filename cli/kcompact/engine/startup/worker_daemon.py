"""The daemon that forks Spark's Python workers, started by the driver while it waits for Java.

It imports PySpark, numba and the loops; Java would start it only once Spark's context is there. The process
that Java then starts as its daemon (``spark.python.daemon.module``) only hands over its streams and its
environment, and ends with the early daemon. If there is none, or it has failed, that process is the daemon.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

DAEMON_MODULE = "kcompact.engine.startup.worker_daemon"
SOCKET_NAME = "daemon"
"""In the run's own folder, which nobody else can look into."""
_WORKER_MODULE = "pyspark.worker"
_EARLY = "--early"
_STREAMS = (0, 1, 2)
_CARRIER = b"s"  # streams are sent beside at least one byte
_READY = b"r"


@contextmanager
def early_daemon(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Start the daemon of a run; at the end it is killed, with all workers that it has forked.

    ``folder`` is the run's own. Nothing is started where the socket's name would be too long for one.
    """
    try:
        process = _started(folder, environment)
    except OSError:
        process = None
    try:
        yield
    finally:
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):  # it has no group yet, or has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.communicate()


def _started(folder: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET_NAME))
        listener.listen(1)
        return subprocess.Popen(
            [sys.executable, "-m", DAEMON_MODULE, _WORKER_MODULE, _EARLY, str(listener.fileno())],
            stdin=subprocess.PIPE,  # closes when this process ends
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=dict(environment),
            pass_fds=[listener.fileno()],
            process_group=0,  # Ctrl-C is the driver's to handle
        )


def _take_over(listener: socket.socket) -> bool:
    """Get the streams and the environment of what Java starts; False if the driver ends before."""
    ready, _, _ = select.select([listener.fileno(), 0], [], [])
    if 0 in ready:
        return False
    connection, _ = listener.accept()
    _, descriptors, _, _ = socket.recv_fds(connection, len(_CARRIER), len(_STREAMS))
    with connection.makefile("rb") as environment:
        variables = json.load(environment)
    os.environ.clear()
    os.environ.update(variables)
    for descriptor, stream in zip(descriptors, _STREAMS, strict=True):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    connection.send(_READY)
    connection.detach()  # open until this process ends
    return True


def _hand_over() -> bool:
    """Give this process's streams to the early daemon and wait for its end; False where there is none."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(Path.cwd() / SOCKET_NAME))
            socket.send_fds(connection, [_CARRIER], _STREAMS)
            connection.sendall(json.dumps(dict(os.environ)).encode())
            connection.shutdown(socket.SHUT_WR)
            if connection.recv(1) != _READY:
                return False
        except OSError:
            return False
        for stream in _STREAMS:
            os.close(stream)  # whoever is at their other ends meets the daemon alone
        connection.recv(1)
    return True


def _run() -> None:
    is_early = sys.argv[2:3] == [_EARLY]
    if not is_early and _hand_over():
        return
    from kcompact.engine.startup.prepared_workers import load, serve  # what hands over needs none of it

    load()
    if is_early:
        with socket.socket(fileno=int(sys.argv[3])) as listener:
            if not _take_over(listener):
                return
    serve()


if __name__ == "__main__":
    _run()
