"""What went wrong below Spark, in a sentence: a killed Java or worker, memory, disk, missing modules.

Spark wraps every failure of a worker or of Java in long texts; those that a user can do something about
are told apart here by words in them. Anything else stays as it is: it is a bug.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kcompact import errors
from kcompact.engine.jvm import Jvm
from kcompact.errors import EngineError, KcompactError

_MORE_MEMORY = "give Spark's Java more memory with --driver-memory, such as 4g"
_FULL_JDK = (
    "executors need a full JDK of Java 17 or later (with the module jdk.incubator.vector), and kcompact's"
    " Python packages; --verbose shows Spark's log"
)

# words in Spark's text, what to say, what to do
_KNOWN = (
    ("OutOfMemoryError", "Spark's Java ran out of memory", _MORE_MEMORY),
    (
        "No space left on device",
        "the disk is full",
        "free some space; TMPDIR names the folder that Spark spills to",
    ),
    (
        "Python worker exited unexpectedly",
        "a Python worker of Spark was killed or crashed",
        "most often the machine ran out of memory; --master 'local[1]' needs less",
    ),
    ("Master removed our application", "the cluster gave up on this run's executors", _FULL_JDK),
    ("All masters are unresponsive", "the cluster cannot be reached", "look at the address in --master"),
    ("jdk.incubator.vector not found", "Java on the cluster is not a full JDK", _FULL_JDK),
)
_RAISED_IN_WORKER = re.compile(r"^kcompact\.errors\.(\w+): (.*)(?:\nhint: (.*))?$", re.MULTILINE)


@contextmanager
def explained(java: Callable[[], Jvm] | None = None) -> Iterator[None]:
    """Inside, Spark's errors come out as ours where they are known. ``java`` is None if it is not ours."""
    try:
        yield
    except Exception as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from None
        if not _is_of_spark(error):
            raise
        known = explain(error, java and java())
        if known is not None:
            raise known from error
        # Py4J asks Java for the text each time it is shown, and Java will be gone then: keep the text.
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _was_interrupted(error: BaseException | None) -> bool:
    """PySpark tidies up on its way out of an interrupted call, which can fail and hide the interrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _is_of_spark(error: Exception) -> bool:
    """Told by module, so that PySpark is not imported just to ask."""
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"pyspark", "py4j"}) or isinstance(error, ConnectionError)


def explain(error: Exception, java: Jvm | None = None) -> KcompactError | None:
    """The error to show in place of one of Spark's; None where it is a bug and has to stay as it is."""
    text = str(error)
    raised = _raised_in_worker(text)
    if raised is not None:
        return raised
    for words, message, hint in _KNOWN:
        if words in text:
            return EngineError(message, hint=hint)
    if java is not None and java.is_dead(wait=_is_of_the_wire(error)):
        return EngineError(f"Spark's Java died ({_cause(java.process.returncode)})", hint=_MORE_MEMORY)
    return None


def _is_of_the_wire(error: Exception) -> bool:
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def _raised_in_worker(text: str) -> KcompactError | None:
    """An error of ours that was raised in a worker, back from the traceback that Spark carries over."""
    found = list(_RAISED_IN_WORKER.finditer(text))
    if not found:
        return None
    name, message, hint = found[-1].groups()  # the last of a chain is the one that left the worker
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, KcompactError)):
        return None
    return kind(message, hint=hint)


def _cause(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
