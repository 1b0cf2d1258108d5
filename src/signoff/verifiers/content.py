"""Learns from the bytes of a file whether there is anything in it, in constant memory. No file is opened here."""

import codecs

from signoff.verifiers.placeholders import MOST_BYTES, is_placeholder

_INVISIBLE = "\ufeff\u200b\u2060"


class Content:
    """Whether a file is blank or a placeholder, learned block by block."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes so far."""
        self._blank = True
        self._start = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def take(self, block: memoryview) -> None:
        """Hear the next block."""
        self.size += len(block)
        if len(self._start) <= MOST_BYTES:
            self._start += block[: MOST_BYTES + 1]
        if self._blank:
            self._blank = self._is_blank(bytes(block))

    def _is_blank(self, block: bytes) -> bool:
        if block.isspace() and not self._decoder.getstate()[0]:
            return True
        try:
            text = self._decoder.decode(block)
        except UnicodeDecodeError:
            return False
        return not text.translate(dict.fromkeys(map(ord, _INVISIBLE))).strip()

    @property
    def blank_so_far(self) -> bool:
        """Whether nothing but white space has come yet."""
        return self._blank

    @property
    def blank(self) -> bool:
        """Whether it holds nothing but white space and what cannot be seen."""
        return self._blank and not self._decoder.getstate()[0]

    @property
    def placeholder(self) -> bool:
        """Whether it is a placeholder."""
        return is_placeholder(bytes(self._start))
