"""Record headers, read from all the shapes in which tools write them."""

import base64
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from kcompact.dumps.json.json_text import ParsedJson, bytes_of, compact_json
from kcompact.dumps.records.encodings import ENCODINGS, marked_encoding
from kcompact.dumps.text.printed_headers import (
    from_aiven,
    from_python,
    is_none,
    is_printed_by_java,
    likely_separator,
    pairs_in,
)

Headers = tuple[tuple[str, bytes | None], ...]
ToBytes = Callable[[Any], bytes | None]
_OTHER_NAMES = re.compile(r"\w*(?:k|key|name) \w*(?:v|val|value)", re.IGNORECASE)
_JAVA_HEADERS = {"headers", "isReadOnly"}  # the fields of RecordHeaders
_LEAST_BYTE = -128  # Java's are signed
_HEADER_MEMBERS = {"value", "value_base64", "stringValue", "encoding"}  # beside the name


def decode_headers(
    raw: Any,
    encoding: str = "text",
    errors: str = "surrogatepass",
    *,
    named: bool = False,
    names_encoding: str = "text",
    separator: str | None = None,
) -> Headers:
    """The headers in a parsed JSON value or a CSV cell, whose shape is recognised. Raises ValueError.

    * ``encoding``: of the header values.
    * ``errors``: the codec error handler of the text around them.
    * ``named``: in a list of objects, each member is a header, even one that is called "key".
    * ``names_encoding``: of names in Go's structs of Key and Value, whose values are always base64.
    * ``separator``: between name and value in printed headers; None: a colon or an equals sign. With a
      separator a list of texts has one header in each; without one, names and values take turns.
    """
    to_bytes = _value_decoder(encoding, errors)
    if named and isinstance(raw, list) and all(isinstance(item, dict) for item in raw):
        if encoding == "base64" and any(map(has_members, raw)):
            raise ValueError("a header of key and value among those of a name each")
        headers: Headers = tuple((name, to_bytes(value)) for item in raw for name, value in item.items())
    elif encoding == "base64" and isinstance(raw, str) and raw.endswith(";"):
        headers = from_aiven(raw)
    else:
        headers = _by_shape(raw, to_bytes, separator, names_encoding)
    for name, _ in headers:
        name.encode("utf-8", "surrogateescape")  # raises for half a character, which is no name
    return headers


def bytes_of_numbers(numbers: Any) -> bytes:
    """The bytes of ``{"type": "Buffer", "data": [...]}``. Raises ValueError."""
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise ValueError("not a list of bytes")
    return bytes(numbers)


def bytes_of_array(numbers: Any) -> bytes:
    """The bytes of an array of numbers, signed (-128 to 127) or unsigned (0 to 255). Raises ValueError."""
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise ValueError("not an array of bytes")
    return bytes(number + 256 if _LEAST_BYTE <= number < 0 else number for number in numbers)


def keeps_no_order(raw: Any) -> bool:
    """Whether several headers are in an object or a map, whose order need not be the record's order."""
    is_map = isinstance(raw, dict) or (isinstance(raw, list) and all(type(item) is tuple for item in raw))
    return is_map and len(raw) > 1 and "isReadOnly" not in raw


def is_buffer(value: Any) -> bool:
    """Whether the value is a Buffer of bytes as Node's JSON.stringify writes it."""
    return type(value) is dict and value.get("type") == "Buffer" and isinstance(value.get("data"), list)


def _by_shape(raw: Any, to_bytes: ToBytes, separator: str | None, names_encoding: str) -> Headers:
    if not raw:
        return ()
    if isinstance(raw, str):
        return _from_cell(raw, to_bytes, separator)
    if isinstance(raw, dict):
        if type(raw.get("isReadOnly")) is bool and raw.keys() - {"readOnly"} == _JAVA_HEADERS:
            return _from_java(raw["headers"])
        values = ((str(name), item) for name, value in raw.items() for item in _each(value))
        return tuple((name, to_bytes(value)) for name, value in values)
    if isinstance(raw, list):
        return (
            _from_texts(raw, to_bytes, separator) if separator else _from_list(raw, to_bytes, names_encoding)
        )
    raise ValueError(f"{type(raw).__name__} is no shape of headers")


def _from_java(entries: Any) -> Headers:
    """Headers from the fields of Java's RecordHeaders. Raises ValueError.

    Values are base64, as Jackson writes bytes, or numbers, as Gson does. A header that was never read before
    it was written still has its bytes in a buffer, and no value.
    """
    to_bytes = _value_decoder("base64", "surrogatepass")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("not a list of headers")
    if any(entry.get(name) is not None for entry in entries for name in ("keyBuffer", "valueBuffer")):
        raise ValueError("a header that nobody has read")
    if any("value" not in entry and len(entry) > 1 for entry in entries):
        raise ValueError("a header whose value has another name")
    if any(not isinstance(entry.get("value"), str | list | None) for entry in entries):
        raise ValueError("a header whose value is no bytes")
    return tuple((_name_of(entry.get("key")), to_bytes(entry.get("value"))) for entry in entries)


def _name_of(raw: Any) -> str:
    """The name of a header: text, or bytes as Node or an array of numbers spells them. Raises ValueError."""
    if isinstance(raw, str):
        return raw
    if is_buffer(raw):
        return bytes_of_numbers(raw["data"]).decode("utf-8", "surrogateescape")
    if isinstance(raw, list):
        return bytes_of_array(raw).decode("utf-8", "surrogateescape")
    raise ValueError("a header whose name is no text")


def _each(value: Any) -> list[Any]:
    """The values of a header name that may have several.

    Vector writes them as a list of texts, KafkaJS as a list of buffers. A list of numbers is a single value.
    """
    items = value if isinstance(value, list) else []
    is_several = items and all(item is None or isinstance(item, str) or is_buffer(item) for item in items)
    return items if is_several else [value]


def _value_decoder(encoding: str, errors: str) -> ToBytes:
    """The function that turns one header value into bytes."""
    decoder = ENCODINGS[encoding]

    def to_bytes(value: Any) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, str):
            return decoder(bytes_of(value, errors))
        if isinstance(value, list):  # as AWS Lambda writes them
            return bytes_of_array(value)
        if isinstance(value, dict) and value.get("type") == "Buffer":
            return bytes_of_numbers(value["data"])
        if isinstance(value, dict) and "payload" in value:  # Redpanda Console
            return None if value.get("isPayloadNull") else to_bytes(_console_text(value))
        return compact_json(value, errors)

    return to_bytes


def _console_text(value: dict[str, Any]) -> Any:
    """A header's payload, without the quotes that Redpanda Console puts around some: its size shows which."""
    payload, size = value["payload"], value.get("size")
    if not isinstance(payload, str) or type(size) is not int or len(payload.encode()) == size:
        return payload
    with suppress(orjson.JSONDecodeError):
        text = orjson.loads(payload)
        return text if isinstance(text, str) else payload
    return payload


def _from_cell(text: str, to_bytes: ToBytes, separator: str | None) -> Headers:
    """Headers from text: JSON, Python's repr, or unquoted, as kcat -f and kafka-console-consumer print."""
    if is_none(text):
        return ()
    if is_printed_by_java(text):
        raise ValueError("headers as Java prints them")
    if text.startswith(("[(", "((", "[{'", "{'")) or text == "()":
        return from_python(text)
    if text[0] in "[{":
        parsed = ParsedJson(text.encode())
        if parsed.twice:
            raise ValueError(text)
        return decode_headers(parsed.with_spellings(parsed.value, ()))
    separator = separator or likely_separator(text)
    pairs = [pair.partition(separator) for pair in pairs_in(text, separator)]
    return tuple((name, None if value == "NULL" else to_bytes(value)) for name, _, value in pairs)


def _from_texts(raw: list[Any], to_bytes: ToBytes, separator: str) -> Headers:
    if not all(isinstance(item, str) and separator in item for item in raw):
        raise ValueError(f"a header without {separator!r}")
    pairs = (item.partition(separator) for item in raw)
    return tuple((name, to_bytes(value)) for name, _, value in pairs)


def _from_list(raw: list[Any], to_bytes: ToBytes, names_encoding: str) -> Headers:
    if all(isinstance(item, dict) for item in raw):
        return tuple(pair for item in raw for pair in _from_object(item, to_bytes, names_encoding))
    if all(isinstance(item, list) for item in raw):  # Python clients: pairs
        return tuple((_name_of(name), to_bytes(item)) for name, value in raw for item in _each(value))
    if len(raw) % 2 == 0:  # kcat: name, value, name, value
        return tuple(
            (_name_of(name), to_bytes(value)) for name, value in zip(raw[::2], raw[1::2], strict=True)
        )
    raise ValueError("a list of headers with a name too many")


def extras_of(raw: Any) -> set[str]:
    """Names of members in a list of header objects that are neither name, value nor encoding of a header."""
    items = [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []
    names = {name for item in items if (own := _name_member(item)) for name in item.keys() - {own}}
    return names - _HEADER_MEMBERS


def has_members(item: Any) -> bool:
    """Whether a header's object has members for its name and its value, unlike ``{NAME: value}``."""
    return isinstance(item, dict) and len(item) > 1


def is_struct(item: Any) -> bool:
    """Whether the item is a header as Go marshals its struct: ``{"Key": "name", "Value": "base64"}``."""
    return isinstance(item, dict) and item.keys() == {"Key", "Value"} and isinstance(item["Key"], str)


def has_other_names(item: Any) -> bool:
    """Whether an object looks like one header with other member names for name and value, such as k and v."""
    return isinstance(item, dict) and _OTHER_NAMES.fullmatch(" ".join(sorted(item))) is not None


def _name_member(item: dict[str, Any]) -> str | None:
    """The member that holds the header's name; None if each member of the object is a header of its own."""
    if isinstance(item.get("key"), str) or is_buffer(item.get("key")):
        return "key"
    return "name" if "value" in item and isinstance(item.get("name"), str) else None


def _value_of(item: dict[str, Any], to_bytes: ToBytes) -> bytes | None:
    """The value of an object that is one header. Raises ValueError."""
    if "value" not in item and isinstance(item.get("value_base64"), str):  # kcl
        return base64.b64decode(item["value_base64"], validate=True)
    if not {"value", "stringValue"} & item.keys() and len(item) > 1:
        raise ValueError("a header whose value has another name")
    value = item.get("value", item.get("stringValue"))  # Control Center's until 2022
    if value is None and item.get("valueBuffer") is not None:  # Java's, never read before it was written
        raise ValueError("a header whose value is in a buffer")
    if isinstance(value, str) and (encoding := marked_encoding(item.get("encoding"))):
        return ENCODINGS[encoding](value.encode("utf-8", "surrogateescape"))
    return to_bytes(value)


def _from_object(
    item: dict[str, Any], to_bytes: ToBytes, names_encoding: str
) -> list[tuple[str, bytes | None]]:
    if name_member := _name_member(item):
        return [(_name_of(item[name_member]), _value_of(item, to_bytes))]
    if is_buffer(item):
        raise ValueError("bytes without a name")
    if is_struct(item):
        name = ENCODINGS[names_encoding](item["Key"].encode("utf-8", "surrogateescape"))
        value = item["Value"]
        decoded = None if value is None else base64.b64decode(value, validate=True)
        return [(name.decode("utf-8", "surrogateescape"), decoded)]
    if item.keys() & {"key", "Key"} and item.keys() & {"value", "Value"}:
        raise ValueError("a header whose name is no text")
    if has_other_names(item):
        raise ValueError("a header whose name and value have other names")
    return [(name, to_bytes(value)) for name, value in item.items()]
