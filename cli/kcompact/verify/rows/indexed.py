"""A dump as verification knows it once it is read: its logs, and which parts of a record its format has."""

import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from kcompact.broker.log_names import LogName
from kcompact.compact.offset_order import order_of_files, overlapping, unsorted_files
from kcompact.compact.pipeline import MOST_MERGE_TASKS
from kcompact.dumps.count_names import CountName
from kcompact.dumps.dialects.dialect import DataRole
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.filters import logs_left_out
from kcompact.dumps.note_checks import check_notes, notes_by_file
from kcompact.dumps.records.content_hashes import SECRET_BYTES
from kcompact.dumps.records.layout import PARSED_VALUES, DumpFile, SplitNotes
from kcompact.dumps.records.record import log_id_of
from kcompact.dumps.records.record_contents import CONTENT
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.passes.summaries import LogSummary, are_whole_seconds, merged, unpacked
from kcompact.engine.passes.torn_logs import refuse_torn_logs
from kcompact.engine.shuffle import Send
from kcompact.errors import InputError
from kcompact.verify.rows.carried_headers import (
    carries_headers,
    may_lack_headers,
    with_incomplete_headers,
    writer_of,
)
from kcompact.verify.rows.doubted_nulls import doubts_about_nulls, refuse_doubted_nulls, words_for_null
from kcompact.verify.rows.dump_rows import DumpRows, read_rows
from kcompact.verify.rows.keyed_rows import AFTER, BEFORE, COLUMNS, COMMITTED

DUMP_BYTES_PER_TASK = 128 << 20  # of both dumps: some 500,000 records
_DOUBTED: dict[CountName, str] = {"replaced_values": "value_hash", "doubtful_headers": "headers_hash"}
"""By the name of a count that is made while records are read: the column that may differ from the topic's."""


@dataclass(frozen=True)
class Indexed:
    """One dump that was read. ``lacking``: by column of ``key_rows.CONTENT``, the splits that do not have it.

    ``with_incomplete_headers``: by split, the dialect, where headers are not there in full. ``doubted``:
    (writer, column) where the column may differ from the topic's. ``renamed``: by log id in its rows, the id
    to read it as. ``is_named_by_file``: its records do not say their topic.
    """

    logs: dict[int, LogName]
    lacking: Mapping[str, frozenset[int]]
    with_incomplete_headers: Mapping[int, str] = field(default_factory=dict)
    doubted: frozenset[tuple[str, str]] = frozenset()
    notes: tuple[str, ...] = ()
    summaries: tuple[LogSummary, ...] = ()
    renamed: Mapping[int, int] = field(default_factory=dict)
    is_named_by_file: bool = False
    left_out: frozenset[LogName] = frozenset()  # logs that --topic and --partitions left out
    interleaves: bool = False  # files of a log overlap, so that no order of files is that of its offsets
    is_in_order: bool = False  # for certain: no offset of a log twice, none after a larger one in its file
    earlier: Mapping[tuple[int, int], int] = field(default_factory=dict)  # see ``largest_before``
    paths: Mapping[int, str] = field(default_factory=dict)  # by split, of its file
    doubts: Mapping[DataRole, InputError] = field(default_factory=dict)  # see ``pipeline.without_doubt``
    words_for_null: frozenset[bytes] = frozenset()  # values in CSV that may be nulls
    is_of_known_tools: bool = False
    has_parsed_values: bool = False  # a value is JSON within JSON: how the topic spells it is not known

    @property
    def runs(self) -> dict[int, list[np.ndarray]]:
        """By log id, arrays of [start, end) of the offsets that the dump holds."""
        by_log: dict[int, list[np.ndarray]] = {}
        for part in self.summaries:
            by_log.setdefault(part.log_id, []).append(part.runs)
        return by_log

    @property
    def first_offsets(self) -> dict[int, int]:
        """The first offset of each log, by the id under which its rows are read."""
        logs = merged(self.summaries)
        return {self.renamed.get(log_id, log_id): whole.first_offset for log_id, whole in logs.items()}

    def firsts_beside(self, paths: Collection[str]) -> dict[LogName, int]:
        """The first offset of each log in the files that are not in ``paths``."""
        others = (part for part in self.summaries if self.paths[part.split_id] not in paths)
        return {whole.log: whole.first_offset for whole in merged(others).values()}

    @property
    def splits(self) -> set[int]:
        """The splits that hold records."""
        return {part.split_id for part in self.summaries}

    @property
    def keyless(self) -> int:
        """How many records have no key."""
        return sum(part.null_keys for part in self.summaries)

    @property
    def topics(self) -> set[str]:
        """All topics."""
        return {topic for topic, _ in self.logs.values()}

    def lacking_beside(self, other: "Indexed") -> dict[str, frozenset[int]]:
        """``lacking``, and the splits whose headers cannot be compared with the other dump's.

        Headers that a tool does not write in full can only be compared if it wrote all of both dumps.
        """
        dumps = self, other
        tools = {tool for dump in dumps for tool in dump.with_incomplete_headers.values()}
        if len(tools) == 1 and all(dump.splits <= dump.with_incomplete_headers.keys() for dump in dumps):
            return dict(self.lacking)
        lacking = self.lacking.get("headers_hash", frozenset()) | self.with_incomplete_headers.keys()
        return {**self.lacking, "headers_hash": lacking}

    def compared_with(self, other: "Indexed") -> frozenset[str]:
        """The columns of ``key_rows.CONTENT`` that each of the two dumps has in at least some records."""
        both = (self.splits, self.lacking_beside(other)), (other.splits, other.lacking_beside(self))
        lost = {name for splits, lacking in both for name in lacking if splits and splits <= lacking[name]}
        return frozenset(CONTENT) - lost

    def doubted_beside(self, other: "Indexed") -> frozenset[str]:
        """The columns that may differ although records are the same.

        Writers that are doubted in both dumps do not count, as they wrote both alike. Timestamps are doubted
        if an unknown tool may have cut those of one dump to seconds.
        """
        doubted = {column for _, column in self.doubted ^ other.doubted}
        whole = [dump for dump in (self, other) if are_whole_seconds(dump.summaries)]
        is_cut = len(whole) == 1 and not whole[0].is_of_known_tools
        return frozenset(doubted | {"timestamp_ms"} if is_cut else doubted)

    def nulls_beside(self, other: "Indexed") -> frozenset[bytes]:
        """The values of either dump that may be null in the other one."""
        empty = {b""} if "value" in {*self.doubts, *other.doubts} else set()
        return self.words_for_null | other.words_for_null | empty


NOTHING = Indexed({}, {}, is_in_order=True)
"""A dump without records."""


def _indexed(dump: Dump, plan: IndexPlan, packed: Iterable[bytes], dumps: Iterable[Dump]) -> Indexed:
    """The dump whose tasks sent the summaries ``packed``; ``dumps`` are all of the verification.

    Raises InputError for what is refused in a dump, and for doubtful nulls.
    """
    summaries, notes = unpacked(packed)
    by_file = notes_by_file(dump, plan.splits.values(), notes)
    remarks = check_notes(dump, by_file)
    refuse_torn_logs(dump, plan, summaries)
    dialects = {file.dialect for other in dumps if other is not dump for file in other.files}
    refuse_doubted_nulls(dump, by_file, dialects)
    file_ids = {split_id: split.file_id for split_id, split in plan.splits.items()}
    return Indexed(
        {summary.log_id: summary.log for summary in summaries},
        _lacking(dump.files, summaries, file_ids),
        with_incomplete_headers(plan),
        _doubted(dump, by_file),
        (*dump.notes, *remarks),
        tuple(summaries),
        is_named_by_file=any(file.dialect.topic is None for file in dump.files),
        left_out=frozenset(logs_left_out(notes.values())),
        interleaves=overlapping(summaries) and not order_of_files(summaries, file_ids),
        is_in_order=not overlapping(summaries) and not unsorted_files(summaries, file_ids),
        earlier=largest_before(summaries, file_ids),
        paths={split_id: plan.file_of(split).path for split_id, split in plan.splits.items()},
        doubts=doubts_about_nulls(dump, by_file),
        words_for_null=words_for_null(dump, by_file),
        is_of_known_tools=all(file.dialect.sure for file in dump.files),
        has_parsed_values=any(notes.fields_seen.get(PARSED_VALUES) for notes in by_file.values()),
    )


def _doubted(dump: Dump, by_file: Mapping[int, SplitNotes]) -> frozenset[tuple[str, str]]:
    """As ``Indexed.doubted``."""
    may_lack = {file.path for file in dump.files} if may_lack_headers(dump, by_file) else ()
    return frozenset((path, "headers_hash") for path in may_lack) | frozenset(
        (writer_of(file), column)
        for file in dump.files
        for count, column in _DOUBTED.items()
        if by_file[file.file_id].counts.get(count)
    )


def read_dumps(
    send: Send, dumps: Mapping[str, Dump | None], folder: Path, *, folds: bool
) -> tuple[DumpRows, dict[str, Indexed]]:
    """Read each dump of a verification once. ``dumps`` are by kind (``keyed_rows``); None has no records.

    ``folder`` is where progress is counted. ``folds``: one row per key is enough for most keys, so dumps that
    are not small are read folded. Raises InputError, also for doubtful nulls.
    """
    present_dumps = {kind: dump for kind, dump in dumps.items() if dump is not None}
    secret = secrets.token_bytes(SECRET_BYTES)
    plans = {kind: _plan(kind, dump, folder, secret) for kind, dump in present_dumps.items()}
    receivers = _receivers_for([dump for kind, dump in present_dumps.items() if kind != COMMITTED])
    rows = read_rows(send, plans, receivers, folds=folds)
    blocks = rows.first.driver_blocks()
    indexed = {}
    for kind, dump in present_dumps.items():
        packed = (block.content for block in blocks if block.kind == kind)
        indexed[kind] = _indexed(dump, plans[kind], packed, present_dumps.values())
    before, after = indexed.get(BEFORE, NOTHING), indexed.get(AFTER, NOTHING)
    if after.interleaves and not before.interleaves:
        indexed[AFTER] = replace(after, notes=(*after.notes, _INTERLEAVED))
    return rows, indexed


_INTERLEAVED = (
    "files of AFTER hold offsets of a log between those of other files, unlike any of BEFORE: the order of"
    " records is looked at within each file alone"
)


def _plan(kind: str, dump: Dump, folder: Path, hash_secret: bytes) -> IndexPlan:
    kind_folder = folder / kind
    kind_folder.mkdir()
    return plan_index(dump, kind_folder, frozenset() if kind == COMMITTED else COLUMNS, hash_secret)


def _receivers_for(dumps: Iterable[Dump]) -> int:
    """How many tasks share the keys of some dumps: enough that none holds more than a modest share."""
    dump_bytes = sum(file.data_bytes for dump in dumps for file in dump.files)
    return min(1 + dump_bytes // DUMP_BYTES_PER_TASK, MOST_MERGE_TASKS)


def named_alike(before: Indexed, after: Indexed) -> Indexed:
    """AFTER under BEFORE's topic, if each dump holds one topic, and one of these is only a file's name."""
    is_doubtful = before.is_named_by_file or after.is_named_by_file
    if not is_doubtful or len(before.topics) != 1 or len(after.topics) != 1 or before.topics == after.topics:
        return after
    (topic,), (other,) = before.topics, after.topics
    renamed = {log_id: LogName(topic, partition) for log_id, (_, partition) in after.logs.items()}
    return replace(
        after,
        renamed={log_id: log_id_of(*log) for log_id, log in renamed.items()},
        logs={log_id_of(*log): log for log in renamed.values()},
        earlier={(split, log_id_of(*renamed[log])): last for (split, log), last in after.earlier.items()},
        notes=(
            *after.notes,
            f"{other} of AFTER is compared with {topic} of BEFORE: a file's name need not be a topic's",
        ),
    )


def require_offsets(dump: Dump | None, path: str) -> None:
    """Raise InputError for a dump whose records have lost their offsets, by which records are compared."""
    for file in dump.files if dump else ():
        if file.dialect.offset is None:
            raise InputError(
                f"{path}: no offsets in the records of {file.path}, so nobody can say which record is which",
                hint="compare what the two dumps hold with --mode state, or export again with offsets",
            )


def largest_before(
    summaries: Iterable[LogSummary], file_ids: Mapping[int, int]
) -> dict[tuple[int, int], int]:
    """By (split, log): the largest offset of the log in earlier splits of the same file, if there are any.

    ``file_ids`` is the file of each split; summaries come in the order of splits.
    """
    largest: dict[tuple[int, int], int] = {}
    reached: dict[tuple[int, int], int] = {}  # by file and log
    for part in summaries:
        of_file = file_ids[part.split_id], part.log_id
        if of_file in reached:
            largest[part.split_id, part.log_id] = reached[of_file]
        reached[of_file] = max(part.last_offset, reached.get(of_file, -1))
    return largest


def _lacking(
    files: tuple[DumpFile, ...], summaries: list[LogSummary], file_ids: Mapping[int, int]
) -> dict[str, frozenset[int]]:
    """As ``Indexed.lacking``; ``file_ids`` is the file of each split."""
    having = {
        "timestamp_ms": {file_ids[part.split_id] for part in summaries if part.max_timestamp_ms >= 0},
        "headers_hash": {file.file_id for file in files if carries_headers(file)},
    }
    return {
        name: frozenset(split_id for split_id, file_id in file_ids.items() if file_id not in of_files)
        for name, of_files in having.items()
    }
