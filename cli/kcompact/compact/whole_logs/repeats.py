"""Offsets that a dump holds twice: refused where the records differ, said where they are the same."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.compact.whole_logs.record_index import RecordIndex
from kcompact.dumps.avro.avro_layout import BLOCK_SHIFT
from kcompact.dumps.note_checks import place_of
from kcompact.engine.blocks import joined, row_blocks, rows_in
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.shuffle import Block, Send, Sent
from kcompact.errors import InputError

_FILES_NAMED = 5
_CONTENT = ["log_id", "offset", "split_id", "position", "content_hash"]
_CONTENTS = "contents"


@dataclass(frozen=True, order=True)
class Conflict:
    """Two records of one offset with different content: split and position of each."""

    log_id: int
    offset: int
    first: tuple[int, int]
    other: tuple[int, int]


@dataclass(frozen=True)
class Repeats:
    """Offsets that one receiver found more than once."""

    conflict: Conflict | None  # the one with the smallest log id and offset
    offsets: dict[tuple[int, int], int]  # by the splits of the first and the last copy


def refuse_conflicts(send: Send, index: RecordIndex) -> list[str]:
    """Raise InputError if an offset is there twice with different content; else say which files repeat.

    A second look at the dump, taken only where the summaries leave room for repeats.
    """
    if index.is_in_order:
        return []
    plan = replace(index.plan, extra=frozenset({"content_hash"}))
    receivers = len(plan.tasks)

    def by_offset(task: int) -> Sent:
        for rows in joined(batch.select(_CONTENT) for batch in TaskReader(plan, task).rows()):
            yield from row_blocks(_CONTENTS, rows, rows["offset"].to_numpy() % receivers)

    shares, _ = send(receivers, receivers, by_offset).results(lambda _, blocks: _repeats(blocks))
    conflicts = [repeats.conflict for repeats in shares if repeats.conflict is not None]
    if conflicts:
        raise _conflict(index, min(conflicts))
    return _notes(plan, shares)


def _repeats(blocks: list[Block]) -> Repeats:
    """The repeated offsets among the records that one receiver was sent."""
    batches = rows_in(blocks, _CONTENTS)
    if not batches:
        return Repeats(None, {})
    rows = pa.Table.from_batches(batches).combine_chunks()
    log_id, offset, split_id, position = (rows[name].to_numpy() for name in _CONTENT[:4])
    content = rows["content_hash"].combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.lexsort((position, split_id, offset, log_id))
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (np.diff(log_id[order]) != 0) | (np.diff(offset[order]) != 0)
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(order)) - 1
    twice = np.flatnonzero(last > first)
    run = np.cumsum(starts) - 1
    differing = np.flatnonzero(content[order] != content[order[first]][run])
    conflict = None
    if len(differing):
        first_at, other_at = order[first[run[differing[0]]]], order[differing[0]]
        places = [(int(split_id[at]), int(position[at])) for at in (first_at, other_at)]
        conflict = Conflict(int(log_id[first_at]), int(offset[first_at]), *places)
    splits = zip(split_id[order[first[twice]]].tolist(), split_id[order[last[twice]]].tolist(), strict=True)
    return Repeats(conflict, dict(Counter(splits)))


def _conflict(index: RecordIndex, conflict: Conflict) -> InputError:
    """The error for an offset of different records, with the places of two of them."""
    places = [_place(index.plan, *place) for place in (conflict.first, conflict.other)]
    return InputError(
        f"{LogName(*index.names[conflict.log_id])} offset {conflict.offset}: two records with different"
        f" content, at {places[0]} and at {places[1]}",
        hint="one log holds an offset once: dumps of two clusters or of a recreated topic were mixed",
    )


def _place(plan: IndexPlan, split_id: int, position: int) -> str:
    split = plan.split(split_id)
    file = plan.file_of(split)
    if file.layout == "side_files":
        return f"{file.path}: record {position + 1:,}"
    return place_of(file, split.start + (position >> BLOCK_SHIFT) if file.layout == "avro" else position)


def _notes(plan: IndexPlan, shares: list[Repeats]) -> list[str]:
    """One note for each pair of files."""
    totals: Counter[tuple[str, str]] = Counter()
    for repeats in shares:
        for splits, offsets in repeats.offsets.items():
            first, last = (plan.file_of(plan.split(split)).path for split in splits)
            totals[first, last] += offsets
    notes = [_note(*paths, offsets) for paths, offsets in sorted(totals.items())]
    more = len(notes) - _FILES_NAMED
    return notes[:_FILES_NAMED] + (
        [f"{more:,} more pairs of files repeat each other's records"] if more > 0 else []
    )


def _note(first: str, last: str, offsets: int) -> str:
    records = "1 record" if offsets == 1 else f"{offsets:,} records"
    if first == last:
        return f"{first} holds {records} more than once, with the same offset and content: counted once"
    return (
        f"{first} and {last} both hold {records}, with the same offsets and content: counted once;"
        " is one of them made from the other?"
    )
