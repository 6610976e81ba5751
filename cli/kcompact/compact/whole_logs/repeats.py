"""Offsets that a dump holds twice: an error where the records differ, a note where they are the same."""

import secrets
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kcompact.compact.whole_logs.record_index import RecordIndex
from kcompact.counted import counted
from kcompact.dumps.avro.avro_layout import BLOCK_SHIFT
from kcompact.dumps.note_checks import place_of
from kcompact.dumps.records.content_hashes import SECRET_BYTES
from kcompact.dumps.records.record_contents import CONTENT, CONTENT_HASHES, differing_copies
from kcompact.engine.blocks import joined, row_blocks, rows_in
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.shuffle import Block, Send, Sent
from kcompact.errors import InputError
from kcompact.rules.orders import repeated_places

_FILES_NAMED = 5
_COLUMNS = ["log_id", "offset", "split_id", "position", *CONTENT]
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
    """The offsets that one receiver was sent more than once."""

    conflict: Conflict | None  # the one with the smallest log id and offset
    offsets: dict[tuple[int, int], int]  # their number by the splits of the first and the last copy


def refuse_conflicts(send: Send, index: RecordIndex) -> list[str]:
    """Raise InputError if an offset occurs twice with different content; else notes on files that repeat.

    The dump is read a second time for this, unless its summaries rule out that an offset repeats.
    """
    if index.is_in_order:
        return []
    plan = replace(index.plan, extra=CONTENT_HASHES, hash_secret=secrets.token_bytes(SECRET_BYTES))
    receivers = len(plan.tasks)

    def by_offset(task: int) -> Sent:
        for rows in joined(batch.select(_COLUMNS) for batch in TaskReader(plan, task).rows()):
            yield from row_blocks(_CONTENTS, rows, rows["offset"].to_numpy() % receivers)

    shares = send(receivers, receivers, by_offset).results(lambda _, blocks: _repeats(blocks))
    conflicts = [repeats.conflict for repeats in shares if repeats.conflict is not None]
    if conflicts:
        raise _conflict(index, min(conflicts))
    return _notes(plan, shares)


def _repeats(blocks: list[Block]) -> Repeats:
    """The repeated offsets among the records that one receiver was sent."""
    batches = rows_in(blocks, _CONTENTS)
    if not batches:
        return Repeats(None, {})
    rows = pa.Table.from_batches(batches)
    at, places = repeated_places(rows)
    repeated = rows.take(pa.array(at)).combine_chunks()
    log_id, offset, split_id, position = (repeated[name].to_numpy() for name in _COLUMNS[:4])
    is_first, is_last = np.diff(places, prepend=-1) != 0, np.diff(places, append=-1) != 0
    conflict = None
    differing = differing_copies(repeated, places)
    if len(differing):
        other = differing[0]
        first_at = np.searchsorted(places, places[other])
        copies = [(int(split_id[row]), int(position[row])) for row in (first_at, other)]
        conflict = Conflict(int(log_id[other]), int(offset[other]), *copies)
    splits = zip(split_id[is_first].tolist(), split_id[is_last].tolist(), strict=True)
    return Repeats(conflict, dict(Counter(splits)))


_MIXED = "a log holds each offset once: dumps of two clusters or of a recreated topic were mixed"
_MIXED_OR_UNTOLD = (
    "a log holds each offset once: are they of two partitions? Export the partition with the records, or a"
    " file for each, called orders-0.jsonl; else dumps of two clusters or of a recreated topic were mixed"
)


def _conflict(index: RecordIndex, conflict: Conflict) -> InputError:
    """The error for an offset of different records, with the places of two of them."""
    copies = conflict.first, conflict.other
    places = [_place(index.plan, *place) for place in copies]
    dialects = [index.plan.file_of(index.plan.split(split_id)).dialect for split_id, _ in copies]
    is_told = any(dialect.partition is not None for dialect in dialects)
    return InputError(
        f"{index.names[conflict.log_id]} offset {conflict.offset}: two records with different"
        f" content, at {places[0]} and at {places[1]}",
        hint=_MIXED if is_told else _MIXED_OR_UNTOLD,
    )


def _place(plan: IndexPlan, split_id: int, position: int) -> str:
    split = plan.split(split_id)
    file = plan.file_of(split)
    if file.layout == "side_files":
        return f"{file.path}: record {position + 1:,}"
    return place_of(file, split.start + (position >> BLOCK_SHIFT) if file.layout == "avro" else position)


def _notes(plan: IndexPlan, shares: list[Repeats]) -> list[str]:
    """One note for each pair of files that hold the same records, for the first few pairs."""
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
    records = counted(offsets, "record")
    if first == last:
        return f"{first} holds {records} more than once, with the same offset and content: counted once"
    return (
        f"{first} and {last} both hold {records}, with the same offsets and content: counted once;"
        " is one of them made from the other?"
    )
