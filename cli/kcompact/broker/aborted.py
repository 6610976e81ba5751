"""Which records belong to aborted transactions, as runs of offsets."""

from dataclasses import dataclass

from kcompact.broker.log_names import LogName, PerLog
from kcompact.broker.text_lines import fields_of_lines, number_in, numbered_lines, partition_in
from kcompact.errors import InputError


@dataclass(frozen=True)
class AbortedRange:
    """Offsets of aborted data; both ends belong to it. Committed data of other producers is not inside."""

    first_offset: int
    last_offset: int


def read_aborted(path: str) -> PerLog[tuple[AbortedRange, ...]]:
    """Ranges by log, ascending, from ``topic partition first_offset last_offset``. Raises InputError."""
    ranges: dict[LogName, list[AbortedRange]] = {}
    lines = numbered_lines(path)
    columns = "topic partition first_offset last_offset"
    for number, (topic, partition_text, *fields) in fields_of_lines(lines, path, columns):
        partition = partition_in(partition_text, path, number)
        first_offset, last_offset = (number_in(field, path, number) for field in fields)
        if last_offset < first_offset:
            raise InputError(f"{path}:{number}: the last offset, {last_offset}, is below the first")
        ranges.setdefault(LogName(topic, partition), []).append(AbortedRange(first_offset, last_offset))
    by_log = {log: tuple(sorted(of_log, key=_first_offset)) for log, of_log in ranges.items()}
    return PerLog(f"--aborted {path}", by_log)


def _first_offset(aborted: AbortedRange) -> int:
    return aborted.first_offset
