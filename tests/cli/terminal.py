"""A terminal for the program: a pseudo-terminal that it controls, and what is seen on it while it runs."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tests.cli.door import PATIENCE, SIGNOFF, environment

_CONTROL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes standard input the terminal that controls the session, as a shell's is: then Ctrl-C reaches the program."""

ESCAPE = "\x1b"
INTERRUPT = "\x03"
"""What a terminal sends when Ctrl and C are pressed."""


class Terminal:
    """The program on a pseudo-terminal; a thread reads what it shows."""

    def __init__(self, *args: str, cwd: Path, env: Mapping[str, str] | None = None) -> None:
        self._ours, theirs = os.openpty()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CONTROL, SIGNOFF, *args],
                cwd=cwd,
                env=environment(cwd, {"TERM": "xterm", "COLUMNS": "100", "LINES": "30", **(env or {})}),
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        self._seen = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def seen(self) -> str:
        """All that was shown so far."""
        return bytes(self._seen).decode("utf-8", "replace")

    def wait_for(self, pattern: str) -> None:
        """Return once the pattern was shown; fail, and end the program, after a while or when it ends before."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.seen):
            if time.monotonic() > end or not self._reader.is_alive():
                self.process.kill()
                raise AssertionError(f"{pattern!r} was not shown; this was: {self.seen!r}")
            self._reader.join(0.02)

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._ours, keys.encode())

    def ended(self) -> int:
        """Wait for the program's end, and return its exit code."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            os.close(self._ours)

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # Linux says so when the last process has let go of the other side
                return
            if not chunk:
                return
            self._seen += chunk
