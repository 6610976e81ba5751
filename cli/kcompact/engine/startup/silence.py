"""Keeps PySpark's messages about a Java that is gone off the screen: kcompact has a sentence for that."""

import logging
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_QUIET = logging.NullHandler()
"""For py4j, which logs a traceback when Java is gone, even long after a run, as its objects are collected."""


def keep_py4j_quiet() -> None:
    """Keep py4j's log off the screen from now on. Handlers that the caller has set up still get it all."""
    logging.getLogger().addHandler(_QUIET)


def keep_accumulators_quiet(context: "SparkContext") -> None:
    """Print no traceback where the connection of the accumulators' server breaks."""
    accumulators: Any = context._accumulatorServer  # noqa: SLF001  no public way
    accumulators.handle_error = lambda *_: None


def stop_quietly(session: "SparkSession") -> None:
    """Stop a session whose Java may be gone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        session.stop()
