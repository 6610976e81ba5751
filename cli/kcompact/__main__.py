"""Where the process begins: the console script, ``python -P -m kcompact``, or ``spark-submit`` of this file.

Until the working folder is off Python's path, this imports only modules that Python has imported by itself.
"""

import gc
import io
import os
import sys


def main() -> int:
    """Have Python import only from where it is installed, then run the command line."""
    _leave_out_working_folder()
    _leave_other_sparks()
    _end_at_once_on_signals()
    _fill_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # other locales than UTF-8 cannot encode all
        sys.stdout.reconfigure(errors="backslashreplace")
    from kcompact import app
    from kcompact.engine import signals

    code = app.main()
    signals.finish_undisturbed()
    gc.freeze()  # at its end Python would look through all objects for garbage, before the system frees them
    return code


def _end_at_once_on_signals() -> None:
    """Have a signal end the process: until a command begins (``signals.py``), nothing has to be cleared away.

    It is the first thing to be done, since an import that is interrupted ends with a traceback.
    """
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: os._exit(130))


def _fill_closed_streams() -> None:
    """Open standard streams that are closed (``>&-``), with replacements that nobody can read or write.

    Otherwise a file of the run would get the number of such a stream, and with it our output.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  stays open until the process ends
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  stays open until the process ends


def _leave_other_sparks() -> None:
    """Do not use the Java of ``spark-submit`` or ``pyspark`` if their program started this command.

    That Java has a session of that program. Only a file that ``spark-submit`` runs itself may use it: this
    one, or a script that calls ``main``.
    """
    is_submitted = sys.argv[0].endswith(".py") and getattr(sys.modules["__main__"], "__spec__", None) is None
    for name in () if is_submitted else ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        os.environ.pop(name, None)


def _leave_out_working_folder() -> None:
    """Take out of ``sys.path`` what Python put there for the working folder, or for folders below it."""
    try:
        # If spark-submit runs this file, Python has put the file's own folder there.
        own = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  no pathlib yet
        if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd(), own):  # noqa: PTH109  likewise
            del sys.path[0]
        if os.environ.get("PYTHONPATH") and not sys.flags.ignore_environment:
            _leave_out_relative_entries(os.environ["PYTHONPATH"].split(os.pathsep))
    except OSError:  # the working folder is gone: nothing can be imported from it
        return


def _leave_out_relative_entries(entries: list[str]) -> None:
    """Take out relative entries, which Python made absolute, unless the same folder is an entry by itself."""
    for entry in entries:
        folder = os.path.abspath(entry)  # noqa: PTH100  no pathlib yet
        if not os.path.isabs(entry) and folder not in entries and folder in sys.path:  # noqa: PTH117  no pathlib yet
            sys.path.remove(folder)


if __name__ == "__main__":
    sys.exit(main())
