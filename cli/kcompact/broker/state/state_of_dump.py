"""A state beside the dump that a run is to clean next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from kcompact.broker.log_names import LogName, few
from kcompact.broker.state.cleaner_state import OUTPUT_NAME, CleanerState
from kcompact.broker.state.state_output import GIVE_OUTPUT, START_ANEW, WHOLE_DUMP_ALONE, OutputFile
from kcompact.errors import InputError

_FILES_NAMED = 3


@dataclass(frozen=True)
class StateOfDump:
    """A state beside the files of a dump. Picklable.

    ``output_paths`` holds the dump's files that equal files of the state's output byte for byte. ``missing``
    is the first file of that output that is not among the dump's; ``changed`` is a file of the dump with its
    name.
    """

    place: str
    state: CleanerState
    output_paths: frozenset[str]
    missing: OutputFile | None
    changed: str | None

    def check_keys(self, key_options: str) -> None:
        """Raise InputError if keys are read by other options than in the run that wrote the state.

        Records that had different keys in that run may have the same key now, and would both stay, as the
        checkpoint says that they are clean.
        """
        before = self.state.key_options
        if before not in {None, key_options}:
            raise InputError(
                f"{self.place}: keys were read with {before or 'no option'} when this state was written, and"
                f" with {key_options or 'none'} now, so that superseded records could stay",
                hint=f"give the same options for keys, or {START_ANEW}",
            )

    def check_logs(self, last_offsets: Mapping[LogName, int]) -> None:
        """Raise InputError for a dump of other logs, or one that ends before the state does."""
        state = self.state
        if state.logs and state.logs.isdisjoint(last_offsets):
            raise InputError(
                f"{self.place}: this state is about {few(state.logs)}, the dump about {few(last_offsets)}",
                hint="give the state folder of this topic, or a new one",
            )
        for log, last_offset in sorted(last_offsets.items()):
            known = state.last_offsets.get(log, -1)
            if log in self.logs_given_anew:
                known = self.last_known(log)
            if last_offset < known:
                raise InputError(
                    f"{self.place}: this state knows {log} up to offset {known},"
                    f" the dump ends at {last_offset}: it is older than the state",
                    hint=GIVE_OUTPUT,
                )

    def last_known(self, log: LogName) -> int:
        """The last offset of a log that was read, even if the run removed its record; -1: none is known."""
        last_offset = self.state.last_offsets.get(log, -1)
        return max((last_offset, *(record.offset for record in self.state.records.get(log, ()))))

    @cached_property
    def logs_given_anew(self) -> frozenset[LogName]:
        """The logs whose records all have to be in files other than the state's output.

        These are all logs that the state knows, if its output is not among the inputs; otherwise the logs
        that the run which wrote the state left out.
        """
        if self.state.files is None:
            return frozenset()
        return self.state.logs if self.missing else self.state.logs - self.state.last_offsets.keys()

    def differs(self, log: LogName, difference: str) -> InputError:
        """The error for a full dump of a log that is another log than the state knows, or not all of it."""
        if self.missing:
            return InputError(
                f"{self.place}: the dump is not a new full dump of the logs that this state knows:"
                f" {difference}",
                hint=GIVE_OUTPUT,
            )
        return InputError(
            f"{self.place}: the last run left out {log}, so its output has no record of it, and the other"
            f" inputs do not have them all: {difference}",
            hint=f"give the last output that holds {log} as well, or a full dump; {WHOLE_DUMP_ALONE}",
        )

    def lacks_log(self, log: LogName) -> InputError:
        """The error for a full dump without a log of which the state knows a kept record with a value."""
        return self.differs(
            log,
            f"it has no record of {log}, which the state knows; if retention has emptied that log, leave it"
            " out: name the other partitions by --partitions",
        )

    def holds_a_part(self, path: str, log: LogName, offset: int, needed: Sequence[LogName]) -> InputError:
        """The error for a file beside the state's output with a part of a log's records before the state.

        ``needed`` holds the logs of the same file that the state's output lacks.
        """
        hint = (
            f"leave {path} out, as the last output and the new records are enough; if it is of a topic that"
            " was created anew, compact it alone with a new state folder"
        )
        if needed:
            by_topic: dict[str, list[str]] = {}
            for topic, partition in sorted(needed):
                by_topic.setdefault(topic, []).append(str(partition))
            commands = (
                f"kcompact compact {shlex.quote(path)} --topic {shlex.quote(topic)} --partitions"
                f" {','.join(partitions)} -o FILE{number or ''}"
                for number, (topic, partitions) in enumerate(by_topic.items())
            )
            verb, pronoun = ("is", "that") if len(needed) == 1 else ("are", "those")
            hint = (
                f"of {path} only {few(needed)} {verb} needed: give {pronoun} alone,"
                f" such as the output of {' and of '.join(commands)}"
            )
        return InputError(
            f"{self.place}: {path} holds records of {log} from before this state was written, and no file"
            f" beside the state's output goes on to offset {offset}: that output holds all that is left of"
            " them, and what was removed would come back",
            hint=hint,
        )

    def lacks(self, file: OutputFile) -> InputError:
        """The error for a dump that lacks a file of the state's output."""
        why = "it is not among the inputs"
        other_name = ""
        if self.changed:
            why = (
                f"{self.changed} has changed since the run that wrote the state; perhaps a run died between"
                " writing the dump and the state, or it is a new export under that name"
            )
            other_name = f" if {self.changed} is a new export, give it under another name;"
        return InputError(
            f"{self.place}: this state belongs to {file.name} of {file.size_bytes} bytes"
            f" (SHA-256 {file.sha256[:12]}...): {why}",
            hint=f"give {self._output_names()} as the last run left it, together with the new records;"
            f"{other_name} {WHOLE_DUMP_ALONE}",
        )

    def _output_names(self) -> str:
        """The names of the first files of the state's output."""
        names = [file.name for file in self.state.files or ()]
        return ", ".join(names[:_FILES_NAMED]) + (", ..." if len(names) > _FILES_NAMED else "")

    @property
    def notes(self) -> list[str]:
        """A note on a state that belongs to no output."""
        if self.state.files is not None or not self.state.checkpoint:
            return []
        return [f"{self.place}: a checkpoint without {OUTPUT_NAME}; used as it is, like one from a broker"]


def state_beside(
    place: str, states: Sequence[CleanerState], paths: Sequence[str], outputs: Mapping[str, OutputFile]
) -> StateOfDump:
    """A stored state beside a dump of the files in ``paths``.

    ``outputs`` holds, by path, those files that are as large as a file to which one of the states belongs.
    """
    state = state_that_counts(states, outputs)
    state_digests = {file.sha256 for file in state.files or ()}
    digests = {file.sha256 for file in outputs.values()}
    missing = next((file for file in state.files or () if file.sha256 not in digests), None)
    return StateOfDump(
        place,
        state,
        frozenset(path for path, file in outputs.items() if file.sha256 in state_digests),
        missing,
        next((path for path in paths if missing and PurePath(path).name == missing.name), None),
    )


def state_that_counts(states: Sequence[CleanerState], outputs: Mapping[str, OutputFile]) -> CleanerState:
    """The state whose dump is there: that of a run that died while it published, or the one before it.

    If neither dump is there, the one before counts, as if that run had never been.
    """
    digests = {file.sha256 for file in outputs.values()}
    candidates = [
        state for state in states if state.files and digests.issuperset(file.sha256 for file in state.files)
    ]
    return max(
        reversed(candidates),
        key=lambda state: len(state.files or ()),
        default=next(iter(states), CleanerState()),
    )
