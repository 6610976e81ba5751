"""The inspection for programs: ``schema_version``, then the same names as in the value itself.

A key is written as text (``key``, in its printable form) and as its bytes (``key_base64``).
"""

from base64 import b64encode
from dataclasses import fields, is_dataclass
from typing import Any

from kcompact.inspect.inspection import SCHEMA_VERSION, Inspection
from kcompact.inspect.severity import Level
from kcompact.printable import printable_key
from kcompact.report.json_document import json_document


def render_json(inspection: Inspection) -> str:
    """The report as JSON, keys in a stable order; ``run`` holds what differs from run to run."""
    return json_document({"schema_version": SCHEMA_VERSION, "command": "inspect", **_plain(inspection)})


def _plain(value: Any) -> Any:
    if isinstance(value, Level):
        return value.name.lower()
    if is_dataclass(value) and not isinstance(value, type):
        return _plain({field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, dict):
        return {str(name): plain for pair in value.items() for name, plain in _pairs(*pair)}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [_key(item) if isinstance(item, bytes) else _plain(item) for item in value]
    return value


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    if name == "key" and (value is None or isinstance(value, bytes)):
        return list(_key(value).items())
    return [(str(name), _plain(value))]


def _key(key: bytes | None) -> dict[str, str | None]:
    return {
        "key": None if key is None else printable_key(key),
        "key_base64": None if key is None else b64encode(key).decode(),
    }
