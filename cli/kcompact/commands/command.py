"""The part that all commands share: the dumps that they read, where they run, and ``--keep-going``."""

import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

from kcompact.console import say
from kcompact.dumps.files.sources import STDIN
from kcompact.dumps.files.unreadable import LeavingOutError, described
from kcompact.dumps.options import NOTHING_LEFT_OUT, LeftOut, ReadOptions
from kcompact.errors import ExitCode, InputError
from kcompact.options.dump_options import ReadingOptions, read_options
from kcompact.options.groups import OptionGroup
from kcompact.options.run_options import RunOptions
from kcompact.storage.lookup import mode_of


@dataclass(frozen=True)
class Command:
    """The command line of one run; a command adds the options that only it has."""

    dumps: list[str]
    reading: ReadingOptions
    run: RunOptions

    left_out: LeftOut = field(default=NOTHING_LEFT_OUT, kw_only=True)
    if_nothing_else: ClassVar = ExitCode.FINDING
    """The exit code where something was left out and the command itself found nothing."""

    def execute(self) -> int:
        """Do the work, and return the exit code.

        With ``--keep-going`` a command that meets files that it cannot read begins anew without their logs.
        The last line that it prints then says so.
        """
        command = self
        while True:
            try:
                exit_code = command.attempt()
            except LeavingOutError as stopped:
                _require_files([*self.dumps, *self._other_files()])
                command = replace(command, left_out=command.left_out.plus(stopped.left_out))
                continue
            if command.left_out == NOTHING_LEFT_OUT:
                return exit_code
            say("finding", described(command.left_out))
            return exit_code or self.if_nothing_else

    def attempt(self) -> int:
        """Do the work once, without the files to leave out. Raises LeavingOutError for more of these."""
        raise NotImplementedError

    def read_options(self) -> ReadOptions:
        """How the command's dumps are read."""
        return read_options(self.reading, self.left_out)

    def _other_files(self) -> list[str]:
        """The files beside the dumps that the groups of options name."""
        values = [getattr(self, member.name) for member in fields(self)]
        groups = [value for value in values if isinstance(value, OptionGroup)]
        return [path for group in groups for path in group.files if path]

    def notes_on_left_out(self, *, quotes: bool = True) -> list[str]:
        """Notes on what a report leaves out. ``quotes``: unreadable text is quoted, which may hold keys."""
        return [] if self.left_out == NOTHING_LEFT_OUT else [described(self.left_out, quotes=quotes)]

    def notes_on_filters(self) -> list[str]:
        """Notes on filters, for answers that would otherwise be about a whole dump."""
        reading = self.reading
        given = [f"--topic {topic}" for topic in reading.topic]
        given += [] if reading.partitions is None else [f"--partitions {reading.partitions}"]
        return [f"logs other than those of {' '.join(given)} were not looked at"] if given else []


def _require_files(paths: Sequence[str]) -> None:
    for path in paths:
        if path == STDIN or stat.S_ISFIFO(mode_of(path)):
            raise InputError(
                f"{path}: --keep-going begins anew without what cannot be read, and a pipe can be read only"
                " once",
                hint="write it to a file first",
            )
