"""The outcome of a compaction, per log: the figures for the reports and checks of the run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kcompact.broker.log_names import LogName, said_of_logs
from kcompact.compact.output.csv_parts import render_gaps
from kcompact.compact.output.decided_rows import REASON_NAMES
from kcompact.compact.output.reporting import ReportedLog
from kcompact.dumps.output.assemble import Fragment
from kcompact.engine.passes.summaries import LogSummary, merged
from kcompact.rules.assumptions import undated_note
from kcompact.rules.cleaned_log import LogCleaning, Round
from kcompact.rules.policy import Policy
from kcompact.rules.verdicts import Verdict

REASONS = tuple(REASON_NAMES.values())
"""The names of all reasons why a record goes; "expired" is retention. Reports list them all, with zeros."""


class PartRange(NamedTuple):
    """Bytes [start, end) of a file in the run's folder."""

    name: str
    start: int
    end: int


Piece = bytes | PartRange
"""A stretch of a report file: text at hand, or text that a worker wrote."""


@dataclass
class LogOutcome:
    """One log before and after. Bytes are bytes in the dump; offsets are inclusive, -1 if there is none."""

    log_id: int
    topic: str
    partition: int
    records: int = 0
    record_bytes: int = 0
    kept: int = 0
    kept_bytes: int = 0
    removed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    tombstones: int = 0
    tombstones_kept: int = 0
    keys: int = 0
    null_keys: int = 0
    first_offset: int = -1
    last_offset: int = -1
    first_kept_offset: int = -1
    last_kept_offset: int = -1
    min_timestamp_ms: int = -1
    max_timestamp_ms: int = -1
    removed_keys: int = 0
    gaps: int = 0
    gap_offsets: int = 0
    gap_offsets_missing_before: int = 0
    repeated_offsets: int = 0  # same offset, same content: dropped and counted
    rounds: list[dict[str, Any]] = field(default_factory=list)  # the broker's own figures, round by round


KeptStretch = tuple[ReportedLog, int]
"""A stretch of one log in which records are kept, and how many records the log has below this stretch."""


@dataclass
class CompactionOutcome:
    """All logs by topic and partition, and where the pieces of output and reports lie."""

    logs: list[LogOutcome]
    fragments: list[Fragment]
    removed_keys: list[Piece]
    gaps: list[Piece]


def outcome_of(
    summaries: list[LogSummary],
    stretches: list[LogSummary],
    reported: list[ReportedLog],
    fragments: list[Fragment],
) -> CompactionOutcome:
    """Put together what tasks have read, and their reports on ``stretches`` (splits or shares) of logs."""
    logs = summarise_logs(summaries)
    outcome = CompactionOutcome(list(logs.values()), fragments, [], [])
    parts_of: dict[int, list[ReportedLog]] = defaultdict(list)
    for part in reported:
        parts_of[part.log_id].append(part)
    stretches_of: dict[int, list[LogSummary]] = defaultdict(list)
    for stretch in stretches:
        stretches_of[stretch.log_id].append(stretch)
    for log in outcome.logs:
        parts, of_log = sorted(parts_of[log.log_id], key=attrgetter("first_offset")), stretches_of[log.log_id]
        _add_keys(log, parts)
        outcome.removed_keys += [PartRange(f"removed-{part.task}", *part.removed_range) for part in parts]
        records = sum(stretch.records for stretch in of_log)
        outcome.gaps += _add_kept(log, _stretches(of_log, parts), records)
    return outcome


def summarise_logs(summaries: list[LogSummary]) -> dict[int, LogOutcome]:
    """The "before" half of every log's figures, ordered by topic and partition."""
    return {
        whole.log_id: LogOutcome(
            whole.log_id,
            *whole.log,
            records=whole.records,
            record_bytes=whole.record_bytes,
            tombstones=whole.tombstones,
            null_keys=whole.null_keys,
            first_offset=whole.first_offset,
            last_offset=whole.last_offset,
            min_timestamp_ms=whole.min_timestamp_ms,
            max_timestamp_ms=whole.max_timestamp_ms,
        )
        for whole in sorted(merged(summaries).values(), key=attrgetter("log"))
    }


def undated_notes(logs: Iterable[LogOutcome], policies: Mapping[str, Policy]) -> list[str]:
    """Notes on configs that need the age of records, for logs without timestamps. Policies are by topic."""
    undated = [log for log in logs if log.records and log.max_timestamp_ms < 0]
    return said_of_logs(
        (LogName(log.topic, log.partition), text)
        for log in undated
        for text in undated_note(policies[log.topic])
    )


def _add_keys(log: LogOutcome, parts: list[ReportedLog]) -> None:
    for part in parts:
        log.keys += part.keys
        log.removed_keys += part.removed_keys


def _stretches(summaries: list[LogSummary], parts: list[ReportedLog]) -> list[KeptStretch]:
    below, records = {}, 0  # split_id -> records of the log in splits of lower offsets
    for summary in sorted(summaries, key=attrgetter("first_offset")):
        below[summary.split_id] = records
        records += summary.records
    return [(part, below[part.split_id]) for part in parts]


def _add_kept(log: LogOutcome, stretches: list[KeptStretch], records: int) -> list[Piece]:
    """Add the figures of kept records to a summarised log of ``records`` records; its pieces of gaps.csv.

    Stretches come in the order of offsets. The tasks have written the gaps within stretches; the gaps
    between, before and after them are added here.
    """
    pieces: list[Piece] = []
    gaps: list[tuple[int, int, int]] = []  # as rows of ``gap_rows``
    places: list[int] = []  # of each of these gaps: the index of its line in ``pieces``

    def add_gap(start: int, end_offset: int, records: int) -> None:
        if start < end_offset:
            gaps.append((start, end_offset, end_offset - start - records))
            places.append(len(pieces))
            pieces.append(b"")

    start, present = log.first_offset, 0
    for part, below in stretches:
        if not part.kept:
            continue
        add_gap(start, part.first_kept, below + part.records_before - present)
        pieces.append(PartRange(f"gaps-{part.task}", *part.gaps_range))
        start, present = part.last_kept + 1, below + part.records_through
        _add_figures(log, part)
    add_gap(start, log.last_offset + 1, records - present)
    _count_gaps(log, gaps)
    # All are rendered at once: many small files make thousands of them.
    name = LogName(log.topic, log.partition)
    lines = render_gaps([name], [len(gaps)], np.array(gaps, np.int64).reshape(-1, 3))
    for place, line in zip(places, lines.splitlines(keepends=True), strict=True):
        pieces[place] = line
    return pieces


def _add_figures(log: LogOutcome, part: ReportedLog) -> None:
    log.kept += part.kept
    log.kept_bytes += part.kept_bytes
    log.tombstones_kept += part.tombstones_kept
    log.first_kept_offset = part.first_kept if log.first_kept_offset < 0 else log.first_kept_offset
    log.last_kept_offset = part.last_kept
    log.gaps += part.gaps
    log.gap_offsets += part.gap_offsets
    log.gap_offsets_missing_before += part.gap_missing_before


def _count_gaps(log: LogOutcome, gaps: list[tuple[int, int, int]]) -> None:
    log.gaps += len(gaps)
    log.gap_offsets += sum(end_offset - start for start, end_offset, _ in gaps)
    log.gap_offsets_missing_before += sum(missing for *_, missing in gaps)


def add_cleaning(log: LogOutcome, cleaning: LogCleaning) -> None:
    """Add the cleaner's figures to a summarised log."""
    for verdict, name in REASON_NAMES.items():
        log.removed[name] = cleaning.removed.get(verdict, 0)
    log.repeated_offsets = cleaning.removed.get(Verdict.REPEATED, 0)
    log.rounds = [_round(number, round_) for number, round_ in enumerate(cleaning.rounds, 1)]


def _round(number: int, round_: Round) -> dict[str, Any]:
    """One round under the names of a broker's CleanerStats."""
    counts, sizes = round_.counts, round_.sizes
    return {
        "round": number,
        "first_dirty_offset": round_.span.first_dirty_offset,
        "next_dirty_offset": round_.span.next_offset,
        "rewritten_end_offset": round_.span.rewritten_end_offset,
        "map_entries": round_.map_entries,
        "map_is_full": round_.span.map_is_full,
        "buffer_utilization": round_.utilization,
        "messages_read": counts.messages_read,
        "messages_written": counts.messages_written,
        "invalid_messages_read": counts.removed[Verdict.KEYLESS],
        "bytes_read": sizes.bytes_read,
        "bytes_written": sizes.bytes_written,
        "removed": {name: counts.removed[verdict] for verdict, name in REASON_NAMES.items()},
        "tombstones_kept": counts.tombstones_kept,
        "tombstones_stamped": counts.tombstones_stamped,
        "delete_horizon_ms": round_.delete_horizon_ms,
        "segments_before": sizes.segments_before,
        "segments_after": sizes.segments_after,
    }


def piece_bytes(folder: Path, pieces: list[Piece]) -> Iterator[bytes]:
    """The text of the pieces, in chunks: never a whole report at once.

    A file stays open until a piece of another file follows, as small dump files make thousands of pieces in
    few files.
    """
    with ExitStack() as opened:
        name = ""
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            elif piece.end > piece.start:
                if piece.name != name:
                    opened.close()
                    name, part = piece.name, opened.enter_context((folder / piece.name).open("rb"))
                yield from _bytes_of(part, piece)


def _bytes_of(part: BinaryIO, piece: PartRange) -> Iterator[bytes]:
    part.seek(piece.start)
    left = piece.end - piece.start
    while left and (chunk := part.read(min(left, 1 << 20))):
        left -= len(chunk)
        yield chunk
