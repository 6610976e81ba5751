"""Files taken for topics of their own by their names, while their offsets tell that they are one log."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kcompact.dumps.dump import Dump
from kcompact.dumps.files.file_names import tells_topic
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError

_STEPS_TO_NEXT = 16  # a compacted log goes on behind a gap of some offsets


@dataclass
class _Piece:
    """The records of one topic and partition, both by the name of a file."""

    path: str
    first_offset: int
    last_offset: int
    records: int

    def add(self, part: LogSummary) -> None:
        self.first_offset = min(self.first_offset, part.first_offset)
        self.last_offset = max(self.last_offset, part.last_offset)
        self.records += part.records

    @property
    def step(self) -> int:
        """How far its records lie apart, on the average."""
        return (self.last_offset - self.first_offset) // self.records + 1


def refuse_torn_logs(dump: Dump, plan: IndexPlan, summaries: Iterable[LogSummary]) -> None:
    """Raise InputError where a topic by name begins where another ends: ``xaa`` and ``xab`` of split.

    As two topics neither would supersede the other's keys, and deletes in one would not reach the other.
    """
    for pieces in _pieces_by_partition(dump, plan, summaries):
        by_end = sorted(pieces, key=lambda piece: piece.last_offset)
        ends = [piece.last_offset for piece in by_end]
        for piece in pieces:
            number = bisect_left(ends, piece.first_offset)
            if not number:
                continue
            earlier = by_end[number - 1]
            gap = piece.first_offset - earlier.last_offset
            if gap == 1 or gap <= _STEPS_TO_NEXT * min(piece.step, earlier.step):
                raise InputError(
                    f"{earlier.path} and {piece.path}: no topic in the records, so by their names they are of"
                    f" two; but the offsets of the second, from {piece.first_offset} on, follow those of the"
                    f" first, up to {earlier.last_offset}",
                    hint="say so by folders: files of one topic go below a folder called after it, such as"
                    " topic=orders/",
                )


def _pieces_by_partition(
    dump: Dump, plan: IndexPlan, summaries: Iterable[LogSummary]
) -> Iterable[list[_Piece]]:
    """The topics that nothing but the name of a file tells, by partition."""
    untold = {
        file.file_id: file.path
        for file in dump.files
        if file.dialect.topic is None and file.dialect.offset is not None
        if file.layout != "dump_log" and not tells_topic(file.path)
    }
    pieces: dict[int, dict[str, _Piece]] = defaultdict(dict)
    file_ids = {split_id: split.file_id for split_id, split in plan.splits.items()}
    for part in summaries if len(untold) > 1 else ():
        path = untold.get(file_ids[part.split_id])
        if path is not None:
            own = _Piece(path, part.first_offset, part.last_offset, 0)
            pieces[part.partition].setdefault(part.topic, own).add(part)
    return (list(by_topic.values()) for by_topic in pieces.values())
