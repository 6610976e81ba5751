"""Records that are out of order, or at an offset that a dump holds twice, found before classification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs
from kcompact.dumps.records.record_contents import differing_copies
from kcompact.errors import InputError
from kcompact.rules.lookups import rows_of_logs
from kcompact.rules.orders import repeated_places
from kcompact.verify.check import Check, Severity
from kcompact.verify.checks import DUPLICATE_OFFSET, REORDERED_RECORDS
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.findings import Findings
from kcompact.verify.outcome import VerifyFinding
from kcompact.verify.question import Question

LargestBefore = Mapping[tuple[int, int], int]
"""By split and log: the largest offset of the log in earlier splits of the same file."""


@dataclass(frozen=True)
class Disorder:
    """Faults in the order of two dumps; ``result`` are the findings about AFTER.

    ``repeated_before``: the number of BEFORE's records at an offset that an earlier record of it has already.
    ``differing_offsets``: by log id, the smallest offset that BEFORE holds twice with different content.
    """

    result: Findings = field(default_factory=Findings)
    repeated_before: int = 0
    differing_offsets: Mapping[int, int] = field(default_factory=dict)

    def plus(self, other: "Disorder") -> "Disorder":
        """The faults at the places of both."""
        offsets = dict(self.differing_offsets)
        for log_id, offset in other.differing_offsets.items():
            offsets[log_id] = min(offset, offsets.get(log_id, offset))
        return Disorder(self.result.plus(other.result), self.repeated_before + other.repeated_before, offsets)

    def require_one_truth(self, question: Question) -> None:
        """Raise InputError if BEFORE holds an offset twice with different content."""
        for log_id in sorted(self.differing_offsets, key=question.logs.__getitem__):
            raise InputError(
                f"{', '.join(question.before_name)}: offset {self.differing_offsets[log_id]} of"
                f" {question.logs[log_id]} is there twice, with different content",
                hint="do these files come from one topic of one cluster? give only what belongs together",
            )


def sort_out(
    before: pa.Table, after: pa.Table, question: Question, earlier: tuple[LargestBefore, LargestBefore]
) -> tuple[Disorder, Flags, Flags]:
    """Find disorder in all records that two dumps have at some places (log and offset).

    Returns the disorder, and flags for the rows of BEFORE and of AFTER that are the first at their place. The
    tables have the columns of ``keyed_rows.ROWS_SCHEMA``; ``earlier`` is for BEFORE and for AFTER. If AFTER
    is alone, ``before`` is the same table.
    """
    is_alone = before is after
    in_before = _Repeated.among(before)
    in_after = in_before if is_alone else _Repeated.among(after)
    result = _twice(after, in_after, question).plus(
        _out_of_order(before if not is_alone else before.slice(0, 0), after, question, earlier)
    )
    disorder = Disorder(result)
    if not is_alone:
        disorder = Disorder(result, int(in_before.is_copy.sum()), _differing(before, in_before))
    return disorder, in_before.firsts_of(before), in_after.firsts_of(after)


class _Repeated(NamedTuple):
    """The rows of all places with several rows: row numbers, place by place, and which are not the first."""

    at: Longs
    places: Longs
    is_copy: Flags

    @classmethod
    def among(cls, rows: pa.Table) -> "_Repeated":
        at, places = repeated_places(rows)
        return cls(at, places, np.diff(places, prepend=-1) == 0)

    def firsts_of(self, rows: pa.Table) -> Flags:
        """Which of all rows are the first of their place."""
        flags = np.ones(rows.num_rows, np.bool_)
        flags[self.at[self.is_copy]] = False
        return flags


def _differing(rows: pa.Table, repeated: _Repeated) -> dict[int, int]:
    """By log id, the smallest offset whose records are not all the same."""
    differing = repeated.at[differing_copies(rows.take(pa.array(repeated.at)), repeated.places)]
    offsets: dict[int, int] = {}
    for row in differing.tolist():
        log_id, offset = rows["log_id"][row].as_py(), rows["offset"][row].as_py()
        offsets[log_id] = min(offset, offsets.get(log_id, offset))
    return offsets


def _twice(after: pa.Table, repeated: _Repeated, question: Question) -> Findings:
    _, counts = np.unique(repeated.places, return_counts=True)
    return _result_of(
        DUPLICATE_OFFSET,
        after,
        repeated.at[~repeated.is_copy],
        question,
        [(DUPLICATE_OFFSET.expected, f"{count} records") for count in counts.tolist()],
    )


def _out_of_order(
    before: pa.Table, after: pa.Table, question: Question, earlier: tuple[LargestBefore, LargestBefore]
) -> Findings:
    """Findings for AFTER's records directly after a larger offset, unless BEFORE has them after one, too."""
    previous = _or_earlier(after, "previous_offset", earlier[1])
    late = np.flatnonzero(previous > after["offset"].to_numpy())
    largest = _or_earlier(before, "largest_offset", earlier[0])
    is_late_before = largest > before["offset"].to_numpy()
    places_before = set(
        zip(*(before[name].to_numpy()[is_late_before].tolist() for name in ("log_id", "offset")), strict=True)
    )
    places = zip(*(after[name].to_numpy()[late].tolist() for name in ("log_id", "offset")), strict=True)
    late = late[[place not in places_before for place in places]] if len(late) else late
    offsets = after["offset"].to_numpy()[late].tolist()
    words = [
        (str(REORDERED_RECORDS.expected), f"offset {offset} after offset {larger}")
        for offset, larger in zip(offsets, previous[late].tolist(), strict=True)
    ]
    return _result_of(REORDERED_RECORDS, after, late, question, words)


def _or_earlier(rows: pa.Table, name: str, earlier: LargestBefore) -> Longs:
    """A column of ORDER, completed by what earlier splits of the file hold of the log."""
    column = rows[name].to_numpy()
    unknown = np.flatnonzero(column < 0)
    places = zip(
        rows["split_id"].to_numpy()[unknown].tolist(),
        rows["log_id"].to_numpy()[unknown].tolist(),
        strict=True,
    )
    offsets = column.copy()
    offsets[unknown] = [earlier.get(place, -1) for place in places]
    if name == "largest_offset":
        every = zip(rows["split_id"].to_numpy().tolist(), rows["log_id"].to_numpy().tolist(), strict=True)
        offsets = np.maximum(offsets, np.array([earlier.get(place, -1) for place in every], np.int64))
    return offsets


def _result_of(
    check: Check[Suspects],
    rows: pa.Table,
    chosen: Longs,
    question: Question,
    words: Sequence[tuple[object, str]],
) -> Findings:
    result = Findings()
    for log_id, at in rows_of_logs(rows["log_id"].to_numpy()[chosen]):
        topic, partition = question.logs[log_id]
        offsets = rows["offset"].to_numpy()[chosen[at]]
        first = at[np.argsort(offsets, kind="stable")[: question.max_findings]]
        place = (check.name, log_id, Severity.FINDING)
        result.counts[place] = len(at)
        result.findings[place] = [
            VerifyFinding(
                check=check.name,
                severity=Severity.FINDING,
                topic=topic,
                partition=partition,
                offset=rows["offset"][int(chosen[number])].as_py(),
                key=rows["key"][int(chosen[number])].as_py(),
                expected=str(words[number][0]),
                found=words[number][1],
            )
            for number in first.tolist()
        ]
    return result
