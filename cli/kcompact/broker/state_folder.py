"""The state folder: what a broker's disk remembers between two rounds and a dump does not.

It holds ``cleaner-offset-checkpoint``, ``delete-horizons``, and ``output.json``, which names the compacted
dump that both belong to. All three are published together with that dump.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kcompact.broker.checkpoint import CHECKPOINT_NAME, format_checkpoint, read_checkpoint
from kcompact.broker.delete_horizons import (
    HORIZONS_NAME,
    DeleteHorizon,
    format_delete_horizons,
    read_delete_horizons,
)
from kcompact.broker.known_records import KnownRecord
from kcompact.broker.log_names import LogName
from kcompact.broker.state_output import (
    OUTPUT_NAME,
    START_ANEW,
    OutputFile,
    StateOutput,
    digest_of,
    format_output,
    output_file,
    read_output,
)
from kcompact.errors import InputError, OutputError
from kcompact.storage import disk
from kcompact.storage.publication import Publication, settle

LOCK_NAME = "lock"


@dataclass(frozen=True)
class CleanerState:
    """All that a state folder says. ``files`` None: a checkpoint alone, such as one copied from a broker."""

    checkpoint: Mapping[LogName, int] = field(default_factory=dict)
    horizons: Mapping[LogName, tuple[DeleteHorizon, ...]] = field(default_factory=dict)
    last_offsets: Mapping[LogName, int] = field(default_factory=dict)  # of the output
    files: tuple[OutputFile, ...] | None = None
    records: Mapping[LogName, tuple[KnownRecord, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class StateOfDump:
    """A state beside the files of a dump. Picklable.

    ``own``: those that are files of the output which the state belongs to, byte for byte. ``missing``: the
    first file of that output that is none of them; ``changed``: one that bears its name.
    """

    path: Path
    state: CleanerState
    own: frozenset[str]
    missing: OutputFile | None
    changed: str | None

    def check_logs(self, last_offsets: Mapping[LogName, int]) -> None:
        """Raise InputError for a dump of other logs, or one that ends before the state does."""
        state = self.state
        if state.checkpoint and not state.checkpoint.keys() & last_offsets.keys():
            raise InputError(
                f"{self.path}: this state is about {_names(state.checkpoint)},"
                f" the dump about {_names(last_offsets)}",
                hint="give the state folder of this topic, or a new one",
            )
        for log, last_offset in sorted(last_offsets.items()):
            if last_offset < state.last_offsets.get(log, -1):
                raise InputError(
                    f"{self.path}: this state knows {log} up to offset {state.last_offsets[log]},"
                    f" the dump ends at {last_offset}: it is older than the state",
                    hint=START_ANEW,
                )

    def lacks(self, wanted: OutputFile) -> InputError:
        """The error for a dump that is without a file of the state's output."""
        why = (
            f"{self.changed} is not as the run that wrote the state left it; a run that died between writing"
            " the dump and the state would explain it, or a new export under that name, which needs another"
            if self.changed
            else "it is not among the inputs"
        )
        return InputError(
            f"{self.path}: this state belongs to {wanted.name} of {wanted.size_bytes} bytes"
            f" (SHA-256 {wanted.sha256[:12]}...): {why}",
            hint=START_ANEW,
        )

    @property
    def notes(self) -> list[str]:
        """A note on a state that belongs to no output."""
        if self.state.files is not None or not self.state.checkpoint:
            return []
        return [f"{self.path}: a checkpoint without {OUTPUT_NAME}; taken as it stands, as from a broker"]


class StateFolder:
    """A state folder in use by this run. ``state`` is what it said when the run began."""

    def __init__(self, path: Path) -> None:
        self.path = path
        settle(path)
        self.state = _read_state(path)

    def beside(self, inputs: Sequence[str]) -> StateOfDump:
        """The state beside a dump of these files."""
        wanted = self.state.files or ()
        sizes = {file.size_bytes for file in wanted}
        likely = [path for path in inputs if Path(path).is_file() and Path(path).stat().st_size in sizes]
        digests = {path: output_file(Path(path)).sha256 for path in likely}
        missing = next((file for file in wanted if file.sha256 not in digests.values()), None)
        return StateOfDump(
            self.path,
            self.state,
            frozenset(path for path in likely if digests[path] in {file.sha256 for file in wanted}),
            missing,
            next((path for path in inputs if missing and Path(path).name == missing.name), None),
        )

    def prepare(self, state: CleanerState, publication: Publication) -> None:
        """Write the next state where ``publication`` will take it from. Raises OutputError.

        Entries of logs that ``state`` does not name are kept.
        """
        last_offsets = {**self.state.last_offsets, **state.last_offsets}
        records = {**self.state.records, **state.records}
        texts = {
            HORIZONS_NAME: format_delete_horizons({**self.state.horizons, **state.horizons}),
            CHECKPOINT_NAME: format_checkpoint({**self.state.checkpoint, **state.checkpoint}),
        }
        vouched = {name: digest_of(text) for name, text in texts.items()}
        texts[OUTPUT_NAME] = format_output(StateOutput(state.files or (), last_offsets, records, vouched))
        for path in self.files:
            with disk.explained(path):
                disk.write(publication.prepare(path), texts[path.name].encode())

    @property
    def files(self) -> list[Path]:
        """The files that are replaced; ``output.json`` comes last and vouches for the others."""
        return [self.path / name for name in (HORIZONS_NAME, CHECKPOINT_NAME, OUTPUT_NAME)]


@contextmanager
def open_state(path: Path) -> Iterator[StateFolder]:
    """The folder, made if need be, locked for this run. Raises InputError, OutputError.

    A folder that the run made for nothing is gone afterwards.
    """
    existed = path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = _open_lock(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be used as a state folder: {error.strerror}") from error
    try:
        yield StateFolder(path)
    finally:
        with suppress(OSError):
            (path / LOCK_NAME).unlink()  # while it is held: see _open_lock
        os.close(lock)
        if not existed:
            with suppress(OSError):
                path.rmdir()


def _open_lock(path: Path) -> int:
    """The folder's lock, held. Runs remove theirs when they end: one that is gone does not count."""
    while True:
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            _lock_or_explain(path, lock)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), (path / LOCK_NAME).lstat()):
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _lock_or_explain(path: Path, lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        raise InputError(
            f"{path}: in use by another run" + (f" (process {holder})" if holder else ""),
            hint="wait until it has ended; the lock goes with the process, never remove it by hand",
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode("ascii"), 0)


def _read_state(path: Path) -> CleanerState:
    checkpoint_path, horizons_path = path / CHECKPOINT_NAME, path / HORIZONS_NAME
    checkpoint = read_checkpoint(str(checkpoint_path)) if checkpoint_path.exists() else {}
    horizons = read_delete_horizons(str(horizons_path)) if horizons_path.exists() else {}
    output = read_output(path / OUTPUT_NAME)
    if output is None:
        return CleanerState(checkpoint, horizons)
    for name, digest in output.vouched.items():
        if _digest_of(path / name) != digest:
            raise InputError(
                f"{path / name}: not the one that {OUTPUT_NAME} belongs to; a run that died while it wrote"
                " the state, or a change by hand, would explain it",
                hint=START_ANEW,
            )
    return CleanerState(checkpoint, horizons, output.last_offsets, output.files, output.records)


def _digest_of(path: Path) -> str:
    return digest_of(path.read_text(encoding="utf-8")) if path.exists() else ""


def _names(logs: Mapping[LogName, object]) -> str:
    shown = [str(log) for log in sorted(logs)[:3]]
    return ", ".join(shown) + (", ..." if len(logs) > len(shown) else "")
