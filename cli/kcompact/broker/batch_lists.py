"""Reading the list of a log's record batches, as ``--batches`` names it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple

from kcompact.broker.batches import (
    ABORT,
    COMMIT,
    NONE,
    Batch,
    Batches,
    PackedBatches,
    behind_one_another,
    in_order,
    overlap_in,
)
from kcompact.broker.log_names import LogName, PerLog, parse_log_name
from kcompact.broker.text_lines import Open, number_in, numbered_lines, open_bytes, partition_in, shown
from kcompact.errors import InputError

Lines = Iterator[tuple[int, str]]


class SegmentHead(NamedTuple):
    """The name of a segment file in a list; the segment may hold no batch."""

    base_offset: int


Logged = tuple[LogName | None, SegmentHead | Batch]

_BATCHES_PER_BLOCK = 1 << 16
_REQUIRED_COLUMNS = ("topic", "partition", "baseOffset", "lastOffset", "count", "bytes")
_DUMPING = re.compile(r"Dumping (?P<path>.*?(?P<base>[0-9]{20})\.log)\s*")
_BATCH_LINE = re.compile(r"baseOffset: [0-9]+ lastOffset: [0-9]+ count: .* isvalid: (?:true|false)\s*")
_PAIR = re.compile(r"\b(\w++): (\S+)")
_START_LINE = re.compile(r"(?:(?:Log s|S)tarting offset: [0-9]+)?\s*")
_RECORD_LINE = re.compile(r"\s*\| offset: [0-9]+ .*")
_MARKER = re.compile(r" endTxnMarker: (?P<marker>COMMIT|ABORT)\b")
_HORIZON = re.compile(r"OptionalLong\[([0-9]+)\]")
_MARKERS = {"COMMIT": COMMIT, "ABORT": ABORT}
_DAMAGED = "the line was damaged or edited: list the batches again"


def read_batches(*paths: str, open_file: Open = open_bytes) -> PerLog[PackedBatches]:
    """Batches by log, by ascending base offset. Raises InputError that names the line.

    Each file is the text of ``kafka-dump-log --deep-iteration`` (or ``--print-data-log``) of one or several
    segment files, or a tab-separated table whose first line names its columns: topic, partition, segment,
    baseOffset, lastOffset, count, bytes, codec, timestampType, producerId, producerEpoch, transactional,
    control, deleteHorizonMs, maxTimestamp. Other columns are not read.
    """
    source = f"--batches {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    collected: dict[LogName | None, _Collected] = {}
    for path in paths:
        for log, logged in _logged(path, open_file):
            if log not in collected:
                collected[log] = _Collected(f"{source}: batches of {log or 'the log'} overlap")
            if isinstance(logged, SegmentHead):
                collected[log].segment_bases.add(logged.base_offset)
            else:
                collected[log].add(logged)
    with_batches = {log: of_log for log, of_log in collected.items() if of_log.has_batches}
    if collected and not with_batches:
        raise _without_batches(paths[0])
    return PerLog.of(source, {log: of_log.packed() for log, of_log in with_batches.items()})


def _logged(path: str, open_file: Open) -> Iterator[Logged]:
    lines = numbered_lines(path, errors="surrogateescape", open_file=open_file)  # records may be anything
    first = next(lines, (1, ""))
    is_table = first[1].startswith("topic\t")
    yield from (_table if is_table else _dump_log)(path, chain([first], lines))


def _without_batches(path: str) -> InputError:
    return InputError(
        f"{path}: no record batches in it",
        hint="wanted: the text of kafka-dump-log --deep-iteration, or a table with a header line",
    )


@dataclass
class _Collected:
    """The batches of one log, packed as they come. ``overlap`` begins the message if two of them overlap."""

    overlap: str
    segment_bases: set[int] = field(default_factory=set)  # of all named segments, which may be empty
    _waiting: list[Batch] = field(default_factory=list)
    _packed: PackedBatches = field(default_factory=PackedBatches)

    @property
    def has_batches(self) -> bool:
        """Whether a batch was collected."""
        return bool(self._waiting or self._packed.blocks)

    def add(self, batch: Batch) -> None:
        self._waiting.append(batch)
        if len(self._waiting) >= _BATCHES_PER_BLOCK:
            self._pack()

    def packed(self) -> PackedBatches:
        """All batches, sorted where a file lists the segments of a log out of order. Raises InputError."""
        if self._waiting:
            self._pack()
        if self._packed.is_ascending:
            return self._packed.with_segments(self.segment_bases)
        whole = in_order(behind_one_another(*self._packed.parts()))
        self._refuse_overlap(whole)
        starts = range(0, len(whole), _BATCHES_PER_BLOCK)
        parts = (whole.take(slice(start, start + _BATCHES_PER_BLOCK)) for start in starts)
        return PackedBatches.of(parts).with_segments(self.segment_bases)

    def _pack(self) -> None:
        part = in_order(Batches.of(self._waiting))
        self._waiting = []
        self._refuse_overlap(part)
        self._packed.add(part)

    def _refuse_overlap(self, batches: Batches) -> None:
        two = overlap_in(batches)
        if two is not None:
            (first, last), (next_first, next_last) = two
            raise InputError(f"{self.overlap}: {first} to {last}, and {next_first} to {next_last}")


def _table(path: str, lines: Lines) -> Iterator[Logged]:
    names = next(lines)[1].split("\t")
    missing = [name for name in _REQUIRED_COLUMNS if name not in names]
    if missing:
        raise InputError(f"{path}:1: no column {', '.join(missing)}")
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) != len(names):
            raise InputError(f"{path}:{number}: {len(cells)} columns, the header has {len(names)}")
        row = {name: cell for name, cell in zip(names, cells, strict=True) if cell != "-"}
        if not row.keys() >= {"topic", "partition"}:
            raise InputError(f"{path}:{number}: a batch without topic and partition")
        log = LogName(row["topic"], partition_in(row["partition"], path, number))
        yield log, _possible(path, number, _table_batch(path, number, row))


def _table_batch(path: str, number: int, row: dict[str, str]) -> Batch:
    def whole(name: str) -> int:
        return number_in(row[name], path, number, least=-1) if name in row else NONE

    return Batch(
        base_offset=whole("baseOffset"),
        last_offset=whole("lastOffset"),
        record_count=whole("count"),
        size_bytes=whole("bytes"),
        segment_base_offset=whole("segment"),
        is_compressed=row.get("codec", "none") != "none",
        is_log_append_time=row.get("timestampType") == "logappend",
        max_timestamp_ms=whole("maxTimestamp"),
        producer_id=whole("producerId"),
        producer_epoch=whole("producerEpoch"),
        is_transactional=row.get("transactional") == "1",
        is_control="control" in row,
        marker=_MARKERS.get(row.get("control", ""), NONE),
        delete_horizon_ms=whole("deleteHorizonMs"),
    )


def _dump_log(path: str, lines: Lines) -> Iterator[Logged]:
    """The segments and batches in a text of kafka-dump-log, control batches with their record's marker.

    All other lines are the text of records. A text without any batch may only name segments, which hold none
    then.
    """
    log: LogName | None = None
    segment_base_offset = NONE
    batch: Batch | None = None
    has_batches = is_strange = False
    waits_at = 0  # the line of a control batch whose record line has not come yet; 0: none
    for number, line in lines:
        dumping = _DUMPING.fullmatch(line)
        header = _BATCH_LINE.fullmatch(line)
        if batch is not None and (dumping or header):
            yield log, _complete(path, waits_at, batch)
            batch, waits_at = None, 0
        if dumping:
            log = parse_log_name(PurePosixPath(dumping["path"].replace("\\", "/")).parent.name)
            segment_base_offset = number_in(dumping["base"], path, number)
            yield log, SegmentHead(segment_base_offset)
        elif header:
            has_batches = True
            batch = _possible(path, number, _header_batch(path, number, line, segment_base_offset))
            waits_at = number if batch.is_control and batch.record_count else 0
        elif batch is not None and waits_at and _RECORD_LINE.fullmatch(line):
            marker = _MARKER.search(line)
            batch = batch._replace(marker=_MARKERS[marker["marker"]] if marker else NONE)
            waits_at = 0
        elif batch is None and not _START_LINE.fullmatch(line):
            is_strange = True
    if batch is not None:
        yield log, _complete(path, waits_at, batch)
    if not has_batches and (is_strange or segment_base_offset == NONE):
        raise _without_batches(path)


def _complete(path: str, waits_at: int, batch: Batch) -> Batch:
    if waits_at:
        raise InputError(
            f"{path}:{waits_at}: nothing says whether the control batch at offset {batch.base_offset} commits"
            " or aborts",
            hint="run kafka-dump-log with --deep-iteration or --print-data-log",
        )
    return batch


def _possible(path: str, number: int, batch: Batch) -> Batch:
    """The batch as given. Raises InputError for offsets that no batch can have."""
    first, last, count = batch.base_offset, batch.last_offset, batch.record_count
    if not 0 <= first <= last or count > last - first + 1:
        raise InputError(
            f"{path}:{number}: no batch can hold {count} records at offsets {first} to {last}",
            hint=_DAMAGED,
        )
    return batch


def _header_batch(path: str, number: int, line: str, segment_base_offset: int) -> Batch:
    pairs = dict(_PAIR.findall(line))
    if pairs["isvalid"] != "true":
        raise InputError(f"{path}:{number}: the batch at offset {pairs['baseOffset']} is corrupt (isvalid)")

    def whole(name: str, default: str = "-1") -> int:
        return number_in(pairs.get(name, default), path, number, least=-1)

    def flag(name: str) -> bool:
        if pairs.get(name, "false") not in {"true", "false"}:
            raise InputError(
                f"{path}:{number}: {name} is '{shown(pairs[name])}', where true or false is expected",
                hint=_DAMAGED,
            )
        return pairs.get(name) == "true"

    horizon = _HORIZON.fullmatch(pairs.get("deleteHorizonMs", ""))
    timestamp_type = next((name for name in ("CreateTime", "LogAppendTime") if name in pairs), "")
    return Batch(
        base_offset=whole("baseOffset"),
        last_offset=whole("lastOffset"),
        record_count=whole("count", ""),
        size_bytes=whole("size"),
        segment_base_offset=segment_base_offset,
        is_compressed=pairs.get("compresscodec", "none").lower() != "none",
        is_log_append_time=timestamp_type == "LogAppendTime",
        max_timestamp_ms=whole(timestamp_type),
        producer_id=whole("producerId"),
        producer_epoch=whole("producerEpoch"),
        is_transactional=flag("isTransactional"),
        is_control=flag("isControl"),
        marker=NONE,  # set by ``_dump_log`` from the record line that follows
        delete_horizon_ms=number_in(horizon[1], path, number) if horizon else NONE,
    )
