"""Converts text in UTF-16, as PowerShell's ``>`` writes it, to UTF-8, which can be cut at any line feed."""

import codecs
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcompact.dumps.files.copying import first_bytes
from kcompact.errors import InputError

NOTE = "UTF-16; read and written as UTF-8"
_CHUNK_BYTES = 4 << 20
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD_BYTES = 8
_READS = "FILE > NEW"  # the end of a command in a hint that reads the file
_UNREAD = {
    "UTF-32LE": re.compile(rb"\xff\xfe\0\0|([\t\r\n -~]\0\0\0){2}"),
    "UTF-32BE": re.compile(rb"\0\0\xfe\xff|(\0\0\0[\t\r\n -~]){2}"),
    "UTF-16LE": re.compile(rb"([\t\r\n -~]\0){4}"),  # without a mark
    "UTF-16BE": re.compile(rb"(\0[\t\r\n -~]){4}"),
}


def is_of_wide_characters(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is text of two or four bytes a character."""
    return head.startswith(MARKS) or any(beginning.match(head) for beginning in _UNREAD.values())


def as_utf8(path: str, data_path: str, spool: Path) -> str | None:
    """Copy a UTF-16 file into the spool folder as UTF-8; return where, or None if it is no UTF-16.

    Raises InputError, naming ``path``, where the file is not what its mark says, or text in another encoding
    of several bytes a character.
    """
    head = first_bytes(data_path, _HEAD_BYTES)
    for encoding, beginning in _UNREAD.items():
        if beginning.match(head):
            missing_mark = "" if encoding.startswith("UTF-32") else " without a byte order mark"
            raise InputError(
                f"{path}: text in {encoding}{missing_mark}, which kcompact does not read",
                hint=f"make it UTF-8: iconv -f {encoding} -t UTF-8 FILE > NEW",
            )
    if not head.startswith(MARKS):
        return None
    with Path(data_path).open("rb") as source:
        decoder = codecs.getincrementaldecoder("utf-16")()
        descriptor, copy = tempfile.mkstemp(dir=spool, suffix=".utf8")
        with os.fdopen(descriptor, "wb") as out:
            try:
                while chunk := source.read(_CHUNK_BYTES):
                    out.write(decoder.decode(chunk).encode())
                decoder.decode(b"", final=True)
            except UnicodeError as error:
                raise InputError(
                    f"{path}: begins like UTF-16, but is not: {error}",
                    hint="was the file put together from parts in different encodings?",
                ) from error
    return copy


@contextmanager
def commands_in_utf8(utf8_path: str | None) -> Iterator[None]:
    """Within it, commands in the hints of an InputError are preceded by one that makes a UTF-16 file UTF-8.

    By themselves they could cut a character: ``tail -n +2`` leaves the second half of a line end. Hints stay
    as they are where ``utf8_path`` is None, or where no command reads the file.
    """
    try:
        yield
    except InputError as error:
        if utf8_path is None or _READS not in (error.hint or ""):
            raise
        then = str(error.hint).replace(_READS, "UTF8 > NEW")
        hint = f"it is UTF-16, so make it UTF-8 first: iconv -f UTF-16 -t UTF-8 FILE > UTF8; then {then}"
        raise InputError(error.message, hint=hint) from error
