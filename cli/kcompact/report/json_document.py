"""A report as JSON text: stable, readable, and inert where it is shown."""

from typing import Any

import orjson

from kcompact.report.inert import json_text

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def json_document(values: dict[str, Any] | list[dict[str, Any]]) -> str:
    """``values`` in their order; what is no Unicode, such as a file name of odd bytes, is spelled out."""
    return json_text(orjson.dumps(_spelled_out(values), option=_OPTIONS).decode())


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_spelled_out(key): _spelled_out(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled_out(item) for item in value]
    return value
