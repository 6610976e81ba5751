"""Daemons that fork Spark's Python workers, themselves forked from a process that the driver starts early.

The early process imports PySpark, numba and the loops while the driver waits for Java. Java, or each executor
on this machine, starts a daemon (``spark.python.daemon.module``) only once it has a task. That process then
only hands its streams and its environment over to a daemon that the early process forks for it, and ends with
this daemon. If there is no early process, or it fails, the process that Java has started is the daemon
itself.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

DAEMON_MODULE = "kcompact.engine.startup.worker_daemon"
SOCKET_VARIABLE = "KCOMPACT_DAEMON_SOCKET"
"""Names the socket of the early process; it lies in the run's own folder, which nobody else can open."""
_WORKER_MODULE = "pyspark.worker"
_EARLY = "--early"
_GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": f"{1 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{8 << 20}"}
"""Settings that glibc reads as a process starts: they make it give back the memory of large freed arrays.

Without them glibc keeps up to 64 MB, and the freed memory between smaller objects.
"""
_STREAMS = (0, 1, 2)
_CARRIER = b"s"  # streams are sent beside at least one byte
_READY = b"r"


@contextmanager
def early_daemon(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Start the early process of a run, and kill it at the end. Daemons and workers end when their Java does.

    ``folder`` is the run's own. Nothing is started if the path of the socket is longer than a socket's may
    be.
    """
    try:
        process = _started(folder, environment)
    except OSError:
        process = None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.communicate()


def _started(folder: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(environment[SOCKET_VARIABLE])
        listener.listen()
        return subprocess.Popen(
            [sys.executable, "-m", DAEMON_MODULE, _WORKER_MODULE, _EARLY, str(listener.fileno())],
            stdin=subprocess.PIPE,  # closes when this process ends
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_GIVEN_BACK | dict(environment),
            pass_fds=[listener.fileno()],
            process_group=0,  # Ctrl-C is the driver's to handle
        )


def _fork_daemons(listener: socket.socket) -> bool:
    """Fork a daemon for each process that hands over. True in a daemon, False here once the driver ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener.fileno(), 0], [], [])
        if 0 in ready:
            return False
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _take_over(connection)
            return True
        connection.close()


def _take_over(connection: socket.socket) -> None:
    """Take over the streams and the environment of the process that Java has started."""
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


def _hand_over() -> bool:
    """Hand the streams of this process over to a new daemon, and wait for its end; False if there is none."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(os.environ.get(SOCKET_VARIABLE, ""))
            socket.send_fds(connection, [_CARRIER], _STREAMS)
            connection.sendall(json.dumps(dict(os.environ)).encode())
            connection.shutdown(socket.SHUT_WR)
            if connection.recv(1) != _READY:
                return False
        except OSError:
            return False
        for stream in _STREAMS:
            os.close(stream)  # so that only the daemon holds them
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
            if not _fork_daemons(listener):
                return
    serve()


if __name__ == "__main__":
    _run()
