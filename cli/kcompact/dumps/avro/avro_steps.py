"""A schema as a list of steps that walk over one record of many blocks at once.

Every block is a lane. A step takes, for each lane, where it stands in the unpacked bytes, and returns where
it stands behind its field; fields that are asked for leave their values in columns.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_schema import Path, WireSchema, branches, is_bytes, is_integer

Array = np.ndarray
Step = Callable[["Lanes", Array, Array], Array]
"""(lanes, where each lane stands, the row of each lane's record) to where each lane stands afterwards."""

PADDING_BYTES = 32  # words are read over the end of the last block
ABSENT = -1  # length of a null
_FIXED_BYTES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_MORE = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONE = np.uint64(1)
# Masks and shifts that push eight groups of seven bits together, two, four and eight at a time.
_FOLDS = [
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), _ONE),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
]


class Misfit(Exception):  # noqa: N818  it sends a chunk to the exact reader, no user sees it
    """The bytes do not fit the steps: damage, or something rare that only the exact reader knows."""


@dataclass
class Lanes:
    """The unpacked blocks side by side, and the columns that the steps fill (one entry a record)."""

    data: Array  # uint8, PADDING_BYTES longer than the blocks
    rows: int
    columns: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.end = len(self.data) - PADDING_BYTES
        self.words = np.ndarray((len(self.data) - 7,), "<u8", self.data, strides=(1,))

    def column(self, name: str, fill: int) -> Array:
        """The column of this name, made on first use."""
        if name not in self.columns:
            self.columns[name] = np.full(self.rows, fill, dtype=np.int64)
        return self.columns[name]

    def checked(self, at: Array) -> Array:
        """``at``, if it lies within the blocks. Raises Misfit."""
        if len(at) and int(at.view(np.uint64).max()) > self.end:  # as such, negative ones are the largest
            raise Misfit
        return at

    def longs(self, at: Array) -> tuple[Array, Array]:
        """Avro's long at each place, and where it ends."""
        first = self.data[at]
        if not (first & 0x80).any():
            small = first.astype(np.int64)
            return (small >> 1) ^ -(small & 1), at + 1
        words = self.words[at]
        stops = ~words & _MORE
        below = (stops & (~stops + _ONE)) - _ONE
        words &= below & _SEVENS
        for low, high, shift in _FOLDS:
            words = (words & low) | ((words & high) >> shift)
        sizes = (np.bitwise_count(below) >> 3).astype(np.int64) + 1
        if not stops.all():
            longer = np.flatnonzero(stops == 0)
            words[longer], sizes[longer] = self._tails(at[longer], words[longer])
        return ((words >> _ONE) ^ (~(words & _ONE) + _ONE)).view(np.int64), at + sizes

    def _tails(self, at: Array, words: Array) -> tuple[Array, Array]:
        """Words and sizes of longs that take nine bytes or ten."""
        ninth = self.data[at + 8].astype(np.uint64)
        words |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        has_tenth = ninth >= np.uint64(0x80)
        tenth = np.where(has_tenth, self.data[at + 9].astype(np.uint64), np.uint64(0))
        if (tenth > _ONE).any():
            raise Misfit
        return words | tenth << np.uint64(63), 9 + has_tenth.astype(np.int64)


def skip_fixed(size: int) -> Step:
    """A field of ``size`` bytes."""
    return lambda lanes, at, _rows: lanes.checked(at + size)


def skip_long(lanes: Lanes, at: Array, _rows: Array) -> Array:
    """A whole number that nobody asks for."""
    return lanes.longs(at)[1]


def keep_long(name: str) -> Step:
    """A whole number, into a column; ``NAME.there`` says where there is one."""

    def step(lanes: Lanes, at: Array, rows: Array) -> Array:
        values, at = lanes.longs(at)
        lanes.column(name, 0)[rows] = values
        lanes.column(f"{name}.there", 0)[rows] = 1
        return at

    return step


def skip_bytes(lanes: Lanes, at: Array, _rows: Array) -> Array:
    """Bytes with their length before them."""
    lengths, at = lanes.longs(at)
    if int(lengths.min()) < 0:
        raise Misfit
    return lanes.checked(at + lengths)


def keep_range(name: str, step: Step) -> Step:
    """Where a field lies, into the columns ``NAME.start`` and ``NAME.length`` (ABSENT: null)."""

    def keep(lanes: Lanes, at: Array, rows: Array) -> Array:
        start = at.copy()  # steps may write into what they are given
        end = step(lanes, at, rows)
        lanes.column(f"{name}.start", 0)[rows] = start
        lanes.column(f"{name}.length", ABSENT)[rows] = end - start
        return end

    return keep


def keep_bytes(name: str) -> Step:
    """Where bytes lie, without the length before them, into columns as ``keep_range`` has them."""

    def step(lanes: Lanes, at: Array, rows: Array) -> Array:
        lengths, start = lanes.longs(at)
        if int(lengths.min()) < 0:
            raise Misfit
        lanes.column(f"{name}.start", 0)[rows] = start
        lanes.column(f"{name}.length", ABSENT)[rows] = lengths
        return lanes.checked(start + lengths)

    return step


def keep_present(name: str, step: Step) -> Step:
    """Whether there is a field, into the column ``NAME.there``."""

    def keep(lanes: Lanes, at: Array, rows: Array) -> Array:
        lanes.column(f"{name}.there", 0)[rows] = 1
        return step(lanes, at, rows)

    return keep


def union(steps: list[Step]) -> Step:
    """One of several types, told by a number before it; lanes go their own ways and meet again."""

    def step(lanes: Lanes, at: Array, rows: Array) -> Array:
        chosen, at = lanes.longs(at)
        first = int(chosen[0])
        if not 0 <= first < len(steps) or int(chosen.min()) < 0 or int(chosen.max()) >= len(steps):
            raise Misfit
        if (chosen == first).all():
            return steps[first](lanes, at, rows)
        for number, branch in enumerate(steps):
            here = np.flatnonzero(chosen == number)
            if len(here):
                at[here] = branch(lanes, at[here], rows[here])
        return at

    return step


def record(steps: list[Step]) -> Step:
    """One field after another."""

    def step(lanes: Lanes, at: Array, rows: Array) -> Array:
        for child in steps:
            at = child(lanes, at, rows)
        return at

    return step


def repeated(item: Step) -> Step:
    """Arrays and maps: runs of items with a count before them, until a count of zero."""

    def step(lanes: Lanes, at: Array, rows: Array) -> Array:
        live = np.arange(len(at))
        while len(live):
            counts, at[live] = lanes.longs(at[live])
            live, counts = live[counts != 0], counts[counts != 0]
            if len(counts) and int(np.abs(counts).max()) > lanes.end:
                raise Misfit
            sized = live[counts < 0]  # the run's size in bytes follows: no need to look into it
            if len(sized):
                at[sized] = skip_bytes(lanes, at[sized], rows)
            _items(lanes, at, (live[counts > 0], counts[counts > 0]), item)
        return at

    return step


def _items(lanes: Lanes, at: Array, left: tuple[Array, Array], item: Step) -> None:
    live, counts = left
    while len(live):
        at[live] = item(lanes, at[live], live)
        counts = counts - 1
        live, counts = live[counts > 0], counts[counts > 0]


def _kept_bytes(role: str, step: Step, branch: Any) -> Step:
    return keep_bytes(role) if branch == "bytes" else keep_range(role, step)


def compile_steps(wire: WireSchema, paths: dict[str, Path], *, contents: bool = False) -> Step | None:
    """The steps over one record, keeping what ``paths`` name; None for what steps cannot express.

    ``contents``: not only whether there is a value is kept, but where it and the headers lie.
    """
    roles = {path: role for role, path in paths.items()}
    if AvroBounds(wire).needs_walk:
        return None
    try:
        return _Compiler(wire, roles, contents).step((), wire.type, frozenset())
    except Misfit:
        return None


@dataclass(frozen=True)
class _Compiler:
    wire: WireSchema
    roles: dict[Path, str]
    contents: bool
    skipped: dict[str, Step] = field(default_factory=dict)  # records without a role, by their names

    def step(self, path: Path | None, kind: Any, above: frozenset[str]) -> Step:
        """The step over a field; ``path`` None is inside of arrays and maps. Raises Misfit."""
        if path is not None and not any(path == of_role[: len(path)] for of_role in self.roles):
            path = None
        role = self.roles.get(path) if path is not None else None
        if role is not None:
            return self._kept(role, kind, above)
        return self._skipped(path, self.wire.resolve(kind), above)

    def _skipped(self, path: Path | None, kind: Any, above: frozenset[str]) -> Step:
        if isinstance(kind, list):
            return union([self._skipped(path, self.wire.resolve(branch), above) for branch in kind])
        if isinstance(kind, str):
            if kind in ("int", "long"):
                return skip_long
            return skip_bytes if kind in ("bytes", "string") else skip_fixed(_FIXED_BYTES[kind])
        return self._complex(path, kind, above)

    def _complex(self, path: Path | None, kind: dict[str, Any], above: frozenset[str]) -> Step:
        name, type_ = kind.get("name", ""), kind["type"]
        if type_ == "enum":
            return skip_long
        if type_ == "fixed":
            return skip_fixed(kind["size"])
        if type_ == "array":
            return repeated(self.step(None, kind["items"], above))
        if type_ == "map":
            return repeated(record([skip_bytes, self.step(None, kind["values"], above)]))
        if type_ not in ("record", "error") or name in above:
            raise Misfit  # a record within itself
        if path is None and name in self.skipped:
            return self.skipped[name]
        children = [
            self.step(None if path is None else (*path, child["name"]), child["type"], above | {name})
            for child in kind["fields"]
        ]
        return record(children) if path is not None else self.skipped.setdefault(name, record(children))

    def _kept(self, role: str, kind: Any, above: frozenset[str]) -> Step:
        if role == "value" and not self.contents:
            return self._each_branch(kind, above, lambda step, _: keep_present("value", step))
        if role == "value" and not is_bytes(self.wire, kind):
            raise Misfit  # told as text that only the exact reader writes
        if is_integer(kind) and role != "topic":
            return self._each_branch(kind, above, lambda _step, _: keep_long(role))
        if role in ("topic", "key", "value") and is_bytes(self.wire, kind):
            return self._each_branch(kind, above, lambda step, branch: _kept_bytes(role, step, branch))
        if role in ("key", "headers") and len(branches(kind)) == 1:
            return self._each_branch(kind, above, lambda step, _: keep_range(role, step))
        raise Misfit

    def _each_branch(self, kind: Any, above: frozenset[str], keep: Callable[[Step, Any], Step]) -> Step:
        """``keep`` around every type but null that the field can have."""

        def one(branch: Any) -> Step:
            resolved = self.wire.resolve(branch)
            step = self._skipped(None, resolved, above)
            return step if branch == "null" else keep(step, resolved)

        return union([one(branch) for branch in kind]) if isinstance(kind, list) else one(kind)
