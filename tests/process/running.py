"""What the tests of this folder share: running a program, and seeing that a process is gone."""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from signoff.process import Command, Ended, Stop, run

PYTHON = (sys.executable, "-I", "-S", "-c")
"""The start of a command that runs a line of Python and imports nothing of the environment."""

GRACEFUL = (
    *PYTHON,
    (
        "import os, signal\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'bye\\n'), os._exit(0)))\n"
        "os.write(1, b'hi\\n')\n"
        "while True: signal.pause()"
    ),
)
"""An agent that prints hi, waits until it is asked to end, prints bye and exits with 0."""

PATIENCE = 20.0
"""Seconds after which a test gives up waiting for a real process."""


def command(*argv: str, cwd: Path | str = "/", env: dict[str, str] | None = None) -> Command:
    """Return a command with the tests' PATH and nothing else in its environment."""
    return Command(argv=argv, cwd=str(cwd), env={"PATH": os.environ["PATH"]} if env is None else env)


def check(
    *argv: str,
    timeout: float | None = PATIENCE,
    stop: Stop | None = None,
    on_output: Callable[[bytes], object] | None = None,
) -> Ended:
    """Run a command as a check."""
    return run(command(*argv), timeout=timeout, stop=stop or Stop(), pipe="must_close", on_output=on_output)


def agent(
    *argv: str, timeout: float = PATIENCE, grace: float = PATIENCE, on_output: Callable[[bytes], object] | None = None
) -> Ended:
    """Run a command as an agent."""
    return run(command(*argv), timeout=timeout, stop=Stop(), pipe="may_linger", grace=grace, on_output=on_output)


def agent_stopped_when_it_prints(*argv: str) -> Ended:
    """Run a command as an agent, and request the stop at its first output."""
    stop = Stop()
    return run(
        command(*argv),
        timeout=None,
        stop=stop,
        pipe="may_linger",
        grace=PATIENCE,
        on_output=lambda _: stop.request(),
    )


def printed(ended: Ended) -> bytes:
    """Return all that was printed, which must be short."""
    assert ended.output is not None
    assert not ended.output.truncated
    return ended.output.head


def alive(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def open_descriptors() -> list[str]:
    """Return the numbers of this process's descriptors."""
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


def wait_until(fact: Callable[[], bool]) -> bool:
    """Return whether the fact came true before patience ended."""
    end = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not fact():
        if time.monotonic() > end:
            return False
        pause.wait(0.01)
    return True


Pipe = Literal["must_close", "may_linger"]
