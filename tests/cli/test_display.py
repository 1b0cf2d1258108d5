"""Lines on a terminal and to slow readers: none of an agent's looks like ours, and none holds a run up."""

import io
import threading

import pytest

from signoff.cli.display import AGENT_PREFIX, AgentLines, Shown, rows


def test_each_row_of_an_agents_line_carries_the_prefix() -> None:
    """A long line that a terminal would wrap is broken here, so that no row of it stands without its prefix."""
    drawn = AGENT_PREFIX + "x" * 72 + "completed - the host has verified the work"
    broken = rows(drawn, 80)

    assert len(broken) == 2
    assert all(row.startswith(AGENT_PREFIX) and len(row) <= 80 for row in broken)
    assert "".join(row.removeprefix(AGENT_PREFIX) for row in broken) == drawn.removeprefix(AGENT_PREFIX)


@pytest.mark.parametrize(("text", "count"), [("short", 1), ("", 1), ("\u6f22" * 60, 2), ("y" * 161, 3)])
def test_lines_are_broken_by_their_width(text: str, count: int) -> None:
    """Wide characters count twice; a line of ours has no prefix."""
    assert len(rows(text, 80)) == count


class Stalled(io.StringIO):
    """A reader that does not read until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def write(self, text: str) -> int:
        """Wait, then take the text."""
        assert self.go.wait(20)
        return super().write(text)


def test_a_reader_that_stalls_holds_nobody_up_and_is_told_what_was_dropped() -> None:
    """Lines are handed over without waiting; what nobody read in time is counted."""
    stream = Stalled()
    shown = Shown(stream)
    lines = AgentLines(shown)
    for _ in range(3):
        lines.feed(b"line\n" * 4000)
        lines.flush()
    stream.go.set()
    shown.close()

    assert "lines were not shown: nobody read them in time" in stream.getvalue()
    assert stream.getvalue().count("agent | line") >= 5000
