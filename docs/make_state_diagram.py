"""Draws the goal run anew into goal-run.md, from the table of the machine: `python -m docs.make_state_diagram`.

The rows are those of `advance.TABLE`; where each leads is found by walking small worlds, as the tests do.
"""  # noqa: INP001 - a program

from collections.abc import Iterator
from pathlib import Path

from signoff.core.goal.advance import TABLE
from signoff.core.goal.events import CancelRequested, Event, VerifierFailed
from signoff.core.goal.state import Phase
from tests.core.walk import Steps, leads_of
from tests.core.worlds import small_worlds

PAGE = Path(__file__).parent / "goal-run.md"
BEGIN, END = (f"<!-- drawn by `python -m docs.make_state_diagram`: {word} -->\n" for word in ("begin", "end"))
ORDER = list(Phase)


def drawing(leads: Steps) -> Iterator[str]:
    """The lines of the diagram: what leads on, without disturbances and what merely comes late."""
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {Phase.NEW}"
    for source in ORDER:
        for target in ORDER:
            events = [event for event in _events_of(source) if target in leads.get((source, event), ())]
            named = [event.__name__ for event in events if not _left_out(event, source, target)]
            if named:
                yield f"    {source} --> {target}: {', '.join(named)}"
    yield f"    {Phase.FINISHED} --> [*]"
    yield "```"


def table(leads: Steps) -> Iterator[str]:
    """The lines of the table: every row of the machine, and every phase that it can lead to."""
    yield "| Phase | Event | Leads to |"
    yield "| --- | --- | --- |"
    for source in ORDER:
        for event in _events_of(source):
            found = leads.get((source, event), set())
            targets = ", ".join(f"`{target}`" for target in ORDER if target in found)
            yield f"| `{source}` | `{event.__name__}` | {targets or 'does not occur'} |"


def page(leads: Steps) -> str:
    """The page as it must be."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    drawn = "\n".join([*drawing(leads), "", "## Every row of the table", "", *table(leads)])
    return f"{before}{BEGIN}\n{drawn}\n\n{END}{after}"


def _events_of(phase: Phase) -> list[type[Event]]:
    return sorted((event for source, event in TABLE if source is phase), key=lambda event: event.__name__)


def _left_out(event: type[Event], source: Phase, target: Phase) -> bool:
    closing = (Phase.RECORDING, Phase.FINISHING)
    return event in (CancelRequested, VerifierFailed) or (source is target and source in closing)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(leads_of(small_worlds())), encoding="utf-8")


if __name__ == "__main__":
    main()
