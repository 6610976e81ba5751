"""Failures below Spark, each in a sentence: a killed Java or worker, memory, disk, missing modules.

Spark wraps every failure of a worker or of Java in long texts. Failures that a user can do something about
are recognised here by words in these texts. Any other failure counts as a bug.
"""

import errno
import itertools
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kcompact.engine.startup.jvm import Jvm
from kcompact.engine.startup.start_failures import (
    Settings,
    all_words,
    no_more_threads,
    not_started,
    too_few_addresses,
    without_package,
)
from kcompact.errors import EngineError, KcompactError
from kcompact.printable import terminal_lines
from kcompact.storage.disk import write_error
from kcompact.storage.scratch import removed_in_use

_MORE_MEMORY = "give Spark's Java more memory with --driver-memory, such as 4g"
_OUT_OF_MEMORY = "most often the machine, or its container, ran out of memory; --master 'local[1]' needs less"
_FULL_JDK = (
    "executors need a full JDK of Java 17 or later (with the module jdk.incubator.vector), and kcompact's"
    " Python packages; --verbose shows Spark's log"
)
_OTHER_VERSION = (
    "is it of another version of Spark than PySpark here? then set SPARK_HOME to a Spark of its version;"
    " --verbose shows Spark's log, and the master has its own"
)

# words in Spark's text, message, hint
_KNOWN = (
    (
        "Too many open files",
        "more files have to be open at once than is allowed",
        "raise ulimit -n, to 1024 or more",
    ),
    ("OutOfMemoryError", "Spark's Java ran out of memory", _MORE_MEMORY),
    (
        "MemoryError",
        "a Python worker of Spark ran out of memory",
        "raise spark.executor.pyspark.memory or ulimit -v where one is set; --master 'local[1]' needs less",
    ),
    (
        "spark.driver.maxResultSize",
        "what tasks send to the driver is more than spark.driver.maxResultSize allows",
        "raise it with --conf spark.driver.maxResultSize=4g",
    ),
    (
        "Python worker exited unexpectedly",
        "a Python worker of Spark was killed or crashed",
        _OUT_OF_MEMORY,
    ),
    ("Master removed our application", "the cluster gave up on this run's executors", _FULL_JDK),
    (
        "Cannot call methods on a stopped SparkContext",
        "the cluster, or its master, ended Spark's session",
        _OTHER_VERSION,
    ),
    ("All masters are unresponsive", "the cluster cannot be reached", "look at the address in --master"),
    (
        "PYTHON_VERSION_MISMATCH",
        "Spark's workers run another version of Python than this one",
        "name the right one with PYSPARK_PYTHON, or --conf spark.pyspark.python=...",
    ),
    (
        "stopped while waiting for backend",
        "the cluster's executors ended as soon as they were started",
        f"what they print says why, on Kubernetes kubectl logs; {_FULL_JDK}",
    ),
    ("jdk.incubator.vector not found", "Java on the cluster is not a full JDK", _FULL_JDK),
)
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "Failed to get a temp directory under")
_NO_FOLDER = 53  # Java's exit code where Spark cannot make a folder for its blocks
_TOO_LARGE = "File too large"
_BAD_SETTINGS = (
    "[INVALID_CONF_VALUE",
    "[CODEC_NOT_AVAILABLE",
    "Failed to parse byte string",
    "Failed to parse time string",
)
_LAST_LINE_OF_TRACEBACK = re.compile(  # Spark indents what a daemon says that does not start
    r"^([ \t]*).*?Traceback \(most recent call last\):\n(?:\1[ \t].*\n|[ \t]*\n)*\1(\S.*)$", re.MULTILINE
)
_MISSING_MODULE = re.compile(r"^[ \t]*ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_BEFORE_JAVAS_ERROR = "\n: "
_CAUSED_BY = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_OF_JAVAS_TRACEBACK = ("\tat ", "JVM stacktrace:", "Driver stacktrace:")
_LONGEST_SENTENCE = 500


@contextmanager
def explained(java: Callable[[], Jvm] | None = None) -> Iterator[None]:
    """In this context, raise known errors of Spark as errors of kcompact.

    ``java`` gives the Java process that this run has started; None: Spark was not started by this run.
    """
    try:
        yield
    except Exception as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from None
        if isinstance(error, KcompactError):
            raise
        explanation = explain(error, java and java())
        if explanation is not None:
            raise explanation from error
        if not _is_of_spark(error):
            raise
        raise _unexpected(error) from None


@contextmanager
def start_explained(settings: Settings) -> Iterator[None]:
    """In this context, where Spark is started, raise Java's objections as EngineError.

    They come of ``--conf`` or of this machine.
    """
    try:
        yield
    except Exception as error:
        if _was_interrupted(error) or not _is_objection(error):
            raise
        text = str(error)
        if not _is_of_a_setting(text) and explain(error) is not None:
            raise
        raise not_started(_reason(text) + _root_cause(text), settings) from error


def _is_objection(error: Exception) -> bool:
    """Whether a living Java has refused something. If Java has died, py4j raises other errors."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return isinstance(error, Py4JJavaError | PySparkException)


class UnexpectedSparkError(RuntimeError):
    """A bug that came to light below Spark: a sentence, with the whole text of Spark as a note."""


def _unexpected(error: Exception) -> UnexpectedSparkError:
    """The error as a bug, with its text, which Py4J would ask Java for only when it is shown: too late."""
    text = f"{type(error).__name__}: {error}"
    unexpected = UnexpectedSparkError(_sentence(text))
    unexpected.add_note(terminal_lines(text))
    return unexpected


def _sentence(text: str) -> str:
    """The last error of a worker's traceback, or else the text before Java's own traceback."""
    raised = [error for _margin, error in _LAST_LINE_OF_TRACEBACK.findall(text)]
    if raised:
        return f"in a Python worker of Spark: {raised[-1]}"
    lines = itertools.takewhile(lambda line: not line.startswith(_OF_JAVAS_TRACEBACK), text.splitlines())
    return " ".join(line.strip() for line in lines if line.strip())[:_LONGEST_SENTENCE]


def _is_of_a_setting(text: str) -> bool:
    return any(words in text for words in _BAD_SETTINGS)


def _reason(text: str) -> str:
    """Java's objection, without the call from Python that ran into it."""
    return without_package(_sentence(text.partition(_BEFORE_JAVAS_ERROR)[2] or text))


def _root_cause(text: str) -> str:
    """The innermost cause of a Java error in brackets, such as why a scheduler cannot be made; else empty."""
    causes = _CAUSED_BY.findall(text)
    return f" ({without_package(causes[-1].rstrip())})" if causes else ""


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an error hides an interrupt: PySpark tidies up after an interrupted call, which can fail."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _is_of_spark(error: Exception) -> bool:
    """Whether an error is Spark's, by the name of its module: PySpark is not imported just for this."""
    return bool(_packages_of(error) & {"pyspark", "py4j"}) or isinstance(error, ConnectionError)


def _may_come_of_a_dead_java(error: Exception) -> bool:
    """Whether an error can be the first sign of a dead Java: reading from it can fail in many ways."""
    return _is_of_spark(error) or "pyarrow" in _packages_of(error) or isinstance(error, EOFError)


def _packages_of(error: Exception) -> set[str]:
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__}


def explain(error: Exception, java: Jvm | None = None) -> KcompactError | None:
    """The error to show in place of one of Spark's, or None if that is a bug and has to stay as it is."""
    explanation: KcompactError | None = no_more_threads(str(error))
    if explanation is None and _is_of_spark(error):
        explanation = _explained_by_text(str(error), java)
    if explanation is None and java is not None and _may_come_of_a_dead_java(error) and java.is_dead():
        explanation = no_more_threads(all_words(java.folder / "spark.log")) or _died(java)
    return explanation


def _died(java: Jvm) -> EngineError:
    code = java.process.returncode
    if code == _NO_FOLDER:
        return _disk_full(java)
    is_killed = code == -signal.SIGKILL  # by the kernel, for want of memory
    hint = _OUT_OF_MEMORY if is_killed else too_few_addresses() or _MORE_MEMORY
    return EngineError(f"Spark's Java died ({_cause(code)})", hint=hint)


def _explained_by_text(text: str, java: Jvm | None) -> KcompactError | None:
    if any(words in text for words in _NO_SPACE):
        return _disk_full(java)
    if (lost := removed_in_use(text)) is not None:
        return lost
    if _TOO_LARGE in text:
        place = "a file of Spark's" if java is None else java.folder.parent
        return write_error(place, OSError(errno.EFBIG, _TOO_LARGE))
    if java is None and (missing := _MISSING_MODULE.search(text)) is not None:  # in the caller's session
        return EngineError(
            f"Spark's workers cannot import {missing[1]}: their Python is another one than this",
            hint=f"set PYSPARK_PYTHON={sys.executable} before the Spark session is made",
        )
    if _is_of_a_setting(text):
        return EngineError(
            f"Spark cannot take a setting: {_reason(text)}", hint="look at --conf, and at spark-defaults.conf"
        )
    explanations = ((message, hint) for words, message, hint in _KNOWN if words in text)
    return next((EngineError(message, hint=hint) for message, hint in explanations), None)


def _disk_full(java: Jvm | None) -> EngineError:
    if java is None:  # Spark was not started by this run
        return EngineError("the disk that Spark spills to is full", hint="free some space there")
    named = dict(java.settings).get("spark.local.dir")
    place, option = (named, "--conf spark.local.dir") if named else (java.folder.parent, "TMPDIR")
    return EngineError(
        f"{place}: the disk that Spark spills to is full",
        hint=f"free some space, or name a folder on a larger disk with {option}",
    )


def _cause(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
