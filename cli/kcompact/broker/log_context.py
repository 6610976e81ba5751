"""The facts about logs that a dump does not hold itself, but that options and files tell."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_names import LogName, PerLog, few
from kcompact.broker.segment_lists import Segment
from kcompact.errors import InputError

if TYPE_CHECKING:  # a plain run starts quicker without the modules that pack batches and write states
    from kcompact.broker.batches import PackedBatches
    from kcompact.broker.state.cleaner_state import CleanerState


@dataclass(frozen=True)
class LogContext:
    """The facts about one log from files and options; None: not known. Ends are exclusive, as Kafka's are."""

    segments: tuple[Segment, ...] | None = None  # ascending; the last one is active
    batches: "PackedBatches | None" = None
    aborted: tuple[AbortedRange, ...] = ()  # ascending
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    last_stable_offset: int | None = None
    checkpoint_offset: int | None = None  # first dirty offset; may lie outside the log (R1)
    horizons: tuple[DeleteHorizon, ...] = ()
    undecided: tuple[AbortedRange, ...] = ()  # ascending; from these the last stable offset follows
    removed_aborts_end_offset: int = 0  # below it, rounds of a state removed aborted data; 0: none did

    def without_memory(self, aborted: Collection[AbortedRange]) -> "LogContext":
        """A copy without what a state remembers: the ranges in ``aborted``, and all delete horizons."""
        left = tuple(run for run in self.aborted if run not in aborted)
        return replace(self, horizons=(), aborted=left, removed_aborts_end_offset=0)


@dataclass(frozen=True)
class DumpContext:
    """The facts from options and files, before it is known which logs the dump holds. None: not given."""

    segments: PerLog[tuple[Segment, ...]] | None = None
    batches: "PerLog[PackedBatches] | None" = None
    aborted: PerLog[tuple[AbortedRange, ...]] | None = None
    log_start_offsets: PerLog[int] | None = None
    log_end_offsets: PerLog[int] | None = None
    last_stable_offsets: PerLog[int] | None = None
    checkpoint_source: str | None = None
    checkpoint: Mapping[LogName, int] = field(default_factory=dict)
    horizons: Mapping[LogName, tuple[DeleteHorizon, ...]] = field(default_factory=dict)
    aborted_before: Mapping[LogName, tuple[AbortedRange, ...]] = field(default_factory=dict)  # from a state
    removed_aborts_end_offsets: Mapping[LogName, int] = field(default_factory=dict)  # from a state

    def with_state(self, state: "CleanerState | None") -> "DumpContext":
        """A copy with the facts that a state remembers; unchanged if there is no state (None)."""
        if state is None:
            return self
        aborted = {log: ranges for log, ranges in state.aborted.items() if ranges}
        return replace(
            self,
            checkpoint=state.checkpoint,
            horizons=state.horizons,
            aborted_before=aborted,
            removed_aborts_end_offsets=state.removed_aborts_end_offsets,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return self.tells_rounds_alone and not (self.checkpoint or self.horizons)

    @property
    def tells_rounds_alone(self) -> bool:
        """Whether nothing is known but a checkpoint and horizons, which earlier rounds have left."""
        files = (self.segments, self.batches, self.aborted)
        offsets = (self.log_start_offsets, self.log_end_offsets, self.last_stable_offsets)
        known_offsets = [per_log for per_log in offsets if per_log is not None and per_log.says_anything]
        return not (any(file is not None for file in files) or known_offsets or self.aborted_before)

    def for_logs(self, logs: Iterable[LogName]) -> dict[LogName, LogContext]:
        """The context of each of a dump's logs. Raises InputError if a file is about none of them."""
        names = sorted(set(logs))
        has_entries = self.checkpoint_source and self.checkpoint and names
        if has_entries and not self.checkpoint.keys() & set(names):
            raise _about_others(str(self.checkpoint_source), self.checkpoint, names)
        parts = {
            "segments": self.segments,
            "batches": self.batches,
            "aborted": self.aborted,
            "log_start_offset": self.log_start_offsets,
            "log_end_offset": self.log_end_offsets,
            "last_stable_offset": self.last_stable_offsets,
        }
        known = {name: _of(part, names) for name, part in parts.items() if part is not None}
        contexts = {
            log: LogContext(
                **{name: by_log[log] for name, by_log in known.items() if log in by_log},
                checkpoint_offset=self.checkpoint.get(log),
                horizons=self.horizons.get(log, ()),
                removed_aborts_end_offset=self.removed_aborts_end_offsets.get(log, 0),
            )
            for log in names
        }
        for log in self.aborted_before.keys() & contexts:
            together = sorted(
                [*self.aborted_before[log], *contexts[log].aborted], key=attrgetter("first_offset")
            )
            contexts[log] = replace(contexts[log], aborted=tuple(together))
        return contexts

    def silences(self, logs: Iterable[LogName]) -> list[str]:
        """Notes on logs that a given file does not mention, and on what is assumed about these."""
        names = set(logs)
        notes = []
        for per_log, assumption in (
            (self.segments, "no segments are known"),
            (self.batches, "no batches are known"),
        ):
            if per_log is not None and per_log.unnamed is None:
                notes += _silence(per_log.source, names - per_log.by_log.keys(), assumption)
        if self.checkpoint_source:
            notes += _silence(self.checkpoint_source, names - self.checkpoint.keys(), "never cleaned so far")
        return notes


def _silence(source: str, logs: set[LogName], assumption: str) -> list[str]:
    return [f"{source} says nothing about {few(logs)}: {assumption}"] if logs else []


def _of(per_log: PerLog[Any], logs: list[LogName]) -> dict[LogName, Any]:
    by_log = per_log.for_logs(logs)
    if per_log.by_log and logs and not by_log:
        raise _about_others(per_log.source, per_log.by_log, logs)
    return by_log


def _about_others(source: str, by_log: Mapping[LogName, object], logs: list[LogName]) -> InputError:
    return InputError(
        f"{source} is about {few(by_log) or 'no log'}; the dump holds {few(logs)}",
        hint="give the file of the same topic, or leave the option out",
    )
