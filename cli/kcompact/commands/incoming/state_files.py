"""Files of a dump that may be of a state's output: found by size, and by digests made where they are read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_of_dump import StateOfDump, state_beside
from kcompact.broker.state.state_output import OutputFile
from kcompact.broker.state.state_places import StatePlace
from kcompact.commands.incoming.opening import Workplaces
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.at_hand import sha256_of, stored_output_file
from kcompact.dumps.files.file_names import tells_topic
from kcompact.dumps.files.stored import stored_bytes
from kcompact.dumps.records.layout import DumpFile
from kcompact.errors import InputError
from kcompact.storage.lookup import is_file
from kcompact.storage.object_stores import is_address
from kcompact.storage.publication import Publication


@dataclass(frozen=True)
class StateInUse:
    """A state that is open, and what it knows of the dump."""

    opened: StatePlace
    beside: StateOfDump
    places: Workplaces
    key_options: str  # of this run

    def prepare(self, later: CleanerState, parts: Sequence[str], publication: Publication) -> None:
        """As ``StateFolder.prepare``; ``parts`` (addresses) are added to the later state's files.

        Tasks wrote them to a store: each is read once more, for its digest, where it was written. Raises
        KcompactError.
        """
        places = self.places
        stored = places.run(len(parts), lambda number: stored_output_file(parts[number]))
        before = self.beside.state
        later = replace(later, files=(*(later.files or ()), *stored), key_options=self.key_options)
        self.opened.prepare(before, before.followed_by(later), publication)


def state_in_use(opened: StatePlace | None, dump: Dump, places: Workplaces) -> StateInUse | None:
    """The open state with what it knows of the open dump; None: there is no state.

    Raises InputError if keys are read in another way than for the state, or if a file whose records do not
    say their topic may be of one that the state knows.
    """
    if opened is None:
        return None
    paths = [file.path for file in dump.files]
    outputs = outputs_among(dump.files, opened.states, places)
    beside = state_beside(opened.place, opened.states, paths, outputs)
    beside.check_keys(dump.options.key_options)
    _refuse_new_topic_by_name(beside, dump.files)
    return StateInUse(opened, beside, places, dump.options.key_options)


def _refuse_new_topic_by_name(beside: StateOfDump, files: Sequence[DumpFile]) -> None:
    """Raise InputError for a file whose topic is new to the state, and is taken only from the file's name.

    New records in a file ``new.jsonl`` would count as a topic of their own, and would replace nothing.
    """
    known = sorted({log.topic for log in beside.state.logs})
    for file in files if known else ():
        is_by_name = file.dialect.topic is None and file.layout != "dump_log" and not tells_topic(file.path)
        if is_by_name and file.topic not in known:
            raise InputError(
                f"{file.path}: no topic in the records; its name says {file.topic}, which the state in"
                f" {beside.place} does not know (it knows {', '.join(known[:3])})",
                hint=f"put it below a folder that names its topic, such as topic={known[0]}/",
            )


def outputs_among(
    files: Sequence[DumpFile], states: Sequence[CleanerState], places: Workplaces
) -> dict[str, OutputFile]:
    """The files, by path, that are as large as a file of a state's output, with their digests."""
    sizes = {output.size_bytes for state in states for output in state.files or ()}
    likely = [file for file in files if _size(file.path) in sizes]
    digests = places.run(len(likely), lambda number: sha256_of(likely[number]))
    return {
        file.path: OutputFile(PurePath(file.path).name, _size(file.path), digest)
        for file, digest in zip(likely, digests, strict=True)
    }


def _size(path: str) -> int:
    """The size in bytes; -1: the driver does not see the file."""
    if is_address(path):
        return stored_bytes(path)
    return Path(path).stat().st_size if is_file(path) else -1
