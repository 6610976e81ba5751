"""One command line from beginning to end: ``main`` is the only place that catches KcompactError."""

import errno
import gc
import importlib
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kcompact.errors import EngineError, ExitCode, InputError, KcompactError, OutputError
from kcompact.printable import terminal
from kcompact.short_help import asked_for

_STDOUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EBADF}
_NEW_OBJECTS = 100_000
_LEAST_ADDRESSES = 512 << 20  # with less, OpenBLAS ends the process with exit code 1, or Arrow is not loaded
_COMPLETES = "_KCOMPACT_COMPLETE"  # set by a shell that wants to know how a word may go on


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code (the console script passes it to ``sys.exit``)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        help_text = None if _COMPLETES in os.environ else asked_for(arguments)
        return _run(arguments) if help_text is None else _show(help_text, failed=not arguments)
    except KcompactError as error:
        return _failed(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _quiet_pipe()
    except Exception as error:  # noqa: BLE001  whatever else comes here is a bug of ours
        if isinstance(error, OSError) and error.filename is None and error.errno in _STDOUT_ERRORS:
            return _lost_stdout(error)
        return _unexpected(error, arguments)


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Inside, Python looks for garbage after 100,000 new objects, not after 700.

    Imports, and dumps of ten thousand files, make many objects that stay; each search would go through all.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _show(help_text: str, failed: bool) -> int:
    sys.stdout.write(help_text)
    sys.stdout.flush()
    return ExitCode.FAILED if failed else ExitCode.OK


def _run(arguments: list[str]) -> int:
    from kcompact.engine.signals import signals_held, stopped_by_signals

    _check_working_folder()
    _check_addresses()
    _name_temporary_folder_in_full()
    with stopped_by_signals(), _collecting_rarely():
        with signals_held():  # an exception in the midst of its import would be a segmentation fault
            importlib.import_module("orjson")
        from kcompact.frame import app

        try:
            result = app(arguments, prog_name="kcompact", standalone_mode=False)
        except SystemExit as left:
            if isinstance(left.__context__, BrokenPipeError):  # click would end the process with 1
                raise left.__context__ from None
            raise
        sys.stdout.flush()  # here, where a failure is still reported
    return result if isinstance(result, int) else ExitCode.OK


def _check_working_folder() -> None:
    """Raise InputError if the working folder is gone: paths would lead nowhere, and Spark could not start."""
    try:
        os.getcwd()  # noqa: PTH109  pathlib takes 10 ms to import
    except FileNotFoundError as error:
        raise InputError("the working folder is gone", hint="change to one that is there (cd)") from error


def _check_addresses() -> None:
    """Raise EngineError if the process may address too little memory to load libraries written in C."""
    most_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= most_bytes < _LEAST_ADDRESSES:
        raise EngineError(
            f"a process may address only {most_bytes >> 20} MiB of memory here: too little for kcompact",
            hint="raise ulimit -v: Spark's Java takes 4 GiB of addresses, most of which it never uses",
        )


def _name_temporary_folder_in_full() -> None:
    """Make ``TMPDIR`` absolute: Java has a working folder of its own, where ``.`` is another place."""
    if os.environ.get("TMPDIR"):
        os.environ["TMPDIR"] = os.path.abspath(os.environ["TMPDIR"])  # noqa: PTH100  no pathlib yet


def _failed(error: KcompactError) -> int:
    from kcompact.console import say

    say("error", error.message)
    if error.hint:
        say("hint", error.hint)
    return error.exit_code


def _quiet_pipe() -> int:
    """Stop without a message where nobody reads stdout any more (``| head``), as other filters do."""
    sys.stdout = None  # nothing may flush into the closed pipe at exit
    return ExitCode.OK


def _lost_stdout(error: OSError) -> int:
    """Report an error of standard output, which names no file, unlike errors about files."""
    sys.stdout = None  # nothing may flush into it at exit
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    hint = "; ".join(getattr(error, "__notes__", [])) or None
    return _failed(OutputError(f"standard output cannot be written: {error.strerror}", hint=hint))


def _refused_place(error: OSError) -> KcompactError | None:
    """The error to report for an OSError that the user can mend; None: it is a bug.

    An argument is too long for a file system, or in a folder that this user may not search; or the working
    folder, or a folder of this run, was removed. Any code that looks at such a place may have raised it.
    """
    from kcompact.storage.replacing import too_long
    from kcompact.storage.scratch import removed_in_use

    if isinstance(error, FileNotFoundError):
        try:
            _check_working_folder()
        except InputError as gone:
            return gone
        if not error.filename:  # Python's tempfile alone names no file
            hint = "name a folder that can be written with TMPDIR, on a disk that has some space"
            return OutputError(f"temporary files cannot be written: {error.strerror}", hint=hint)
    if not error.filename:
        return None
    path = os.fsdecode(error.filename)
    if error.errno == errno.ENAMETOOLONG:
        return InputError(too_long(path))
    if error.errno == errno.EACCES:
        hint = "name another place, or give this user permission to search the folders above it"
        return InputError(f"{path}: Permission denied", hint=hint)
    return removed_in_use(str(error))


def _unexpected(error: Exception, arguments: Sequence[str]) -> int:
    if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps it where it makes a class
        return ExitCode.INTERRUPTED
    from kcompact.console import say, stderr
    from kcompact.usage_errors import is_usage_error, plain_error

    if is_usage_error(error):
        return _failed(plain_error(error, arguments))
    if isinstance(error, OSError) and (refused := _refused_place(error)) is not None:
        return _failed(refused)
    if "--debug" in arguments:
        stderr.print_exception()
    if isinstance(error, MemoryError):
        return _failed(EngineError("there is not enough memory", hint="does ulimit -v limit it?"))
    say("bug", f"{type(error).__name__}: {_words(error)}")
    say("hint", "please report it, with what the same prints as kcompact --debug COMMAND ...")
    return ExitCode.BUG


def _words(error: Exception) -> str:
    """The text of an error; PySpark's asks its JVM, which may be gone by now."""
    try:
        return terminal(str(error))
    except Exception:  # noqa: BLE001  whatever fails here, the user still gets a sentence
        return "(its message is lost)"
