"""The state between two rounds, which a broker's disk holds and a dump does not, as three small texts.

They are ``cleaner-offset-checkpoint``, ``delete-horizons``, and ``output.json``, which names the compacted
dump to which the other two belong. They are files of a folder, or one object on a store
(``state_places.py``).
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.checkpoint import CHECKPOINT_NAME, format_checkpoint, parse_checkpoint
from kcompact.broker.delete_horizons import (
    HORIZONS_NAME,
    DeleteHorizon,
    format_delete_horizons,
    parse_delete_horizons,
)
from kcompact.broker.log_names import LogName
from kcompact.broker.state.known_records import KnownRecord
from kcompact.broker.state.state_output import START_ANEW, OutputFile, digest_of
from kcompact.broker.text_lines import shown
from kcompact.errors import InputError

OUTPUT_NAME = "output.json"
STATE_NAMES = (HORIZONS_NAME, CHECKPOINT_NAME, OUTPUT_NAME)
"""``output.json`` comes last, as it holds the digests of the others."""
SCHEMA_VERSION = 1  # of ``output.json``
T = TypeVar("T")


@dataclass(frozen=True)
class CleanerState:
    """The content of a state. ``files`` None: it is only a checkpoint, such as one copied from a broker.

    ``last_offsets`` has an entry for each log that the output holds, none for a log that the run left out.
    ``key_options`` are the options by which keys were read (None: not known). ``undecided_from`` has the
    first undecided offset of each log that had undecided transactions. ``aborted`` holds aborted data that no
    round has reached, so that the output may still hold it; rounds removed aborted data below
    ``removed_aborts_end_offsets``.
    """

    checkpoint: Mapping[LogName, int] = field(default_factory=dict)
    horizons: Mapping[LogName, tuple[DeleteHorizon, ...]] = field(default_factory=dict)
    last_offsets: Mapping[LogName, int] = field(default_factory=dict)
    files: tuple[OutputFile, ...] | None = None
    records: Mapping[LogName, tuple[KnownRecord, ...]] = field(default_factory=dict)
    key_options: str | None = None
    undecided_from: Mapping[LogName, int] = field(default_factory=dict)
    aborted: Mapping[LogName, tuple[AbortedRange, ...]] = field(default_factory=dict)
    removed_aborts_end_offsets: Mapping[LogName, int] = field(default_factory=dict)

    @property
    def logs(self) -> frozenset[LogName]:
        """All logs that the state knows, of which not every one has a checkpoint."""
        return frozenset({**self.checkpoint, **self.last_offsets, **self.records})

    def beside(self, first_offsets: Mapping[LogName, int]) -> "CleanerState":
        """The state for a round on its output and other files, which have these first offsets by log.

        A log that the state's run left out is cleaned from its start, as is one that the files hold once
        more.
        """
        ends = {log: max(self.checkpoint.get(log, 0), last + 1) for log, last in self.last_offsets.items()}
        continued = {log for log, end in ends.items() if first_offsets.get(log, end) >= end}
        return replace(self, checkpoint=_only(continued, self.checkpoint))

    def followed_by(self, later: "CleanerState") -> "CleanerState":
        """The ``later`` state, with this state's entries of logs that the later one does not know.

        A log that was given in full once more, and in which nothing could be cleaned, has no checkpoint then.
        """
        left_out = self.logs - later.logs
        return replace(
            later,
            checkpoint={**_only(left_out, self.checkpoint), **later.checkpoint},
            undecided_from={**_only(left_out, self.undecided_from), **later.undecided_from},
            horizons={**self.horizons, **later.horizons},
            records={**self.records, **later.records},
            aborted={**self.aborted, **later.aborted},
            removed_aborts_end_offsets={
                **self.removed_aborts_end_offsets,
                **later.removed_aborts_end_offsets,
            },
        )


def _only(logs: Collection[LogName], offsets: Mapping[LogName, int]) -> dict[LogName, int]:
    return {log: offset for log, offset in offsets.items() if log in logs}


def texts_of(state: CleanerState) -> dict[str, str]:
    """The texts of a state by name, in the order of STATE_NAMES.

    Raises InputError for a topic (a file may have named it so) that could not be read back as one word.
    """
    for topic in sorted({log.topic for log in state.logs}):
        if topic.split() != [topic] or topic.startswith("#"):
            raise InputError(
                f"a state cannot hold the log of a topic {shown(topic)!r}: Kafka allows no such name",
                hint="if that is a file's name, rename it, or put it below a folder such as topic=orders/",
            )
    texts = {
        HORIZONS_NAME: format_delete_horizons(state.horizons),
        CHECKPOINT_NAME: format_checkpoint(state.checkpoint),
    }
    if state.files is not None:
        vouched = {name: digest_of(text) for name, text in texts.items()}
        texts[OUTPUT_NAME] = format_output(state, vouched)
    return texts


def state_of(texts: Mapping[str, str], place: str) -> CleanerState:
    """The state of these texts, each of which may be missing.

    Raises InputError, in which the texts are named as files in ``place``.
    """

    def named(name: str) -> str:
        return f"{place.rstrip('/')}/{name}"

    state, vouched = CleanerState(), dict[str, str]()
    if OUTPUT_NAME in texts:
        state, vouched = parse_output(texts[OUTPUT_NAME], named(OUTPUT_NAME))
    for name, digest in vouched.items():  # before the texts are parsed, so that damage is reported as such
        if name not in texts or digest_of(texts[name]) != digest:
            raise InputError(
                f"{named(name)}: not the file that {OUTPUT_NAME} was written with; perhaps a run died while"
                " it wrote the state, or the file was damaged or edited",
                hint=START_ANEW,
            )
    checkpoint = parse_checkpoint(texts.get(CHECKPOINT_NAME, ""), named(CHECKPOINT_NAME))
    horizons = parse_delete_horizons(texts.get(HORIZONS_NAME, ""), named(HORIZONS_NAME))
    if state.files is None and horizons:  # which no broker writes
        raise InputError(
            f"{named(HORIZONS_NAME)}: horizons without {OUTPUT_NAME}, which names their dump",
            hint=START_ANEW,
        )
    return replace(state, checkpoint=checkpoint, horizons=horizons)


def parse_output(text: str, path: str) -> tuple[CleanerState, dict[str, str]]:
    """A state without checkpoint and horizons, and the digests of the texts of these by name.

    Raises InputError, which names ``path``, for anything that kcompact did not write.
    """
    try:
        content = json.loads(text)
        return _output({SCHEMA_VERSION: content}[content["schema_version"]])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: not written by kcompact: {shown(str(error))}", hint=START_ANEW) from error


def _output(content: dict[str, Any]) -> tuple[CleanerState, dict[str, str]]:
    """The content of ``output.json``. Raises ValueError, KeyError or TypeError for any other content."""
    state = CleanerState(
        last_offsets=_offsets(content["last_offsets"]),
        files=tuple(
            OutputFile(_of(str, file["name"]), _of(int, file["size_bytes"]), _of(str, file["sha256"]))
            for file in content["files"]
        ),
        records={
            LogName(_of(str, topic), _of(int, partition)): tuple(map(_known_record, records))
            for topic, partition, records in content.get("records", [])
        },
        key_options=None if content.get("key_options") is None else _of(str, content["key_options"]),
        undecided_from=_offsets(content.get("undecided_from", [])),
        aborted={
            LogName(_of(str, topic), _of(int, partition)): tuple(
                AbortedRange(_of(int, first_offset), _of(int, last_offset))
                for first_offset, last_offset in ranges
            )
            for topic, partition, ranges in content.get("aborted", [])
        },
        removed_aborts_end_offsets=_offsets(content.get("removed_aborts_end_offsets", [])),
    )
    return state, {_of(str, name): _of(str, digest) for name, digest in content["sha256"].items()}


def _offsets(rows: list[list[Any]]) -> dict[LogName, int]:
    return {
        LogName(_of(str, topic), _of(int, partition)): _of(int, offset) for topic, partition, offset in rows
    }


def _rows(offsets: Mapping[LogName, int]) -> list[list[str | int]]:
    return [[*log, offset] for log, offset in sorted(offsets.items())]


def _known_record(fields: list[Any]) -> KnownRecord:
    offset, timestamp_ms, is_tombstone, is_kept, key_sha256 = fields
    return KnownRecord(
        _of(int, offset),
        _of(int, timestamp_ms),
        _of(bool, is_tombstone),
        _of(bool, is_kept),
        None if key_sha256 is None else _of(str, key_sha256),
    )


def _of(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise ValueError(f"{type(value).__name__} where {kind.__name__} is expected")
    return value


def format_output(state: CleanerState, vouched: Mapping[str, str]) -> str:
    """The text of ``output.json``. ``vouched`` holds the digests of the state's other texts by name."""
    content: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "files": [asdict(file) for file in state.files or ()],
        "last_offsets": _rows(state.last_offsets),
        "undecided_from": _rows(state.undecided_from),
        "aborted": [
            [*log, [(run.first_offset, run.last_offset) for run in ranges]]
            for log, ranges in sorted(state.aborted.items())
        ],
        "removed_aborts_end_offsets": _rows(state.removed_aborts_end_offsets),
        "key_options": state.key_options,
        "records": [[*log, records] for log, records in sorted(state.records.items())],
        "sha256": dict(vouched),
    }
    return json.dumps(content, indent=2) + "\n"
