"""A session behind a Spark Connect server (``--master sc://host:port``): no Java here."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kcompact.engine.clusters import ship_to
from kcompact.engine.failures import explained
from kcompact.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULT_PORT = 15002
_SECONDS_TO_REACH = 10


@contextmanager
def connected_session(url: str) -> Iterator["SparkSession"]:
    """A session of our own on the server, with our package shipped to its workers; gone at the end."""
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise EngineError(
            "Spark Connect needs packages that are not installed", hint="pip install 'pyspark[connect]'"
        ) from error
    _refuse_unreachable(url)
    with explained():
        session = SparkSession.builder.remote(url).create()
        try:
            ship_to(session)  # type: ignore[arg-type]  # the same interface, by another class
            yield session  # type: ignore[misc]  # likewise
        except BaseException:
            session.client.close()  # ``stop`` says goodbye to the server, for minutes if it is gone
            raise
        session.stop()


def _refuse_unreachable(url: str) -> None:
    """Raise EngineError if nobody listens there: Connect's own client would try again for many minutes."""
    address = urlsplit(url)
    host, port = address.hostname or "localhost", address.port or _DEFAULT_PORT
    try:
        socket.create_connection((host, port), timeout=_SECONDS_TO_REACH).close()
    except OSError as error:
        raise EngineError(
            f"no Spark Connect server can be reached at {host}:{port}: {error.strerror or error}",
            hint="look at the address in --master",
        ) from error
