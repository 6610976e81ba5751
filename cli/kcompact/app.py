"""The command line's frame: ``main`` is the only place that catches KcompactError."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from kcompact import commands
from kcompact.console import stderr
from kcompact.engine.signals import stopped_by_signals
from kcompact.errors import ExitCode, KcompactError
from kcompact.printable import terminal, terminal_lines

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    help="Compact an exported Kafka topic dump exactly as the broker's log cleaner would.",
    epilog="Exit codes: 0 fine, 1 finding, 2 could not do the job, 3 a bug of ours, 130 interrupted.",
)
commands.register(app)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version  # some hundredths of a second that no other run needs

        typer.echo(f"kcompact {version('kcompact')}")
        raise typer.Exit


@app.callback()
def _frame(
    ctx: typer.Context,
    *,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")
    ] = False,
) -> None:
    del show_version
    ctx.obj = {"debug": debug}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code (the console script passes it to ``sys.exit``)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with stopped_by_signals():
            return _exit_code(app(arguments, prog_name="kcompact", standalone_mode=False))
    except KcompactError as error:
        stderr.print(f"error: {terminal_lines(error.message)}", markup=False)
        if error.hint:
            stderr.print(f"hint: {terminal_lines(error.hint)}", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _quiet_pipe()
    except Exception as error:  # noqa: BLE001  whatever else comes here is a bug of ours
        return _unexpected(error, "--debug" in arguments)


def _exit_code(result: object) -> int:
    return result if isinstance(result, int) else ExitCode.OK


def _quiet_pipe() -> int:
    """Nobody reads our stdout any more (``| head``): stop without a word, as other filters do."""
    sys.stdout = None  # nothing may flush into the closed pipe at exit
    return ExitCode.OK


def _unexpected(error: Exception, debug: bool) -> int:
    code = getattr(error, "exit_code", None)
    if code is not None and hasattr(error, "show"):  # Typer's own usage errors
        error.show()
        return int(code)
    if debug:
        stderr.print_exception()
    stderr.print(f"bug: {type(error).__name__}: {_words(error)}", markup=False)
    stderr.print("hint: please report it, with the output of --debug", markup=False)
    return ExitCode.BUG


def _words(error: Exception) -> str:
    """What an error says; PySpark's asks its JVM, which may be gone by now."""
    try:
        return terminal(str(error))
    except Exception:  # noqa: BLE001  whatever fails here, the user still gets a sentence
        return "(its message is lost)"
