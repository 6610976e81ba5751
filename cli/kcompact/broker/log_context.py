"""All that is told about logs beside their dump: what a dump cannot know itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.batches import Batch
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_names import LogName, PerLog
from kcompact.broker.segment_lists import Segment
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class LogContext:
    """Knowledge about one log from files and options; None: not known. Ends are exclusive, as Kafka's."""

    segments: tuple[Segment, ...] | None = None  # ascending; the last one is active
    batches: tuple[Batch, ...] | None = None  # ascending
    aborted: tuple[AbortedRange, ...] = ()  # ascending
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    last_stable_offset: int | None = None
    checkpoint_offset: int | None = None  # first dirty offset; may lie outside the log (R1)
    horizons: tuple[DeleteHorizon, ...] = ()


@dataclass(frozen=True)
class DumpContext:
    """Knowledge from options and files, before it is known which logs the dump holds. None: not given."""

    segments: PerLog[tuple[Segment, ...]] | None = None
    batches: PerLog[tuple[Batch, ...]] | None = None
    aborted: PerLog[tuple[AbortedRange, ...]] | None = None
    log_start_offsets: PerLog[int] | None = None
    log_end_offsets: PerLog[int] | None = None
    last_stable_offsets: PerLog[int] | None = None
    checkpoint_source: str | None = None
    checkpoint: Mapping[LogName, int] = field(default_factory=dict)
    horizons: Mapping[LogName, tuple[DeleteHorizon, ...]] = field(default_factory=dict)

    def with_state(self, state: CleanerState | None) -> "DumpContext":
        """The same, with what a state remembers; None: there is none."""
        return replace(self, checkpoint=state.checkpoint, horizons=state.horizons) if state else self

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is told."""
        return self.tells_rounds_alone and not (self.checkpoint or self.horizons)

    @property
    def tells_rounds_alone(self) -> bool:
        """Whether nothing is told but what earlier rounds have left: checkpoint and horizons."""
        files = (self.segments, self.batches, self.aborted)
        offsets = (self.log_start_offsets, self.log_end_offsets, self.last_stable_offsets)
        told = [per_log for per_log in offsets if per_log is not None and per_log.says_anything]
        return not (any(file is not None for file in files) or told)

    def for_logs(self, logs: Iterable[LogName]) -> dict[LogName, LogContext]:
        """The knowledge about each of a dump's logs. Raises InputError if a file is about none of them."""
        wanted = sorted(set(logs))
        is_told = self.checkpoint_source and self.checkpoint and wanted
        if is_told and not self.checkpoint.keys() & set(wanted):
            raise _about_others(str(self.checkpoint_source), self.checkpoint, wanted)
        segments = _of(self.segments, wanted)
        batches = _of(self.batches, wanted)
        aborted = _of(self.aborted, wanted)
        starts = _of(self.log_start_offsets, wanted)
        ends = _of(self.log_end_offsets, wanted)
        stable = _of(self.last_stable_offsets, wanted)
        return {
            log: LogContext(
                segments=segments.get(log),
                batches=batches.get(log),
                aborted=aborted.get(log, ()),
                log_start_offset=starts.get(log),
                log_end_offset=ends.get(log),
                last_stable_offset=stable.get(log),
                checkpoint_offset=self.checkpoint.get(log),
                horizons=self.horizons.get(log, ()),
            )
            for log in wanted
        }

    def silences(self, logs: Iterable[LogName]) -> list[str]:
        """Notes on logs that a given file does not mention, and what is taken for granted there."""
        wanted = set(logs)
        notes = []
        for told, assumed in (
            (self.segments, "no segments are known"),
            (self.batches, "no batches are known"),
        ):
            if told is not None and told.unnamed is None:
                notes += _silence(told.source, wanted - told.by_log.keys(), assumed)
        if self.checkpoint_source:
            notes += _silence(self.checkpoint_source, wanted - self.checkpoint.keys(), "never cleaned so far")
        return notes


def _silence(source: str, logs: set[LogName], assumed: str) -> list[str]:
    return [f"{source} says nothing about {_few(sorted(logs))}: {assumed}"] if logs else []


def _of(told: PerLog[T] | None, wanted: list[LogName]) -> dict[LogName, T]:
    if told is None:
        return {}
    found = told.for_logs(wanted)
    if told.by_log and wanted and not found:
        raise _about_others(told.source, told.by_log, wanted)
    return found


def _about_others(source: str, told: Mapping[LogName, object], wanted: list[LogName]) -> InputError:
    return InputError(
        f"{source} is about {_few(sorted(told)) or 'no log'}; the dump holds {_few(wanted)}",
        hint="give the file of the same topic, or leave the option out",
    )


def _few(logs: list[LogName]) -> str:
    return ", ".join(str(log) for log in logs[:3]) + (", ..." if len(logs) > len(logs[:3]) else "")
