"""``output.json`` of a state folder: which compacted dump and which files beside it it belongs to."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kcompact.broker.log_names import LogName
from kcompact.broker.state.known_records import KnownRecord
from kcompact.broker.text_lines import shown
from kcompact.errors import InputError

OUTPUT_NAME = "output.json"
SCHEMA_VERSION = 1
T = TypeVar("T")
START_ANEW = (
    "start a new --state folder, and give it all records: a full dump, or the last run's output together with"
    " the new records; tombstones then only stay longer"
)
"""For a state that is of no use any more."""
WHOLE_DUMP_ALONE = (
    "start a new --state folder only where the inputs hold all records, as a full dump does: tombstones then"
    " only stay longer"
)
GIVE_OUTPUT = f"give the last run's output together with the new records; {WHOLE_DUMP_ALONE}"
"""For inputs that are not those of the state."""


@dataclass(frozen=True)
class OutputFile:
    """One file of the compacted dump that a state belongs to; it is found again by content, not by name."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class StateOutput:
    """The dump's files, each log's last offset and a few of its records, digests of the state's files."""

    files: tuple[OutputFile, ...]
    last_offsets: Mapping[LogName, int]
    records: Mapping[LogName, tuple[KnownRecord, ...]]
    vouched: Mapping[str, str]  # file name in the state folder -> SHA-256 of its text
    key_options: str | None = None  # by which keys were read; None: not known
    undecided_from: Mapping[LogName, int] = field(default_factory=dict)  # last stable offsets before log ends


def output_file(path: Path) -> OutputFile:
    """Size and SHA-256 of a file as it is on disk."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return OutputFile(path.name, path.stat().st_size, digest.hexdigest())


def digest_of(text: str) -> str:
    """SHA-256 of a small text file."""
    return hashlib.sha256(text.encode()).hexdigest()


def parse_output(text: str, path: str) -> StateOutput:
    """The content of the file. Raises InputError, naming ``path``, for anything that we did not write."""
    try:
        content = json.loads(text)
        return _output({SCHEMA_VERSION: content}[content["schema_version"]])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: not written by kcompact: {shown(str(error))}", hint=START_ANEW) from error


def _output(content: dict[str, Any]) -> StateOutput:
    """Raises ValueError and the like for any value of another type than ``format_output`` writes."""
    return StateOutput(
        tuple(
            OutputFile(_of(str, file["name"]), _of(int, file["size_bytes"]), _of(str, file["sha256"]))
            for file in content["files"]
        ),
        _offsets(content["last_offsets"]),
        {
            LogName(_of(str, topic), _of(int, partition)): tuple(map(_known_record, records))
            for topic, partition, records in content.get("records", [])
        },
        {_of(str, name): _of(str, digest) for name, digest in content["sha256"].items()},
        None if content.get("key_options") is None else _of(str, content["key_options"]),
        _offsets(content.get("undecided_from", [])),
    )


def _offsets(rows: list[list[Any]]) -> dict[LogName, int]:
    return {
        LogName(_of(str, topic), _of(int, partition)): _of(int, offset) for topic, partition, offset in rows
    }


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


def format_output(output: StateOutput) -> str:
    """The file's text."""
    content: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "files": [asdict(file) for file in output.files],
        "last_offsets": [[*log, last_offset] for log, last_offset in sorted(output.last_offsets.items())],
        "undecided_from": [[*log, offset] for log, offset in sorted(output.undecided_from.items())],
        "key_options": output.key_options,
        "records": [[*log, records] for log, records in sorted(output.records.items())],
        "sha256": dict(output.vouched),
    }
    return json.dumps(content, indent=2) + "\n"
