"""Compressed bodies, unpacked in bounded pieces, so that a small body cannot become an endless one unseen.

Done here and not by the HTTP client, which takes a compressed stream that stops in its middle for a whole one. Pure.
"""

import zlib
from collections.abc import Iterator
from typing import Final

PIECE: Final = 64 * 1024
"""The longest piece that is given at once, in bytes."""

_ZLIB_OR_GZIP: Final = 32 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS
_METHOD: Final = 0x0F
_DEFLATE: Final = 8


class Inflating:
    """Unpacks one body by the name of its coding. A coding that was not asked for passes as it is."""

    def __init__(self, coding: str) -> None:
        self._coding = coding.strip().lower()
        self._unpacks = self._coding in {"gzip", "x-gzip", "deflate"}
        self._stream: zlib._Decompress | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is missing at the end of what was unpacked."""
        return self._stream is None or self._stream.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Unpack more of the body. Raises `zlib.error` for what is not packed as its coding says."""
        if not self._unpacks:
            yield data
            return
        piece = b""
        while data or len(piece) == PIECE:
            if self._stream is None or (self._stream.eof and data):
                self._stream = zlib.decompressobj(self._format_of(data))
            piece = self._stream.decompress(data, PIECE)
            data = self._stream.unused_data.lstrip(b"\0") if self._stream.eof else self._stream.unconsumed_tail
            if piece:
                yield piece

    def _format_of(self, data: bytes) -> int:
        """The form of the packed data; some servers call it deflate and leave its head away."""
        headless = self._coding == "deflate" and data[0] & _METHOD != _DEFLATE
        return _RAW if headless else _ZLIB_OR_GZIP
