"""Records of aborted transactions, as ranges of offsets."""

from dataclasses import dataclass
from operator import attrgetter

from kcompact.broker.log_names import LogName, PerLog
from kcompact.broker.text_lines import Open, numbered_lines, numbers_by_log, open_bytes
from kcompact.errors import InputError


@dataclass(frozen=True)
class AbortedRange:
    """Offsets of aborted data, both ends inclusive. No committed data of other producers are among them."""

    first_offset: int
    last_offset: int


def read_aborted(path: str, open_file: Open = open_bytes) -> PerLog[tuple[AbortedRange, ...]]:
    """Ranges by log, ascending. A line holds topic, partition, first and last offset. Raises InputError."""
    ranges: dict[LogName, list[AbortedRange]] = {}
    columns = "topic partition first_offset last_offset"
    lines = numbered_lines(path, open_file=open_file)
    for number, log, (first_offset, last_offset) in numbers_by_log(lines, path, columns):
        if last_offset < first_offset:
            raise InputError(f"{path}:{number}: the last offset, {last_offset}, is below the first")
        ranges.setdefault(log, []).append(AbortedRange(first_offset, last_offset))
    by_first_offset = attrgetter("first_offset")
    by_log = {log: tuple(sorted(of_log, key=by_first_offset)) for log, of_log in ranges.items()}
    return PerLog(f"--aborted {path}", by_log)
