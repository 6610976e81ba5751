"""A session behind a Spark Connect server (``--master sc://host:port``): no Java here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kcompact.engine.clusters import connection_problem, ship_to
from kcompact.engine.failures import explained
from kcompact.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULT_PORT = 15002


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
    problem = connection_problem(address.hostname or "localhost", address.port or _DEFAULT_PORT)
    if problem is not None:
        raise EngineError(
            f"no Spark Connect server can be reached at {problem}", hint="look at the address in --master"
        )
