"""Compiles a writer's schema into a flat table of steps over one record, which the Avro loop follows."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_schema import WireSchema, branches, is_bytes, is_integer
from kcompact.dumps.dialects.paths import Path

# Rows of ``spans``: the parts of a record.
TOPIC, PARTITION, OFFSET, TIMESTAMP, KEY, VALUE, HEADERS = range(7)
ROLES = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")

# Steps over a field that nobody asks for.
FIXED, LONG, BYTES, ENUM = range(4)
# Steps that keep a field: a whole number, bytes after their length, all bytes between BEGIN and FINISH, or
# only that it is there.
KEEP_LONG, KEEP_BYTES, BEGIN, FINISH, THERE = range(4, 9)
# Steps that lead elsewhere.
UNION, JUMP, ITEMS, NEXT_ITEM, CALL, RETURN, END = range(9, 16)

_FIXED_BYTES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_Step = list[int]


class AvroProgram(NamedTuple):
    """Rows of ``steps`` are (step, argument, second argument); a record ends with END.

    The first argument is: for FIXED its size, for ENUM the number of symbols, for a step that keeps a field
    the part of a record, for UNION the number of branches, and for JUMP, CALL and ITEMS without items the row
    of the next step. UNION's second argument is the place of its first branch in ``branch_starts``.
    """

    steps: np.ndarray  # int64 of shape (steps, 3)
    branch_starts: np.ndarray  # int64: rows of ``steps``
    deepest: int  # the most arrays and calls that are open at a time


class NotCovered(Exception):  # noqa: N818  no user sees it
    """Raised for a schema, or a part of a record in it, that only the reference can read."""


def compile_program(wire: WireSchema, paths: dict[str, Path], *, contents: bool) -> AvroProgram | None:
    """The steps over one record, which keep the parts that ``paths`` name.

    With ``contents`` they keep the places of value and headers, otherwise only whether there is a value. None
    for a schema that only the reference can read.
    """
    named = paths.values()
    nested = any(outer != inner and outer == inner[: len(outer)] for outer in named for inner in named)
    if nested or AvroBounds(wire).needs_walk:
        return None
    try:
        return _Compiler(wire, {path: role for role, path in paths.items()}, contents).program()
    except (NotCovered, RecursionError):
        return None


@dataclass
class _Compiler:
    wire: WireSchema
    roles: dict[Path, str]
    contents: bool
    steps: list[_Step] = field(default_factory=list)
    branch_starts: list[int] = field(default_factory=list)
    called: dict[str, list[_Step]] = field(default_factory=dict)  # the CALLs of each record, by its name

    def program(self) -> AvroProgram:
        """The finished program. Raises NotCovered."""
        self._field((), self.wire.type, is_sure=True)
        self._add(END)
        starts: dict[str, int] = {}
        while len(starts) < len(self.called):
            name = list(self.called)[len(starts)]
            starts[name] = len(self.steps)
            for child in self.wire.resolve(name)["fields"]:
                self._skip(None, child["type"], is_sure=False)
            self._add(RETURN)
        for name, calls in self.called.items():
            for call in calls:
                call[1] = starts[name]
        deepest = len(starts) + sum(step[0] == ITEMS for step in self.steps) + 1
        branch_starts = np.array([*self.branch_starts, 0], np.int64)
        return AvroProgram(np.array(self.steps, np.int64), branch_starts, deepest)

    def _add(self, step: int, first: int = 0, second: int = 0) -> _Step:
        self.steps.append([step, first, second])
        return self.steps[-1]

    def _field(self, path: Path, kind: Any, *, is_sure: bool) -> None:
        """Add the steps over the field at a path. ``is_sure``: no record around it can be null."""
        role = self.roles.get(path)
        if role is not None:
            self._keep(role, kind, is_sure=is_sure)
        else:
            leads_on = any(path == of_role[: len(path)] for of_role in self.roles)
            self._skip(path if leads_on else None, kind, is_sure=is_sure)

    def _skip(self, path: Path | None, kind: Any, *, is_sure: bool) -> None:
        """Add the steps past a field that is not kept; ``path`` is None if nothing in it is kept either."""
        resolved = self.wire.resolve(kind)
        if isinstance(resolved, list):
            self._union(resolved, lambda branch: self._skip(path, branch, is_sure=False))
        elif isinstance(resolved, str):
            self._skip_primitive(resolved)
        elif resolved["type"] in ("record", "error"):
            self._record(path, resolved, is_sure=is_sure)
        elif path is not None and resolved["type"] == "map":
            raise NotCovered("a part of a record is in a map")
        else:
            self._skip_complex(resolved)

    def _skip_primitive(self, kind: str) -> None:
        if kind in ("int", "long"):
            self._add(LONG)
        elif kind in ("bytes", "string"):
            self._add(BYTES)
        else:
            self._add(FIXED, _FIXED_BYTES[kind])

    def _record(self, path: Path | None, kind: dict[str, Any], *, is_sure: bool) -> None:
        if path is None:
            self.called.setdefault(kind["name"], []).append(self._add(CALL))
            return
        for child in kind["fields"]:
            self._field((*path, child["name"]), child["type"], is_sure=is_sure)

    def _skip_complex(self, kind: dict[str, Any]) -> None:
        if kind["type"] == "enum":
            self._add(ENUM, len(kind["symbols"]))
        elif kind["type"] == "fixed":
            self._add(FIXED, kind["size"])
        else:
            items = self._add(ITEMS)
            if kind["type"] == "map":
                self._add(BYTES)
            self._skip(None, kind["values" if kind["type"] == "map" else "items"], is_sure=False)
            self._add(NEXT_ITEM)
            items[1] = len(self.steps)

    def _union(self, kinds: list[Any], add_branch: Any) -> None:
        first = len(self.branch_starts)
        self._add(UNION, len(kinds), first)
        self.branch_starts += [0] * len(kinds)
        jumps = []
        for number, kind in enumerate(kinds):
            self.branch_starts[first + number] = len(self.steps)
            add_branch(kind)
            jumps.append(self._add(JUMP))
        for jump in jumps:
            jump[1] = len(self.steps)

    def _keep(self, role: str, kind: Any, *, is_sure: bool) -> None:
        self._check(role, kind, is_sure=is_sure)
        if isinstance(kind, list):
            self._union(kind, lambda branch: self._keep_branch(role, branch))
        else:
            self._keep_branch(role, kind)

    def _check(self, role: str, kind: Any, *, is_sure: bool) -> None:
        """Raise NotCovered for a type of which only the reference can make this part of a record."""
        is_whole = is_integer(kind)
        if role == "value":
            covered = not self.contents or is_bytes(self.wire, kind)
        elif role in ("partition", "offset", "timestamp"):
            covered = is_whole
        elif role == "topic":
            covered = is_bytes(self.wire, kind)
        elif role == "key":
            # Left to the reference: a structured key in a record that may be null, which it writes anew, and
            # doubles, which it may refuse.
            is_kept = is_sure and len(branches(kind)) == 1 and branches(kind)[0] not in ("float", "double")
            covered = is_whole or is_bytes(self.wire, kind) or is_kept
        else:
            covered = len(branches(kind)) == 1
        if not covered:
            raise NotCovered(role)

    def _keep_branch(self, role: str, kind: Any) -> None:
        resolved, number = self.wire.resolve(kind), ROLES.index(role)
        if resolved == "null":
            self._add(FIXED, 0)
        elif role == "value" and not self.contents:
            self._add(THERE, number)
            self._skip(None, kind, is_sure=False)
        elif resolved in ("int", "long") and role != "headers":
            self._add(KEEP_LONG, number)
        elif resolved == "bytes" and role != "headers":
            self._add(KEEP_BYTES, number)
        else:
            self._add(BEGIN, number)
            self._skip(None, kind, is_sure=False)
            self._add(FINISH, number)
