"""Whether the offsets of logs ascend: within files, from file to file, and in which order of files."""

import itertools
from collections import defaultdict
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from kcompact.engine.passes.summaries import LogSummary


def overlapping(summaries: list[LogSummary]) -> bool:
    """Whether some log may hold an offset twice: its splits' ranges of offsets overlap."""
    ranges: dict[int, list[tuple[int, int]]] = {}
    for part in summaries:
        ranges.setdefault(part.log_id, []).append((part.first_offset, part.last_offset))
    return any(
        later[0] <= earlier[1]
        for log in ranges.values()
        for earlier, later in itertools.pairwise(sorted(log))
    )


def unsorted_files(summaries: list[LogSummary], file_ids: Mapping[int, int]) -> frozenset[int]:
    """Files in which some log's offsets do not ascend; ``file_ids`` tells the file of each split."""
    unsorted: set[int] = set()
    ends: dict[tuple[int, int], int] = {}  # (log, file) -> last offset so far
    for part in summaries:  # by split, that is, in the order of each file
        file_id = file_ids[part.split_id]
        if not part.ascending or part.first_offset <= ends.get((part.log_id, file_id), -1):
            unsorted.add(file_id)
        ends[part.log_id, file_id] = part.last_offset
    return frozenset(unsorted)


def overtaken_files(summaries: list[LogSummary], file_ids: Mapping[int, int]) -> set[tuple[int, int]]:
    """Pairs of files (by id): the second, read later, holds offsets of some log below those of the first."""
    overtaken: set[tuple[int, int]] = set()
    largest: dict[int, tuple[int, int]] = {}  # log -> last offset so far, and the file that holds it
    for part in summaries:
        file_id = file_ids[part.split_id]
        end, before = largest.get(part.log_id, (-1, file_id))
        if before != file_id and part.first_offset < end:
            overtaken.add((before, file_id))
        if part.last_offset > end:
            largest[part.log_id] = part.last_offset, file_id
    return overtaken


def order_of_files(summaries: list[LogSummary], file_ids: Mapping[int, int]) -> dict[int, int]:
    """The rank of each file (by id) in an order in which the offsets of every log ascend from file to file.

    Empty where there is no such order, as offsets of one file lie between those of another.
    """
    ranges: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)  # of each log, by file
    for part in summaries:
        file_id = file_ids[part.split_id]
        first, last = ranges[part.log_id].get(file_id, (part.first_offset, part.last_offset))
        ranges[part.log_id][file_id] = min(first, part.first_offset), max(last, part.last_offset)
    before: dict[int, set[int]] = {file_id: set() for file_id in sorted({*file_ids.values()})}
    for of_log in ranges.values():
        spans = sorted((first, last, file_id) for file_id, (first, last) in of_log.items())
        for (_, last, file_id), (first, _, next_id) in itertools.pairwise(spans):
            if first <= last:
                return {}
            before[next_id].add(file_id)
    try:
        return {file_id: rank for rank, file_id in enumerate(TopologicalSorter(before).static_order())}
    except CycleError:
        return {}
