"""The options for what a dump cannot know: segments, batches, offsets, transactions, checkpoint, clock."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from kcompact.broker.aborted import read_aborted
from kcompact.broker.checkpoint import read_checkpoint
from kcompact.broker.log_context import DumpContext
from kcompact.broker.log_names import PerLog
from kcompact.broker.log_offsets import parse_log_offsets
from kcompact.broker.quantities import parse_moment_ms
from kcompact.broker.segment_lists import read_segments
from kcompact.broker.text_lines import Open
from kcompact.dumps.options import Aborts, ReadOptions
from kcompact.errors import PolicyError
from kcompact.options.groups import OptionGroup, option, repeatable
from kcompact.storage.object_stores import is_address, refuse_other_address

if TYPE_CHECKING:
    from kcompact.broker.batches import PackedBatches

T = TypeVar("T")


@dataclass(frozen=True)
class LogOptions(OptionGroup):
    """Files and offsets as given, unread."""

    panel = "What the dump cannot know"
    segments: str | None = option(
        "Segments: lines 'topic partition base-offset bytes [mtime_ms]', or a listing of the log directory.",
        "FILE",
    )
    batches: list[str] = repeatable(
        "Output of kafka-dump-log: makes transactions and delete horizons exact; repeatable.", "FILE"
    )
    log_start_offset: list[str] = repeatable(
        "Where the log starts; repeatable as orders-0=303 (default: the first offset in the dump).", "OFFSET"
    )
    log_end_offset: list[str] = repeatable(
        "Where the log ends; repeatable as orders-0=303 (default: after the last offset in the dump).",
        "OFFSET",
    )
    last_stable_offset: list[str] = repeatable(
        "From here on transactions are undecided; repeatable as orders-0=303"
        " (default: by batches, or the log end).",
        "OFFSET",
    )
    read_committed: str | None = option(
        "A read_committed dump of the same topic: records that it lacks were aborted.", "DUMP"
    )
    aborted: str | None = option("Aborted data: lines 'topic partition first_offset last_offset'.", "FILE")
    checkpoint: str | None = option(
        "Kafka's file cleaner-offset-checkpoint; never written; not together with --state.", "FILE"
    )
    state: str | None = option(
        "Folder or s3:// prefix that keeps checkpoint and delete horizons for the next run.", "DIR"
    )
    now: str | None = option(
        "The clock of the run, in ms or as 2026-01-31T12:00:00Z (default: this machine's).", "TIME"
    )

    @property
    def state_place(self) -> str | None:
        """The folder of ``--state``, or a prefix that ends in a slash. Raises OutputError."""
        refuse_other_address("--state", self.state or "")
        return f"{self.state.rstrip('/')}/" if self.state and is_address(self.state) else self.state

    @property
    def local_state(self) -> str | None:
        """The folder of ``--state``, where it is one of this machine. Raises OutputError."""
        place = self.state_place
        return None if place is None or is_address(place) else place

    @property
    def files(self) -> list[str | None]:
        """The files that these options name, other than the state; None where one is not given."""
        return [self.segments, *self.batches, self.aborted, self.checkpoint, self.read_committed]

    def beside(self, options: ReadOptions) -> ReadOptions:
        """The options for reading a dump, given that these files may say which data was aborted."""
        is_told = self.batches or self.aborted or self.read_committed
        return replace(options, aborts=Aborts.GIVEN) if is_told else options

    def now_ms(self) -> int:
        """``--now``, or this machine's clock. Raises PolicyError."""
        if self.now is None:
            return time.time_ns() // 1_000_000
        try:
            return parse_moment_ms(self.now)
        except ValueError as error:
            raise PolicyError(f"--now: {error}") from error

    def context(self) -> DumpContext:
        """Read all the files given but the state; no dump is needed yet. Raises InputError, PolicyError."""
        if self.checkpoint and self.state:
            raise PolicyError(
                "--checkpoint and --state exclude each other",
                hint="copy the checkpoint file into a new state folder to go on from there",
            )
        checkpoint = read_checkpoint(self.checkpoint) if self.checkpoint else {}
        return DumpContext(
            segments=_read(self.segments, read_segments),
            batches=_read_batches(self.batches) if self.batches else None,
            aborted=_read(self.aborted, read_aborted),
            log_start_offsets=parse_log_offsets("--log-start-offset", self.log_start_offset),
            log_end_offsets=parse_log_offsets("--log-end-offset", self.log_end_offset),
            last_stable_offsets=parse_log_offsets("--last-stable-offset", self.last_stable_offset),
            checkpoint_source=f"--checkpoint {self.checkpoint}" if self.checkpoint else None,
            checkpoint=checkpoint,
        )


def _read_batches(paths: Sequence[str]) -> "PerLog[PackedBatches]":
    from kcompact.broker.batch_lists import read_batches  # other runs start without numpy and Arrow
    from kcompact.dumps.files.containers import open_plain

    return read_batches(*paths, open_file=open_plain)


def _read(path: str | None, read: Callable[[str, Open], PerLog[T]]) -> PerLog[T] | None:
    if not path:
        return None
    from kcompact.dumps.files.containers import open_plain  # other runs start without it

    return read(path, open_plain)
