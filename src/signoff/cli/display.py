"""What is shown while a run goes on: plain lines at state changes, and on a terminal a live line with the time.

A listener: it can change nothing. Text of the agent is made inert, prefixed and bounded.
"""

import contextlib
import queue
import sys
import threading
import time
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from signoff.cli.output import counted
from signoff.core.completion.evidence import NOT_STARTED_EXIT
from signoff.core.goal.decisions import Decision, Finish, RunAgent, RunCheck, TakePicture, WriteReceipt
from signoff.core.goal.events import AgentEnded, CheckSettled, Event, PictureTaken, RunStarted, Stage, VerifierFailed
from signoff.records.text import one_line

if TYPE_CHECKING:
    from rich.text import Text

AGENT_PREFIX = "agent | "
MAX_LINE = 2_000
MAX_WAITING = 6_000
"""Lines that may wait for whoever reads them."""
CLOSE_SECONDS = 2.0
MIN_ROOM = 20
MAX_LINES = 5_000
"""Lines of one attempt that are shown; what comes after is drained, counted and left to the record."""


class AgentLines:
    """Turns the bytes of an agent into inert, prefixed lines. Fed from one thread."""

    def __init__(self, show: "Shown") -> None:
        self._show = show
        self._rest = b""
        self._count = 0
        self._cut = False

    def feed(self, chunk: bytes) -> None:
        """Take a chunk as it came."""
        if self._cut:
            return
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        room = MAX_LINES - self._count
        for line in lines[:room]:
            self._tell(line)
        self._count += len(lines)
        if len(lines) > room:
            self._rest, self._cut = b"", True
            self._show.line(f"{AGENT_PREFIX}[… more than {MAX_LINES} lines; the rest is not shown …]")

    def flush(self) -> None:
        """Show what came without a line break, at the end of an attempt."""
        if self._rest:
            self._tell(self._rest)
        self._rest, self._count, self._cut = b"", 0, False

    def _tell(self, line: bytes) -> None:
        text = line.removesuffix(b"\r").decode("utf-8", "replace")
        self._show.line(AGENT_PREFIX + one_line(text.expandtabs(), limit=MAX_LINE))


class Shown:
    """Where lines go: plain to a stream, in a thread of their own, so that a reader that stalls can hold nobody up."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(MAX_WAITING)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="signoff-display", daemon=True)
        self._thread.start()

    def line(self, text: str) -> None:
        """Show one line, soon; when the reader is far behind it is dropped and counted."""
        try:
            self._lines.put_nowait(text)
        except queue.Full:
            self._dropped += 1

    def status(self, text: str) -> None:
        """Say what is going on now; a plain stream has no place for it."""

    def close(self) -> None:
        """Write what is waiting, for a moment at most, and end."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=CLOSE_SECONDS)
            self._thread.join(CLOSE_SECONDS)

    def _write_all(self) -> None:
        while (text := self._lines.get()) is not None:
            try:
                if self._dropped:
                    count, self._dropped = self._dropped, 0
                    self._write(f"[… {count} lines were not shown: nobody read them in time …]")
                self._write(text)
            except OSError:
                continue  # nobody can be told any more; the run goes on

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._stream.flush()


class LiveShown(Shown):
    """Lines above one live line that says what is going on and for how long."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = ""
        self._since = time.monotonic()
        self._begun = self._since
        self._make = Text
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        super().__init__(stream)

    def _render(self) -> "Text":
        now = time.monotonic()
        return self._make(f"{self._text} … {now - self._since:.0f} s (run: {now - self._begun:.0f} s)", style="dim")

    def status(self, text: str) -> None:
        """Change the live line."""
        self._text, self._since = text, time.monotonic()

    def close(self) -> None:
        """Write what is waiting and remove the live line."""
        super().close()
        self._live.stop()

    def _write(self, text: str) -> None:
        for row in rows(text, self._console.width):
            self._console.print(self._make(row), soft_wrap=True)


def rows(text: str, width: int) -> list[str]:
    """Break a line into rows of a terminal; each row of an agent's line carries the prefix: none looks like ours."""
    prefix = AGENT_PREFIX if text.startswith(AGENT_PREFIX) else ""
    body, room = text.removeprefix(prefix), max(MIN_ROOM, width - len(prefix))
    pieces, piece, used = [], "", 0
    for char in body:
        cells = cell_width(char)
        if used + cells > room:
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + char, used + cells
    return [prefix + each for each in (*pieces, piece)]


def cell_width(char: str) -> int:
    """Return how many columns a printable character takes at most."""
    return 2 if unicodedata.east_asian_width(char) in "WFA" else 1


def shown_on(stream: TextIO, *, environment_ci: bool) -> Shown:
    """Return the live display for a terminal, the plain one for a pipe or CI."""
    return LiveShown(stream) if stream.isatty() and not environment_ci else Shown(stream)


class Progress:
    """Implements the port `Listener`: one line a state change."""

    def __init__(self, shown: Shown, agent: AgentLines) -> None:
        self._shown = shown
        self._agent = agent

    def told(self, event: Event, decisions: Sequence[Decision]) -> None:
        """Show what happened, and what is done next."""
        line = self._happened(event)
        if line:
            self._shown.line(line)
        for decision in decisions:
            self._next(decision)

    def _happened(self, event: Event) -> str:
        match event:
            case RunStarted(run_id=run_id, contract=contract):
                checks, artifacts = (
                    counted(len(contract.commands), "check"),
                    counted(len(contract.artifacts), "artifact"),
                )
                return f"run {run_id}: {checks}, {artifacts}"
            case CheckSettled(stage=stage, evidence=evidence):
                when = "before the agent" if stage is Stage.BEFORE else "check"
                early = stage is Stage.BEFORE and evidence.exit_code == NOT_STARTED_EXIT
                mend = "; it cannot start now: unless the agent is to make what it needs, stop and mend that"
                took = f"({evidence.duration_seconds:.1f} s)"
                return f"{when}: {evidence.command_id} exit {evidence.exit_code} {took}{mend if early else ''}"
            case AgentEnded(attempt=attempt, outcome=outcome):
                self._agent.flush()
                how = "out of time" if outcome.timed_out else f"exit {outcome.exit_code}"
                how = how if outcome.started else f"not started: {one_line(outcome.error)}"
                return f"attempt {attempt}: the agent ended, {how} ({outcome.duration_seconds:.1f} s)"
            case PictureTaken(role=role, picture=picture) if role == "after_agent":
                return f"workspace: {counted(picture.change_count, 'file')} changed so far"
            case VerifierFailed(what=what, error=error):
                return f"the host could not look: {what}: {one_line(error)}"
            case _:
                return ""

    def _next(self, decision: Decision) -> None:
        match decision:
            case RunAgent(attempt=attempt, failures=failures):
                if failures:
                    names = ", ".join(sorted({f"{failure.subject} ({failure.reason})" for failure in failures}))
                    self._shown.line(f"rejected: {names}; fed back")
                self._shown.line(f"attempt {attempt}: the agent runs")
                self._shown.status(f"attempt {attempt}: agent")
            case RunCheck(command_id=command_id):
                self._shown.status(f"check {command_id}")
            case TakePicture():
                self._shown.status("looking at the workspace")
            case WriteReceipt():
                self._shown.status("writing the receipt")
            case Finish():
                self._shown.status("recording the end")


def stderr_display(*, environment_ci: bool) -> tuple[Shown, AgentLines]:
    """Return the display of this process's stderr."""
    shown = shown_on(sys.stderr, environment_ci=environment_ci)
    return shown, AgentLines(shown)
