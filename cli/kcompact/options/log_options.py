"""The options for what a dump cannot know: segments, batches, offsets, transactions, checkpoint, clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from kcompact.broker.aborted import read_aborted
from kcompact.broker.batches import read_batches
from kcompact.broker.checkpoint import read_checkpoint
from kcompact.broker.log_context import DumpContext
from kcompact.broker.log_names import PerLog
from kcompact.broker.log_offsets import parse_log_offsets
from kcompact.broker.quantities import parse_moment_ms
from kcompact.broker.segment_lists import read_segments
from kcompact.errors import PolicyError
from kcompact.options.groups import option, repeatable
from kcompact.storage.object_stores import is_address, refuse_other_address

T = TypeVar("T")


@dataclass(frozen=True)
class LogOptions:
    """Files and offsets as given, unread."""

    panel: ClassVar = "What the dump cannot know"
    segments: str | None = option(
        "Lines 'topic partition base-offset bytes', perhaps mtime_ms, or a listing of the log directory.",
        "FILE",
    )
    batches: str | None = option(
        "The text of kafka-dump-log: makes transactions and delete horizons exact.", "FILE"
    )
    log_start_offset: list[str] = repeatable(
        "Where the log starts; repeatable as orders-0=303 (default: the first offset in the dump).", "OFFSET"
    )
    log_end_offset: list[str] = repeatable(
        "Where the log ends; repeatable as orders-0=303 (default: behind the last offset in the dump).",
        "OFFSET",
    )
    last_stable_offset: list[str] = repeatable(
        "Where transactions are undecided; repeatable as orders-0=303 (default: the log end).", "OFFSET"
    )
    read_committed: str | None = option(
        "A read_committed dump of the same topic: what it lacks was aborted.", "DUMP"
    )
    aborted: str | None = option("Aborted data: lines 'topic partition first_offset last_offset'.", "FILE")
    checkpoint: str | None = option("Kafka's cleaner-offset-checkpoint; read only, excludes --state.", "FILE")
    state: str | None = option("Folder or s3:// prefix that remembers checkpoint and delete horizons.", "DIR")
    now: str | None = option(
        "The clock of the run, in ms or as 2026-01-31T12:00:00Z (default: this machine's).", "TIME"
    )


def now_ms(options: LogOptions) -> int:
    """``--now``, or this machine's clock. Raises PolicyError."""
    if options.now is None:
        return time.time_ns() // 1_000_000
    try:
        return parse_moment_ms(options.now)
    except ValueError as error:
        raise PolicyError(f"--now: {error}") from error


def read_context(options: LogOptions) -> DumpContext:
    """Read all the files given but the state; no dump is needed yet. Raises InputError, PolicyError."""
    if options.checkpoint and options.state:
        raise PolicyError(
            "--checkpoint and --state exclude each other",
            hint="copy the checkpoint file into a new state folder to go on from there",
        )
    checkpoint = read_checkpoint(options.checkpoint) if options.checkpoint else {}
    return DumpContext(
        segments=_read(options.segments, read_segments),
        batches=_read(options.batches, read_batches),
        aborted=_read(options.aborted, read_aborted),
        log_start_offsets=parse_log_offsets("--log-start-offset", options.log_start_offset),
        log_end_offsets=parse_log_offsets("--log-end-offset", options.log_end_offset),
        last_stable_offsets=parse_log_offsets("--last-stable-offset", options.last_stable_offset),
        checkpoint_source=f"--checkpoint {options.checkpoint}" if options.checkpoint else None,
        checkpoint=checkpoint,
    )


def state_place(options: LogOptions) -> str | None:
    """The folder of ``--state``, or a prefix that ends in a slash. Raises PolicyError for an empty name."""
    if options.state == "":
        raise PolicyError("--state names nothing", hint="is a variable empty? --state orders.state")
    refuse_other_address("--state", options.state or "")
    if options.state and is_address(options.state):
        return f"{options.state.rstrip('/')}/"
    return options.state


def local_state(options: LogOptions) -> str | None:
    """The folder of ``--state``, where it is one of this machine. Raises PolicyError."""
    place = state_place(options)
    return None if place is None or is_address(place) else place


def context_files(options: LogOptions) -> list[str | None]:
    """The files that these options name, other than the state; None where one is not given."""
    files = [options.segments, options.batches, options.aborted, options.checkpoint]
    return [*files, options.read_committed]


def _read(path: str | None, read: Callable[[str], PerLog[T]]) -> PerLog[T] | None:
    return read(path) if path else None
