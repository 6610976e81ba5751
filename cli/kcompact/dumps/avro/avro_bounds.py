"""Limits against hostile Avro: a few bytes can demand all memory of a reader, or never end.

A record may be nested in itself, and an array may have any number of items that take no bytes. fastavro reads
them without a limit, and some thousand levels crash its process. So such records are walked over first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kcompact.dumps.avro.avro_schema import WireSchema, is_record

DEEPEST = 4_000  # levels of values: half of what crashes fastavro; too deep for Java's reader, too
_MOST_EMPTY_FIELDS = 1_000_000  # in a record, beside those that take bytes
_EMPTY_ITEMS_PER_BYTE = 16
_SIZES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8}  # the fewest bytes
_LARGEST_SHIFT = 63


@dataclass
class _Node:
    """A type: the bytes that are read before its children, and its children."""

    kind: str  # "fixed", "long", "bytes", "record", "union", "array" (or map)
    size: int = 0  # of "fixed"
    least_bytes: int = 1  # the fewest that a value takes
    fields: int = 1  # that are read for a value, those in unions and arrays not counted
    children: list["_Node"] = field(default_factory=list)


class AvroBounds:
    """The limits of one schema. Raises ValueError for a schema whose records have no end, or nearly none."""

    def __init__(self, wire: WireSchema) -> None:
        self._wire = wire
        self._records: dict[str, _Node] = {}
        self._open: set[str] = set()
        self.needs_walk = False  # a few bytes may mean values without end
        try:
            self._root = self._node(wire.type)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def check(self, unpacked: bytes) -> None:
        """Raise ValueError if records in these bytes are nested too deeply, or have too many empty items.

        Bytes that do not fit the schema pass: the reader reports them.
        """
        if self.needs_walk:
            try:
                _Walk(unpacked).over(self._root)
            except IndexError:
                return

    def _node(self, kind: Any) -> _Node:
        resolved = self._wire.resolve(kind)
        if isinstance(resolved, list):
            return _Node("union", children=[self._branch(branch) for branch in resolved])
        if isinstance(resolved, str):
            if resolved in _SIZES and resolved not in ("int", "long"):
                return _Node("fixed", _SIZES[resolved], _SIZES[resolved])
            return _Node("long" if resolved in ("int", "long") else "bytes")
        if is_record(resolved):
            return self._record(resolved)
        return self._complex(resolved)

    def _complex(self, kind: dict[str, Any]) -> _Node:
        if kind["type"] == "enum":
            return _Node("long")
        if kind["type"] == "fixed":
            return _Node("fixed", kind["size"], kind["size"])
        if kind["type"] == "map":
            return _Node("array", children=[_Node("bytes"), self._branch(kind["values"])])
        item = self._branch(kind["items"])
        self.needs_walk |= not item.least_bytes
        return _Node("array", children=[item])

    def _branch(self, kind: Any) -> _Node:
        """The node of a type behind at least one byte of a record, which may therefore hold itself there."""
        resolved = self._wire.resolve(kind)
        if is_record(resolved) and resolved["name"] in self._open:
            self.needs_walk = True
            return self._records[resolved["name"]]
        return self._node(kind)

    def _record(self, kind: dict[str, Any]) -> _Node:
        name = kind["name"]
        if name in self._open:
            raise ValueError(f"the record {name} contains itself without end")
        if name in self._records:
            return self._records[name]
        node = self._records[name] = _Node("record")
        self._open.add(name)
        node.children = [self._node(child["type"]) for child in kind["fields"]]
        self._open.remove(name)
        node.least_bytes = sum(child.least_bytes for child in node.children)
        node.fields = 1 + sum(child.fields for child in node.children)
        if node.fields > _MOST_EMPTY_FIELDS + _EMPTY_ITEMS_PER_BYTE * node.least_bytes:
            raise ValueError(f"the record {name} has {node.fields:,} fields that take no bytes")
        return node


class _Walk:
    """A walk over the records of a block, without recursion and without keeping anything."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._empty_items_left = 1_024 + _EMPTY_ITEMS_PER_BYTE * len(data)

    def over(self, root: _Node) -> None:
        """Walk over all records. Raises ValueError at a limit, IndexError where bytes do not fit."""
        while self._at < len(self._data):
            open_values = [iter((root,))]
            while open_values:
                node = next(open_values[-1], None)
                if node is None:
                    open_values.pop()
                    continue
                inner = self._inside(node)
                if inner is not None:
                    open_values.append(inner)
                    if len(open_values) > DEEPEST:
                        raise ValueError(f"values are nested more than {DEEPEST:,} deep")

    def _inside(self, node: _Node) -> Iterator[_Node] | None:
        """Pass over a value, or over the bytes before the values that it holds, and return these."""
        if node.kind == "fixed":
            self._at += node.size
        elif node.kind == "long":
            self._long()
        elif node.kind == "bytes":
            length = self._long()  # in a line of its own, as it moves on
            self._at += max(0, length)
        elif node.kind == "record":
            return iter(node.children)
        elif node.kind == "union":
            return iter((node.children[max(0, self._long())],))
        else:
            return self._items(node)
        return None

    def _items(self, node: _Node) -> Iterator[_Node]:
        """The items of an array or map: runs with a count before each, up to a count of zero."""
        while count := self._long():
            if count < 0:
                self._long()  # the run's size in bytes
            if not any(child.least_bytes for child in node.children):
                self._empty_items_left -= abs(count)
                if self._empty_items_left < 0:
                    raise ValueError(f"an array says that it has {abs(count):,} items, which take no bytes")
                continue
            for _ in range(abs(count)):
                yield from node.children

    def _long(self) -> int:
        shift = value = 0
        while (byte := self._data[self._at]) & 0x80 and shift <= _LARGEST_SHIFT:
            value |= (byte & 0x7F) << shift
            shift += 7
            self._at += 1
        value |= (byte & 0x7F) << shift
        self._at += 1
        return (value >> 1) ^ -(value & 1)
