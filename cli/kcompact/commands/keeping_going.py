"""``--keep-going``: a command that meets files that it cannot read begins anew without their logs."""

import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from kcompact.console import say
from kcompact.dumps.files.unreadable import described, left_out_by
from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut
from kcompact.errors import ExitCode, InputError, LeavingOutError


def keep_going(
    execute: Callable[[LeftOut], int], dumps: Sequence[str], *, if_nothing_else: ExitCode = ExitCode.FINDING
) -> int:
    """Run ``execute`` until it meets nothing more that is to be left out; the exit code.

    If something was, that is what the last line says, and the exit code is at least FINDING:
    ``if_nothing_else`` where the command itself found nothing.
    """
    left_out = NOTHING_LEFT_OUT
    while True:
        try:
            exit_code = execute(left_out)
        except LeavingOutError as stopped:
            _require_files(dumps)
            left_out = left_out.plus(left_out_by(stopped))
            continue
        if left_out == NOTHING_LEFT_OUT:
            return exit_code
        say("finding", described(left_out))
        return exit_code or if_nothing_else


def notes_on(left_out: LeftOut) -> list[str]:
    """For reports: what is not in them."""
    return [] if left_out == NOTHING_LEFT_OUT else [described(left_out)]


def _require_files(dumps: Sequence[str]) -> None:
    for path in dumps:
        if path == "-" or (Path(path).exists() and stat.S_ISFIFO(Path(path).stat().st_mode)):
            raise InputError(
                f"{path}: --keep-going reads the dump once more without what cannot be read, which a pipe"
                " does not allow",
                hint="write it to a file first",
            )
