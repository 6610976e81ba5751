"""Small files that are read alike, such as ten thousand of a sink, are read many at a time."""

from collections.abc import Iterable, Iterator

from kcompact.dumps.loops import windows
from kcompact.dumps.records.layout import DumpFile, SplitToIndex


def read_together(parts: Iterable[SplitToIndex]) -> Iterator[list[SplitToIndex]]:
    """All parts, in their order; neighbours that are alike and fit into one window are together."""
    group: list[SplitToIndex] = []
    group_bytes = 0
    for part in parts:
        part_bytes = part.split.end - part.split.start + 1  # and a line end, should the last one lack it
        fits = group_bytes + part_bytes <= windows.WINDOW_BYTES
        if group and not (fits and _are_alike(group[0].file, part.file)):
            yield group
            group, group_bytes = [], 0
        group.append(part)
        group_bytes += part_bytes
    if group:
        yield group


def _are_alike(file: DumpFile, other: DumpFile) -> bool:
    """Whether the same bytes would read the same in both files."""
    return file.file_id == other.file_id or _ways_to_read(file) == _ways_to_read(other)


def _ways_to_read(file: DumpFile) -> tuple[object, ...]:
    filters = file.topics, file.partitions, file.left_out
    return file.layout, file.dialect, file.shape, file.topic, file.partition, file.start_offset, filters
