"""What is shown while a run goes on: plain lines at state changes, and on a terminal a live line with the time.

A listener: it can change nothing. Text of the agent is made inert, prefixed and bounded.
"""

import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from signoff.core.goal.decisions import Decision, Finish, RunAgent, RunCheck, TakePicture, WriteReceipt
from signoff.core.goal.events import AgentEnded, CheckSettled, Event, PictureTaken, RunStarted, Stage, VerifierFailed
from signoff.records.text import one_line

if TYPE_CHECKING:
    from rich.text import Text

AGENT_PREFIX = "agent | "
MAX_LINE = 2_000
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
    """Where lines go: plain to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Show one line."""
        with self._lock:
            self._stream.write(
                text.encode(self._stream.encoding or "utf-8", "backslashreplace").decode(
                    self._stream.encoding or "utf-8"
                )
                + "\n"
            )
            self._stream.flush()

    def status(self, text: str) -> None:
        """Say what is going on now; a plain stream has no place for it."""

    def close(self) -> None:
        """End the live line."""


class LiveShown(Shown):
    """Lines above one live line that says what is going on and for how long."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
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

    def _render(self) -> "Text":
        now = time.monotonic()
        return self._make(f"{self._text} … {now - self._since:.0f} s (run: {now - self._begun:.0f} s)", style="dim")

    def line(self, text: str) -> None:
        """Show one line above the live one."""
        self._console.print(self._make(text), soft_wrap=True)

    def status(self, text: str) -> None:
        """Change the live line."""
        self._text, self._since = text, time.monotonic()

    def close(self) -> None:
        """Remove the live line."""
        self._live.stop()


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
                return f"run {run_id}: {len(contract.commands)} checks, {len(contract.artifacts)} artifacts"
            case CheckSettled(stage=stage, evidence=evidence):
                when = "before the agent" if stage is Stage.BEFORE else "check"
                return f"{when}: {evidence.command_id} exit {evidence.exit_code} ({evidence.duration_seconds:.1f} s)"
            case AgentEnded(attempt=attempt, outcome=outcome):
                self._agent.flush()
                how = "out of time" if outcome.timed_out else f"exit {outcome.exit_code}"
                how = how if outcome.started else f"not started: {one_line(outcome.error)}"
                return f"attempt {attempt}: the agent ended, {how} ({outcome.duration_seconds:.1f} s)"
            case PictureTaken(role=role, picture=picture) if role == "after_agent":
                return f"workspace: {picture.change_count} files changed so far"
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
