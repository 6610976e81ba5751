"""The two consoles: results go to stdout, everything else to stderr."""

from rich.console import Console

from kcompact.printable import terminal_lines


class _OurConsole(Console):
    """A console that leaves a closed pipe to ``app.main``; rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


stdout = _OurConsole(highlight=False, soft_wrap=True)
stderr = _OurConsole(stderr=True, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print one note to stderr; ``text`` is shown as it is, without markup."""
    stderr.print(f"note: {terminal_lines(text)}", markup=False)
