"""Inputs of ``verify`` beside dumps: the state folder, lists of keys, digests of files."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kcompact.broker.state_folder import CleanerState, StateFolder
from kcompact.broker.state_output import output_file
from kcompact.commands.opening import Workplaces
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.at_hand import sha256_of
from kcompact.dumps.files.stored import is_without_parts
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError, NoRecordsError
from kcompact.options.log_options import GivenOptions, state_path
from kcompact.storage.object_stores import is_address

_BASE64 = b"base64:"


@dataclass(frozen=True)
class KnownState:
    """The content of a state folder; verification only reads it."""

    path: Path
    state: CleanerState

    def belongs_to(self, before: Dump | None, after: Dump | None) -> bool | None:
        """Whether the state was left by the cleaning that made AFTER (or by an earlier one: False).

        None: it names no output, as a checkpoint copied from a broker. Raises InputError if it belongs to
        neither dump.
        """
        if not self.state.files:
            return None
        if self._names(after):
            return True
        if self._names(before):
            return False
        names = ", ".join(file.name for file in self.state.files)
        raise InputError(
            f"{self.path}: this state belongs to {names}, which is neither BEFORE nor AFTER as it was then",
            hint="give the state folder of the run that made AFTER, or leave --state out",
        )

    def _names(self, dump: Dump | None) -> bool:
        paths = [Path(file.path) for file in dump.files if not is_address(file.path)] if dump else []
        for wanted in self.state.files or ():
            same_size = [path for path in paths if path.stat().st_size == wanted.size_bytes]
            if not any(output_file(path).sha256 == wanted.sha256 for path in same_size):
                return False
        return True


def read_state(options: GivenOptions) -> KnownState | None:
    """The state folder, read only. Raises InputError."""
    path = state_path(options)
    if path is None:
        return None
    if not path.is_dir():
        raise InputError(f"{path}: no such state folder", hint="kcompact compact --state makes one")
    return KnownState(path, StateFolder(path).state)


def open_after(places: Workplaces, path: str, options: ReadOptions) -> Dump | None:
    """Open AFTER; None where it is empty: a compaction may leave nothing at all. Raises InputError."""
    if is_address(path) and is_without_parts(path):
        return None
    try:
        return places.open([path], options)
    except NoRecordsError:
        return None


def read_keys(path: str) -> tuple[bytes, ...]:
    """The keys of ``--absent-keys``: a line is a key as text, or ``base64:`` and bytes. Raises InputError."""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    keys = tuple(_key(line, path, number) for number, line in enumerate(lines, start=1) if line)
    if not keys:
        raise InputError(f"{path}: no keys in this file", hint="one key a line")
    return keys


def _key(line: bytes, path: str, number: int) -> bytes:
    if not line.startswith(_BASE64):
        return line
    try:
        return base64.b64decode(line.removeprefix(_BASE64), validate=True)
    except binascii.Error as error:
        raise InputError(f"{path}:{number}: not base64 behind 'base64:'") from error


def sha256_of_dumps(dumps: Iterable[Dump | None], places: Workplaces) -> dict[str, str]:
    """The SHA-256 of each file, by its path, worked out where the dumps are read."""
    files = [file for dump in dumps if dump for file in dump.files]
    digests = places.run(len(files), lambda number: sha256_of(files[number]))
    return {file.path: digest for file, digest in zip(files, digests, strict=True)}
