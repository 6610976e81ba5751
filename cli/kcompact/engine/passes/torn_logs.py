"""Files that count as several logs by their names, although their offsets show that they are of one log."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kcompact.broker.log_names import LogName
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.file_names import tells_partition, tells_topic
from kcompact.dumps.records.layout import DumpFile
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError

_STEPS_TO_NEXT = 16  # a compacted log continues after a gap of some offsets


@dataclass
class _Piece:
    """The records of one log whose topic or partition, or both, only the name of a file tells."""

    path: str
    only_named: tuple[str, ...]  # "topic", "partition"
    first_offset: int
    last_offset: int
    records: int = 0

    def add(self, part: LogSummary) -> None:
        self.first_offset = min(self.first_offset, part.first_offset)
        self.last_offset = max(self.last_offset, part.last_offset)
        self.records += part.records

    @property
    def step(self) -> int:
        """The average distance of its records, in offsets."""
        return (self.last_offset - self.first_offset) // self.records + 1


def refuse_torn_logs(dump: Dump, plan: IndexPlan, summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where a file's offsets continue those of another log: ``xaa`` and ``xab`` of split(1).

    If they were taken for two logs, records and deletes of one would not supersede records of the other.
    """
    for pieces in _alike(dump, plan, summaries):
        by_end = sorted(pieces, key=lambda piece: piece.last_offset)
        ends = [piece.last_offset for piece in by_end]
        for piece in pieces:
            number = bisect_left(ends, piece.first_offset)
            earlier = by_end[number - 1] if number else None
            if earlier is not None and _goes_on(earlier, piece):
                raise _error(earlier, piece)


def _goes_on(earlier: _Piece, later: _Piece) -> bool:
    gap = later.first_offset - earlier.last_offset
    return gap <= _STEPS_TO_NEXT * min(later.step, earlier.step)


def _error(earlier: _Piece, later: _Piece) -> InputError:
    folders = {"topic": "topic=orders/", "partition": "partition=0/"}
    lacking = " and no ".join(later.only_named)
    return InputError(
        f"{earlier.path} and {later.path}: no {lacking} in the records, so by their names they are two logs;"
        f" but the offsets of the second, from {later.first_offset} on, follow those of the first, up to"
        f" {earlier.last_offset}",
        hint="say so by folders: files of one log go below folders called after it, such as"
        f" {''.join(folders[part] for part in later.only_named)}",
    )


def _alike(dump: Dump, plan: IndexPlan, summaries: Iterable[LogSummary]) -> Iterable[list[_Piece]]:
    """Groups of logs that only the names of files tell apart; logs without records are left out."""
    only_named = {file.file_id: parts for file in dump.files if (parts := _only_named(file))}
    paths = {file.file_id: file.path for file in dump.files}
    file_ids = {split_id: split.file_id for split_id, split in plan.splits.items()}
    pieces: dict[tuple[str | None, int | None], dict[LogName, _Piece]] = defaultdict(dict)
    for part in summaries if len(only_named) > 1 else ():
        file_id = file_ids[part.split_id]
        if (lacking := only_named.get(file_id)) is not None:
            log = (
                None if "topic" in lacking else part.topic,
                None if "partition" in lacking else part.partition,
            )
            own = _Piece(paths[file_id], lacking, part.first_offset, part.last_offset)
            pieces[log].setdefault(part.log, own).add(part)
    return (list(by_log.values()) for by_log in pieces.values())


def _only_named(file: DumpFile) -> tuple[str, ...]:
    """The parts of a log that only the name of the file gives, in records that have offsets."""
    if file.dialect.offset is None or file.layout == "dump_log":
        return ()
    is_recorded = {
        "topic": file.dialect.topic is not None or tells_topic(file.path),
        "partition": file.dialect.partition is not None or tells_partition(file.path),
    }
    return tuple(part for part, is_known in is_recorded.items() if not is_known)
