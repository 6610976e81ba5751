"""The two consoles: results go to stdout, everything else to stderr."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from kcompact.digits import whole_number
from kcompact.printable import terminal

_CREDENTIALS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s:]*:[^/@\s]*@|((?:s3[an]?|gs|gcs)://)[^/@\s]*@", re.IGNORECASE
)
_STYLES = {
    "error": "bold red",
    "bug": "bold red",
    "finding": "red",
    "warning": "yellow",
    "hint": "cyan",
    "note": "dim",
}


class _OurConsole(Console):
    """A console that leaves a closed pipe to ``app.main``; rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _environment() -> Mapping[str, str]:
    """The environment without a ``COLUMNS`` that is no width: into one of 0, rich prints nothing at all."""
    if (whole_number(os.environ.get("COLUMNS", "1")) or 0) > 0:
        return os.environ
    return {name: text for name, text in os.environ.items() if name != "COLUMNS"}


def _console(*, is_stderr: bool) -> _OurConsole:
    return _OurConsole(stderr=is_stderr, highlight=False, soft_wrap=True, _environ=_environment())


stdout = _console(is_stderr=False)
stderr = _console(is_stderr=True)
_alarm = _console(is_stderr=True)  # heard in spite of --quiet


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Inside, if ``quiet``, both consoles print nothing; errors and warnings are said all the same."""
    before = stdout.quiet, stderr.quiet
    stdout.quiet = stderr.quiet = quiet
    try:
        yield
    finally:
        stdout.quiet, stderr.quiet = before


def say(level: str, text: str) -> None:
    """Print ``level: text`` to stderr, the level in its colour on a terminal; ``text`` is inert."""
    _alarm.print(_line(level, text))


def note(text: str) -> None:
    """Print one note to stderr."""
    stderr.print(_line("note", text))


def finding(text: str) -> None:
    """Print one finding of a report to stderr; with ``--quiet`` the exit code tells that there are some."""
    stderr.print(_line("finding", text))


def _line(level: str, text: str) -> Text:
    """The message; credentials in an address that it quotes are nobody's business."""
    hidden = _CREDENTIALS.sub(r"\1\2***@", text)
    return Text.assemble((f"{level}: ", _STYLES[level]), terminal(hidden))
