"""PySpark's own words over a Java that is gone, kept off the screen: ours say in a sentence what counts."""

import logging
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_QUIET = logging.NullHandler()
"""py4j logs a traceback when Java is gone, also long after a run, as its objects are collected."""


def keep_py4j_quiet() -> None:
    """For the rest of the process; handlers that the caller has set up still get everything."""
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
