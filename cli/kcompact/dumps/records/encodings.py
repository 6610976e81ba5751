"""Decoders for the ways in which tools write the bytes of a key or value as text."""

import ast
import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

_MARKS = {"true": "base64", "base64": "base64", "b64": "base64", "hex": "hex"}
_MIME_LENGTHS = {60, 64, 76}  # of Ruby, of PEM, and of MIME
_OTHER_MARKS = re.compile(r"(?:hex|b(?:ase)?[0-9])")


class UnknownEncodingError(ValueError):
    """A mark names an encoding that kcompact does not read."""


def without_line_ends(text: bytes) -> bytes:
    """The text in a single line if it is broken into lines of equal length, as MIME breaks base64."""
    if b"\n" not in text:
        return text
    *lines, last = text.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")
    if not lines:  # Ruby's encode64 and Python's encodebytes end with a line end
        return last
    lengths = {len(line) for line in lines}
    is_broken = lengths <= _MIME_LENGTHS and len(lengths) == 1 and len(last) <= min(lengths)
    return b"".join((*lines, last)) if is_broken else text


def _base64(text: bytes) -> bytes:
    """Decode standard base64, padded or not. Raises ValueError.

    Only the canonical spelling is accepted, so that plain words rarely pass for base64. Lines may be broken:
    Spark's function base64() breaks them at 76 characters.
    """
    text = without_line_ends(text)
    decoded = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    if base64.b64encode(decoded).rstrip(b"=") != text.rstrip(b"="):
        raise ValueError("not canonical base64")
    return decoded


def _spark_hex(text: bytes) -> bytes:
    """Decode a binary column of Spark's CSV, such as ``[6B 31]``. Raises ValueError."""
    if not (text.startswith(b"[") and text.endswith(b"]")):
        raise ValueError("not in brackets")
    return bytes.fromhex(text[1:-1].decode("ascii"))


def _python(text: bytes) -> bytes:
    """Decode bytes as Python prints them, such as ``b'k1'``. Raises ValueError."""
    if not text.startswith(b"b"):
        raise ValueError("not a bytes literal")
    try:
        value = ast.literal_eval(text.decode("ascii"))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("not a bytes literal") from error
    if isinstance(value, bytes):
        return value
    raise ValueError("not a bytes literal")


def _no_text(text: bytes) -> bytes:
    """Raise ValueError: json_reader.py decodes arrays of numbers, and a text is none."""
    raise ValueError(f"not an array of bytes: {text!r}")


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "text": bytes,
    "json": bytes,  # the dump holds decoded JSON: json_reader.py tells 7 from "7"
    "base64": _base64,
    "hex": binascii.unhexlify,  # digits in either case
    "spark-hex": _spark_hex,
    "python": _python,
    "numbers": _no_text,
}
"""Decoders by name. Each raises ValueError for text that is not in its encoding."""


def marked_encoding(mark: Any) -> str | None:
    """The encoding that a mark beside a key, value or header names; None for text.

    Raises UnknownEncodingError.
    """
    word = re.sub(r"[\W_]", "", str(mark).lower())
    if word not in _MARKS and _OTHER_MARKS.match(word):
        raise UnknownEncodingError(str(mark))
    return _MARKS.get(word)
