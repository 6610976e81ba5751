"""Reading bzip2 and xz, whose archives may be several streams one after another.

``bz2.BZ2File`` and ``lzma.LZMAFile`` pass over what follows a whole stream and does not begin as another: a
stream with a damaged beginning would be lost without a word, with all that come after it.
"""

import io
from bz2 import BZ2Decompressor
from collections.abc import Callable
from lzma import LZMADecompressor
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 1 << 20


class Members(io.RawIOBase):
    """The unpacked bytes of all streams of an archive; zeros between and behind them are padding.

    Reading raises EOFError where a stream is cut off, and whatever the decompressor raises for damage.
    """

    def __init__(self, path: str, new_stream: Callable[[], BZ2Decompressor | LZMADecompressor]) -> None:
        super().__init__()
        self._file = Path(path).open("rb")  # noqa: SIM115  closed with this
        self._new_stream = new_stream
        self._stream = new_stream()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of the buffer; 0 at the end."""
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._following()
                if not packed:
                    return 0
                self._stream = self._new_stream()
            elif self._stream.needs_input and not (packed := self._file.read(_CHUNK_BYTES)):
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            plain = self._stream.decompress(packed, len(buffer))
            if plain:
                buffer[: len(plain)] = plain
                return len(plain)

    def _following(self) -> bytes:
        """The next bytes behind a stream, its padding left out; none at the end."""
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed and (chunk := self._file.read(_CHUNK_BYTES)):
            packed = chunk.lstrip(b"\0")
        return packed

    def close(self) -> None:
        """Close the archive, too."""
        self._file.close()
        super().close()
