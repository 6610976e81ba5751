"""Avro records one by one with fastavro: exact for every schema, a few hundred thousand records a second."""

import io
import itertools
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import fastavro

from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_schema import Path, WireSchema, branches, is_plain

DAMAGE = (EOFError, IndexError, KeyError, MemoryError, OverflowError, TypeError, ValueError, struct.error)
"""The errors that fastavro raises on bytes that do not fit the schema."""

_PADDING = bytes(16)
"""Follows a block's last byte: fastavro reads a cut field without an error, so running over must show."""


class Datum(NamedTuple):
    """One record of a block: its byte range in the unpacked block, its fields, the bytes of some of them."""

    position: int
    record_bytes: int
    values: dict[Path, Any]
    raw: dict[Path, bytes]

    def at(self, path: Path) -> Any:
        """The value at the path; None where a record on the way is null."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                return _inside(self.values[path[:length]], path[length:])
        raise KeyError(path)


def _inside(value: Any, names: Path) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


class RecordReader:
    """Reads the records of unpacked blocks through the wire schema.

    Neighbouring fields are read in one call. Those among ``exact`` that do not stand for bytes by themselves
    are read alone, so that the bytes they are made of are known.
    """

    def __init__(self, wire: WireSchema, exact: frozenset[Path]) -> None:
        self._bounds = AvroBounds(wire)
        leaves = [
            (path, kind, path in exact and not is_plain(wire, kind)) for path, kind in wire.leaves(exact)
        ]
        self._parts: list[tuple[list[Path], Any, bool]] = []
        for alone, group in itertools.groupby(leaves, key=lambda leaf: leaf[2]):
            members = [(path, kind) for path, kind, _ in group]
            for run in [[member] for member in members] if alone else [members]:
                self._parts.append(([path for path, _ in run], _parsed(wire, run, alone=alone), alone))
        self._branch_bytes = {path: branch_bytes(kind) for path, kind, alone in leaves if alone}

    def read(self, unpacked: bytes) -> Iterator[Datum]:
        """Records one after another, without end: the caller knows how many. Raises DAMAGE."""
        self._bounds.check(unpacked)
        stream = io.BytesIO(unpacked + _PADDING)
        position = 0
        while True:
            values: dict[Path, Any] = {}
            raw: dict[Path, bytes] = {}
            for paths, schema, alone in self._parts:
                begin = stream.tell()
                value: Any = fastavro.schemaless_reader(
                    stream, schema, None, handle_unicode_errors="surrogateescape"
                )
                if alone:
                    values[paths[0]] = value
                    raw[paths[0]] = unpacked[begin + self._branch_bytes[paths[0]] : stream.tell()]
                else:
                    values.update(zip(paths, value.values(), strict=True))
            end = stream.tell()
            if end > len(unpacked):
                raise EOFError("a record runs over the end of its block")
            yield Datum(position, end - position, values, raw)
            position = end


def branch_bytes(kind: Any) -> int:
    """How many bytes of a union's branch say nothing: the first, with one branch beside null."""
    return 1 if isinstance(kind, list) and len(branches(kind)) == 1 else 0


def _parsed(wire: WireSchema, run: list[tuple[Path, Any]], *, alone: bool) -> Any:
    if alone:
        return wire.parsed(run[0][1])
    fields = [{"name": f"f{number}", "type": kind} for number, (_, kind) in enumerate(run)]
    return wire.parsed({"type": "record", "name": "Part", "fields": fields})
