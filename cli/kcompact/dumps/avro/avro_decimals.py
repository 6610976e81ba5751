"""Avro's decimals as their digits: in Avro they are whole numbers of bytes, which nobody can read in JSON."""

from decimal import MAX_PREC, Context, Decimal
from typing import Any

from fastavro.read import LOGICAL_READERS

_LOGICAL_TYPE = "digits"  # fastavro's own reader of decimals rounds those of more digits than are declared
_LARGEST_SCALE = 1000


def decimal_marks(schema: dict[str, Any]) -> dict[str, Any]:
    """The members that have a decimal read as text; none for another type, or one that is not valid.

    A decimal whose scale cannot be is what its bytes are, as Avro's specification asks.
    """
    scale = schema.get("scale", 0)
    is_decimal = schema.get("logicalType") == "decimal" and schema["type"] in ("bytes", "fixed")
    if is_decimal and type(scale) is int and 0 <= scale <= _LARGEST_SCALE:
        return {"logicalType": _LOGICAL_TYPE, "scale": scale}
    return {}


def _digits(data: bytes, schema: Any, _: Any) -> str:
    """A decimal of two's complement as text, such as ``-12.50``: its digits, none more and none less."""
    unscaled = Decimal(int.from_bytes(data, "big", signed=True))
    return format(unscaled.scaleb(-schema["scale"], Context(prec=MAX_PREC)), "f")


LOGICAL_READERS |= {f"bytes-{_LOGICAL_TYPE}": _digits, f"fixed-{_LOGICAL_TYPE}": _digits}
