"""PySpark's own words over a Java that is gone: none of them is printed."""

import sys
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from kcompact.engine.startup.silence import keep_accumulators_quiet, stop_quietly


def test_a_session_whose_java_is_gone_is_stopped_without_a_warning() -> None:
    def stop() -> None:
        warnings.warn("Unable to cleanly shutdown Spark JVM process", RuntimeWarning, stacklevel=1)

    session: Any = SimpleNamespace(stop=stop)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stop_quietly(session)
        with pytest.raises(RuntimeWarning):
            session.stop()


def test_a_broken_connection_of_accumulators_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    server = SimpleNamespace(handle_error=lambda *_: sys.stderr.write("Traceback"))
    context: Any = SimpleNamespace(_accumulatorServer=server)
    keep_accumulators_quiet(context)
    server.handle_error(None, ("127.0.0.1", 1))
    assert capsys.readouterr().err == ""
