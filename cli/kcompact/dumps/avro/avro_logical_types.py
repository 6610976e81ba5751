"""Reads decimals and UUIDs within Avro values as text, since their bytes would be unreadable in JSON."""

from decimal import MAX_PREC, Context, Decimal
from typing import Any
from uuid import UUID

from fastavro.read import LOGICAL_READERS

_DIGITS = "digits"  # fastavro's own reader rounds decimals of more digits than are declared
_UUID = "uuid of bytes"
_LARGEST_SCALE = 1000
_UUID_BYTES = 16


def marks_of_text(schema: dict[str, Any]) -> dict[str, Any]:
    """Members to add to a schema so that its decimal or UUID is read as text; empty for other types.

    A decimal with an invalid scale is read as bytes, as Avro's specification asks.
    """
    logical, scale = schema.get("logicalType"), schema.get("scale", 0)
    if logical == "decimal" and schema["type"] in ("bytes", "fixed"):
        is_scale = type(scale) is int and 0 <= scale <= _LARGEST_SCALE
        return {"logicalType": _DIGITS, "scale": scale} if is_scale else {}
    is_uuid = logical == "uuid" and schema["type"] == "fixed" and schema["size"] == _UUID_BYTES
    return {"logicalType": _UUID} if is_uuid else {}


def _digits(data: bytes, schema: Any, _: Any) -> str:
    """A decimal in two's complement as text, such as ``-12.50``, with exactly its digits."""
    unscaled = Decimal(int.from_bytes(data, "big", signed=True))
    return format(unscaled.scaleb(-schema["scale"], Context(prec=MAX_PREC)), "f")


LOGICAL_READERS |= {f"bytes-{_DIGITS}": _digits, f"fixed-{_DIGITS}": _digits}
LOGICAL_READERS[f"fixed-{_UUID}"] = lambda data, *_: str(UUID(bytes=data))
