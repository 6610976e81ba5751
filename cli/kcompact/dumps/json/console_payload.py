"""Payloads as Redpanda Console saves them: parsed, with the size of their bytes in Kafka.

Its page parses whatever reads as JSON: ``007`` becomes 7, ``"k"`` becomes k. Payloads that are too large to
be shown are saved as empty text. Source: redpanda-data/console,
``frontend/src/utils/message-converters.ts`` and ``backend/pkg/serde/service.go``.
"""

import json
from collections.abc import Iterator
from typing import Any

from kcompact.dumps.json.json_text import Repeating, repeated_names
from kcompact.errors import UnreadableError

_AS_SENT = {"text", "json", "utf8WithControlChars"}  # payloads in others were decoded: sizes tell nothing
_READ = frozenset({"type", "data", "payload", "isPayloadNull", "rawPayload", "encoding", "size"})
"""The members that are read, of payloads and of Node's Buffers."""
_LARGEST_EMPTY = 64  # bytes: no encoding of an empty text takes more


def require_shown(raw: dict[str, Any], role: str) -> None:
    """Raise UnreadableError for a payload that the Console left out as too large to show."""
    size = raw.get("size")
    if raw["payload"] != "" or type(size) is not int:
        return
    if size > (len('""') if raw.get("encoding") in _AS_SENT else _LARGEST_EMPTY):
        raise UnreadableError(
            f"the {role}, of {size:,} bytes, was too large for Redpanda Console to show, and was not saved",
            "export with rpk topic consume or kcat -J, or raise the Console's limit"
            " (serde.maxDeserializationPayloadSize) and save the messages again",
        )


def is_respelt(raw: dict[str, Any], data: bytes) -> bool:
    """Whether a text or number has another size than the bytes sent: different ones may then look alike."""
    size = raw.get("size")
    is_plain = not isinstance(raw["payload"], dict | list) and raw.get("encoding") in _AS_SENT
    return is_plain and type(size) is int and len(data) != size


def as_sent(raw: dict[str, Any], spelling: bytes) -> bytes:
    """The bytes that a payload was parsed from: the likely spelling that has its size, else ``spelling``."""
    if raw.get("encoding") not in _AS_SENT:
        return spelling
    return next(
        (text for text in _spellings(raw["payload"], spelling) if len(text) == raw.get("size")), spelling
    )


def _spellings(payload: Any, spelling: bytes) -> Iterator[bytes]:
    yield spelling
    for separators in ((",", ":"), (", ", ": ")):  # as most programs write JSON, and as Python does
        yield json.dumps(payload, ensure_ascii=False, separators=separators).encode("utf-8", "surrogatepass")


def repeated_in(value: Any, role: str, *, values: bool) -> frozenset[str]:
    """The names that occur twice in a key, value or headers, as far as such members are read."""
    if role == "headers":
        return frozenset(repeated_names(value)) if values else frozenset()
    if role not in {"key", "value"} or not isinstance(value, Repeating):
        return frozenset()
    is_envelope = value.get("type") == "Buffer" or "isPayloadNull" in value
    return value.twice & _READ if is_envelope else frozenset()
