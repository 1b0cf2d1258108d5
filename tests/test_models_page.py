"""The script of the page on models says how each response ended, rightly, in every protocol."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from signoff.core.model.parts import Api
from signoff.testing import Play, reply
from tests.wire.matrix.table import Cell
from tests.wire.test_matrix import PLACES, Place

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
NAMES = {
    Api.OPENAI_CHAT: "openai:demo",
    Api.OPENAI_RESPONSES: "openai-responses:demo",
    Api.ANTHROPIC_MESSAGES: "anthropic:demo",
    Api.GEMINI: "google:demo",
}
# What a row of the matrix looks like to a reader, whatever the protocol.
SAID = {
    "finish": "text",
    "calls": "2 calls",
    "limit": "text",
    "limit inside a call": "cut inside a call",
    "refusal": "a refusal",
    "reasoning only": "reasoning only",
    "empty": "empty",
    "body ends mid text": "cut inside the text",
    "cut mid text": "cut inside the text",
    "body ends mid call": "cut inside a call",
    "cut mid call": "cut inside a call",
    "usage missing": "no usage",
    "web page under status 200": "not the protocol",
    "broken JSON under status 200": "not the protocol",
    "HTTP 429": "rate limited 429",
    "HTTP 500": "server error 500",
}
# The page's script waits as long as users do, and asks for no more tokens than users do.
ELSEWHERE = {"stall", "cap reached though labelled otherwise"}


def script() -> str:
    """The page's program, as far as its functions."""
    program, *_ = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(program).partition("\nfor name in")[0]


def last_words(place_or_name: str, plays: list[Play], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the script prints about these plays."""
    space: dict[str, Any] = {}
    exec(compile(script(), str(PAGE), "exec"), space)  # noqa: S102 - the page's own program is what is tried
    anyio.run(space["main"], place_or_name, plays)
    return capsys.readouterr().out.splitlines()


def streamed() -> list[Place]:
    """The cells of the matrix that the script can play as it stands."""
    return [p for p in PLACES if p.stream and isinstance(p.cell, Cell) and p.row not in ELSEWHERE]


def test_the_script_is_short() -> None:
    """Twenty lines, its imports and the blank ones between its parts apart."""
    lines = [line for line in script().splitlines() if line.strip() and not line.startswith(("import", "from"))]
    assert len(lines) < 20


@pytest.mark.parametrize("place", streamed(), ids=str)
def test_the_script_says_how_each_response_ended(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the text as it came, then the end, the provider's own word for it, and what stands out."""
    assert isinstance(place.cell, Cell)
    expected = place.cell.expected
    *text, ended = last_words(NAMES[place.api], [place.cell.play], capsys)
    reason = "" if expected.raw_reason is None else f" ({expected.raw_reason})"
    assert "\n".join(text) == expected.text
    assert ended.startswith(f"{NAMES[place.api]} ended: {expected.end}{reason}: ")
    if place.api is not Api.GEMINI or "call" not in place.row:  # its calls arrive whole
        assert SAID.get(place.row, "") in ended


@pytest.mark.parametrize("api", [Api.OPENAI_CHAT, Api.ANTHROPIC_MESSAGES])
def test_a_marker_without_a_reason_is_said(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a protocol has an end marker, one that no reason came before proves nothing, and the reader is told."""
    place = next(p for p in streamed() if p.api is api and p.row == "end marker without finish")
    assert isinstance(place.cell, Cell)
    assert "an end marker without a reason" in last_words(NAMES[api], [place.cell.play], capsys)[-1]


@pytest.mark.parametrize("name", NAMES.values())
def test_a_cap_that_was_reached_is_said(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A response that used up what was asked for was cut, although its reason says that it is whole."""
    (_, ended) = last_words(name, [Play(response=reply("All of it?", usage=(10, 5000)))], capsys)
    assert "ended: limit (" in ended
    assert ended.endswith("text; cap reached")
