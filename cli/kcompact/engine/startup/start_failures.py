"""Why Spark did not start: Java's own message in a sentence, and a hint at possible causes."""

import locale
import os
import pwd
import re
import resource
from pathlib import Path

from kcompact.errors import EngineError
from kcompact.storage import disk
from kcompact.storage.scratch import folder_outside

Settings = tuple[tuple[str, str], ...]
"""Names and values of ``--conf``."""

_FEW_FILES = 1024  # open at once; Java alone opens some 300
_NO_THREAD = ("unable to create native thread", "can't start new thread")
_FEW_ADDRESSES = 4 << 30  # bytes: Java reserves 1 GiB for its heap, another for classes, and more
_ROOM_BYTES = 4096  # a block of the disk: less than Java writes before it answers
_SUSPECTS_NAMED = 5
_LONGEST_REASON = 300
_JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
_SAID_AFTER_ANY_CAUSE = ("Error: Could not create the Java", "Error: A fatal exception", "Run with --help")
_SAID_AT_A_CRASH = "# "
_SAID_BY_SPARKS_SCRIPT = "CMD: bad array subscript"  # when Java ended before it printed its command
_OF_KUBERNETES = "KubernetesClientException: "
_BEFORE_THE_ANSWER = " Received status: "  # before the whole answer, printed as a Java object
_KUBECTLS_SETTINGS = (
    "kubectl's settings count (KUBECONFIG, else ~/.kube/config), --conf spark.kubernetes.namespace=... and"
    " spark.kubernetes.authenticate...; --verbose shows Spark's whole log"
)
_THREAD_AND_PACKAGE = re.compile(r'(Exception in thread "[^"]*" |Caused by: )?([a-z][\w$]*\.)+(?=[A-Z])')


def refuse_odd_names(temporary_root: Path, java: Path) -> None:
    """Raise EngineError for names that Java or Spark would misread: Java decodes them as the locale says."""
    if "," in str(temporary_root):
        raise EngineError(
            f"{temporary_root}: Spark takes a comma in a folder's name for the end of the name, and"
            " would leave files elsewhere",
            hint="set TMPDIR to a folder without a comma in its name",
        )
    remedies = {
        temporary_root: "set TMPDIR to a folder whose name is of ASCII letters",
        java: "set LC_ALL=C.UTF-8, or install kcompact in a folder whose name is of ASCII letters",
    }
    for path, remedy in remedies.items():
        try:
            os.fsencode(path).decode(locale.getencoding())
        except UnicodeDecodeError as error:
            raise EngineError(
                f"{path}: Java cannot read this name in the encoding of the locale, {locale.getencoding()}",
                hint=remedy,
            ) from error


def require_room(folder: Path) -> None:
    """Raise OutputError if no more files can be written in the private folder of a run."""
    probe = folder / "room"
    with disk.explained(folder_outside(probe)):
        try:
            disk.write(probe, bytes(_ROOM_BYTES))
        finally:
            probe.unlink(missing_ok=True)


def not_started(cause: str, settings: Settings) -> EngineError:
    """The error to raise where Spark did not start, with a hint. ``cause`` is Java's message."""
    if _OF_KUBERNETES in cause:
        reason = cause.partition(_BEFORE_THE_ANSWER)[0]
        return EngineError(f"Kubernetes refuses: {reason[:_LONGEST_REASON]}", hint=_KUBECTLS_SETTINGS)
    return no_more_threads(cause) or EngineError(
        f"Spark cannot be started: {cause[:_LONGEST_REASON]}", hint=_hint(settings)
    )


def no_more_threads(text: str) -> EngineError | None:
    """The error if ``text`` is Java's or Python's message about a limit of threads, else None."""
    if not any(words in text for words in _NO_THREAD):
        return None
    return EngineError(
        "no more threads can be started here",
        hint="raise the limit on processes and threads: ulimit -u, or the container's (--pids-limit)",
    )


def all_words(log: Path) -> str:
    """All that Java has printed, empty if its log is gone."""
    return log.read_text(errors="replace") if log.exists() else ""


def last_words(log: Path) -> str:
    """The last line in which Java told why it ended, empty if there is none."""
    lines = all_words(log).strip().splitlines()
    crash = [line.removeprefix(_SAID_AT_A_CRASH) for line in lines if line.startswith(_SAID_AT_A_CRASH)]
    reasons = crash[:1] or [line for line in lines if _is_reason(line)]  # a crash tells its reason first
    return without_package(reasons[-1]) if reasons else ""


def without_package(text: str) -> str:
    """Java's text about an exception, without the package of the exception's class."""
    return _THREAD_AND_PACKAGE.sub("", text, count=1) if _THREAD_AND_PACKAGE.match(text) else text


def _is_reason(line: str) -> bool:
    is_general = line.startswith(_SAID_AFTER_ANY_CAUSE) or _SAID_BY_SPARKS_SCRIPT in line
    return bool(line) and not line[:1].isspace() and not is_general


def too_few_addresses() -> str | None:
    """A sentence if this process may address less memory than Java needs, else None."""
    most_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if not 0 <= most_bytes < _FEW_ADDRESSES:
        return None
    return f"only {most_bytes >> 20} MiB of memory may be addressed here: raise ulimit -v"


def _hint(settings: Settings) -> str:
    parts = []
    most_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most_files < _FEW_FILES:
        parts.append(f"only {most_files} files may be open here: raise ulimit -n")
    if few_addresses := too_few_addresses():
        parts.append(few_addresses)
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        user = os.geteuid()
        parts.append(
            f"Java asks for the name of user {user}: give it one in /etc/passwd, or by libnss_wrapper"
        )
    suspects = [f"--conf {name}" for name, _ in settings][:_SUSPECTS_NAMED]
    suspects += [name for name in _JAVA_VARIABLES if os.environ.get(name)]
    if suspects:
        parts.append(f"look at {', '.join(suspects)}")
    return "; ".join([*parts, "--verbose shows Spark's whole log"])
