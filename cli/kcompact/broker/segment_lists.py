"""The segments of a log, from a table or from a listing of the broker's log directory."""

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath

from kcompact.broker.log_names import LogName, PerLog, parse_log_name
from kcompact.broker.text_lines import Open, number_in, numbered_lines, numbers_by_log, open_bytes
from kcompact.errors import InputError


@dataclass(frozen=True)
class Segment:
    """One segment file. The last one of a log is the active segment, which the cleaner never touches (R2)."""

    base_offset: int
    size_bytes: int  # of the .log file
    mtime_ms: int | None = None  # modification time of the .log file; None: not known


_TABLE = "topic partition base-offset bytes [mtime_ms]"
_SEGMENT_FILE = re.compile(r"(?:^|\s)(?P<path>\S*?(?P<base>[0-9]{20})\.log)$")
_DIRECTORY_TITLE = re.compile(r"(?P<path>\S+):")
_FILE_MODE = re.compile(r"[-dlbcps][-rwxsStT]{9}[.+@]?")
_SIZE_AFTER_MODE = 4  # mode, links, owner, group, size
_ISO_TIME = re.compile(
    r"([0-9]{4}-[0-9][0-9]-[0-9][0-9]) ([0-9][0-9]:[0-9][0-9]:[0-9][0-9])(\.[0-9]{3})?[0-9]* ([+-][0-9]{4})"
)
_EPOCH_SECONDS = re.compile(r"[0-9]{9,11}(?:\.[0-9]+)?")


def read_segments(path: str, open_file: Open = open_bytes) -> PerLog[tuple[Segment, ...]]:
    """Segments by log, by ascending base offset, from a table or a listing (see ``_read_listing``).

    A table has one segment on each line: ``topic partition base-offset bytes [mtime_ms]``. Raises InputError.
    """
    lines = list(numbered_lines(path, open_file=open_file))
    if any(_SEGMENT_FILE.search(line.rstrip()) for _, line in lines):
        segments = _read_listing(path, lines)
    else:
        segments = _read_table(path, lines)
    if not segments:
        raise InputError(
            f"{path}: no segments in it", hint=f"wanted: lines '{_TABLE}', or a listing with .log files"
        )
    ascending = {log: _ascending(path, str(log or "the log"), of_log) for log, of_log in segments.items()}
    return PerLog.of(f"--segments {path}", ascending)


def _read_table(path: str, lines: list[tuple[int, str]]) -> dict[LogName | None, list[Segment]]:
    segments: dict[LogName | None, list[Segment]] = {}
    for _, log, numbers in numbers_by_log(lines, path, _TABLE):
        segments.setdefault(log, []).append(Segment(*numbers))
    return segments


def _read_listing(path: str, lines: list[tuple[int, str]]) -> dict[LogName | None, list[Segment]]:
    """Segments by log from the output of ``ls -l``, ``ls -lR``, ``find -ls``, ``du -b`` or ``find -printf``.

    Only ``.log`` files count. The log is named by the folder in the file's path, or in the title above it.
    """
    segments: dict[LogName | None, list[Segment]] = {}
    folder: LogName | None = None
    for number, line in lines:
        title = _DIRECTORY_TITLE.fullmatch(line.strip())
        match = _SEGMENT_FILE.search(line.rstrip())
        if title:
            folder = parse_log_name(PurePosixPath(title["path"]).name)
        elif match:
            parent = parse_log_name(PurePosixPath(match["path"]).parent.name)
            segment = _listed_segment(path, number, line[: match.start("path")], match["base"])
            segments.setdefault(parent or folder, []).append(segment)
    return segments


def _listed_segment(path: str, number: int, before_name: str, base: str) -> Segment:
    fields = before_name.split()
    mode_at = next((i for i, field in enumerate(fields) if _FILE_MODE.fullmatch(field)), None)
    size_at = 0 if mode_at is None else mode_at + _SIZE_AFTER_MODE
    if size_at >= len(fields) or not fields[size_at].isdecimal():
        raise InputError(
            f"{path}:{number}: no size in bytes before the file's name",
            hint="list with: find . -name '*.log' -printf '%s %T@ %p\\n', or ls -l --full-time (not -h)",
        )
    size_bytes = number_in(fields[size_at], path, number)
    return Segment(number_in(base, path, number), size_bytes, _listed_mtime_ms(fields[size_at + 1 :]))


def _listed_mtime_ms(fields: list[str]) -> int | None:
    """The time behind the size, in seconds since 1970 or as by ``ls --full-time``; None for coarser times."""
    iso = _ISO_TIME.search(" ".join(fields))
    if iso:
        day, time, fraction, zone = iso.groups()
        try:
            moment = datetime.fromisoformat(f"{day}T{time}{fraction or ''}{zone[:3]}:{zone[3:]}")
        except ValueError:  # the 30th of February
            return None
        return round(moment.timestamp() * 1000)
    if len(fields) == 1 and _EPOCH_SECONDS.fullmatch(fields[0]):
        seconds, _, fraction = fields[0].partition(".")
        return int(seconds) * 1000 + int((fraction + "000")[:3])
    return None


def _ascending(path: str, log: str, segments: list[Segment]) -> tuple[Segment, ...]:
    ascending = sorted(segments, key=lambda segment: segment.base_offset)
    for segment, next_segment in pairwise(ascending):
        if segment.base_offset == next_segment.base_offset:
            raise InputError(f"{path}: {log} has two segments with base offset {segment.base_offset}")
    return tuple(ascending)
