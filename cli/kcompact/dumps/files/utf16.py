"""Text in UTF-16, as PowerShell's ``>`` writes it, made UTF-8: only that can be cut at any byte."""

import codecs
import os
import tempfile
from pathlib import Path

from kcompact.dumps.files.copying import first_bytes
from kcompact.errors import InputError

NOTE = "UTF-16; read and written as UTF-8"
_CHUNK_BYTES = 4 << 20
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def as_utf8(path: str, data_path: str, spool: Path) -> str | None:
    """Copy a UTF-16 file into the spool folder as UTF-8; return where, or None if it is no UTF-16.

    Raises InputError, naming ``path``, where the file is not what its mark says.
    """
    if first_bytes(data_path, 2) not in MARKS:
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
