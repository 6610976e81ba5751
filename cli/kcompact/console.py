"""The two consoles: results go to stdout, everything else to stderr."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from rich.console import Console
from rich.text import Text

from kcompact.digits import whole_number
from kcompact.printable import terminal

_CREDENTIALS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^/@\s:]*:[^/@\s]*@|((?:s3[an]?|gs|gcs)://)[^/@\s]*@", re.IGNORECASE
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
    """A console that may fail without ending the run: rich would end the process with exit code 1."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does. An error of stderr is ignored, as there is no other place to report it."""
        try:
            super().print(*objects, **options)
        except OSError:
            if not self.stderr:
                raise
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Write nothing more, as nobody reads it (``| head``)."""
        _mute(self.file)


def _mute(stream: IO[str]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def read_or_not() -> Iterator[None]:
    """Inside, a broken pipe makes stdout silent, and the run goes on to its own exit code."""
    try:
        yield
    except BrokenPipeError:
        _mute(sys.stdout)


def _environment() -> Mapping[str, str]:
    """The environment without a ``COLUMNS`` that is no width: with a width of 0, rich prints nothing."""
    if (whole_number(os.environ.get("COLUMNS", "1")) or 0) > 0:
        return os.environ
    return {name: text for name, text in os.environ.items() if name != "COLUMNS"}


def _console(*, is_stderr: bool) -> _OurConsole:
    return _OurConsole(stderr=is_stderr, highlight=False, soft_wrap=True, _environ=_environment())


stdout = _console(is_stderr=False)
stderr = _console(is_stderr=True)
_alarm = _console(is_stderr=True)  # prints in spite of --quiet


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


def annotate(lines: str) -> None:
    """Print lines for a CI runner to stderr; ``lines`` are inert."""
    _alarm.print(Text(lines), end="")


def note(text: str) -> None:
    """Print one note to stderr."""
    stderr.print(_line("note", text))


def finding(text: str) -> None:
    """Print one finding of a report to stderr; with ``--quiet`` the exit code tells that there are some."""
    stderr.print(_line("finding", text))


def _line(level: str, text: str) -> Text:
    """The message, with credentials masked in addresses that it quotes."""
    hidden = _CREDENTIALS.sub(r"\1\2***@", text)
    return Text.assemble((f"{level}: ", _STYLES[level]), terminal(hidden))
