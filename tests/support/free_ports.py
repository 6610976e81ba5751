"""Ports for the servers that tests start."""

import secrets
import socket

# Below the ports that systems give out by themselves (Linux: from 32768 on). One of those may be in use for
# a connection by the time that a server, which takes seconds to start, binds it.
PORTS = range(20_000, 32_000)
_given: set[int] = set()


def free_port() -> int:
    """A port of loopback on which no process listens, and which was not returned before in this process."""
    while True:
        port = secrets.choice(PORTS)
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
