"""Every end of a response, in every protocol, streamed and not: over real sockets, through a model as users open it."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import anyio
import msgspec
import pytest

from signoff.core.model.parts import Api
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import ModelResponse
from signoff.models import Timeouts, open_model, prompt
from signoff.testing import Fault, ScriptedServer
from tests.streaming import streamed
from tests.wire.matrix import anthropic, chat, gemini, responses
from tests.wire.matrix.table import ROWS, Absent, Cell, Expected, Table

TABLES: Mapping[Api, Table] = {
    Api.OPENAI_CHAT: chat.TABLE,
    Api.OPENAI_RESPONSES: responses.TABLE,
    Api.ANTHROPIC_MESSAGES: anthropic.TABLE,
    Api.GEMINI: gemini.TABLE,
}
NAMES = {
    Api.OPENAI_CHAT: ("openai:m-1", "/v1"),
    Api.OPENAI_RESPONSES: ("openai-responses:m-1", "/v1"),
    Api.ANTHROPIC_MESSAGES: ("anthropic:m-1", ""),
    Api.GEMINI: ("google:m-1", ""),
}


class Place(NamedTuple):
    """Where a cell stands."""

    api: Api
    row: str
    stream: bool

    @property
    def cell(self) -> Cell | Absent:
        """What stands there."""
        return TABLES[self.api].cells[self.row, self.stream]

    def __str__(self) -> str:
        return f"{self.api.value}-{self.row}-{'stream' if self.stream else 'whole'}"


PLACES = [Place(api, row, stream) for api in TABLES for row in ROWS for stream in (True, False)]


def test_the_table_is_total() -> None:
    """Every protocol has a cell for every row, streamed and not, and an empty one says why."""
    assert {api: {place for place in PLACES if place.api is api} for api in TABLES} == {
        api: {Place(api, *key) for key in table.cells} for api, table in TABLES.items()
    }
    assert [place for place in PLACES if isinstance(place.cell, Absent) and len(place.cell.reason) < 10] == []


def test_the_table_fills_most_of_its_cells() -> None:
    """No row is empty in every protocol, and each protocol has the greater part of its cells."""
    filled = [place for place in PLACES if isinstance(place.cell, Cell)]
    assert {place.row for place in filled} == set(ROWS)
    assert len(filled) > len(PLACES) * 3 // 4


@pytest.mark.scenario("MB-201")
@pytest.mark.parametrize("place", [place for place in PLACES if isinstance(place.cell, Cell)], ids=str)
def test_each_end_is_told_apart(place: Place) -> None:
    """The record of a response says what was played: its end, reason, text, calls, usage, and its failure."""
    assert isinstance(place.cell, Cell)
    response = anyio.run(partial(_ask, place, place.cell))
    assert _seen(response) == {"api": place.api, "complete": place.cell.expected.complete, **_said(place.cell.expected)}


async def _ask(place: Place, cell: Cell) -> ModelResponse:
    """Play the cell to a model and return what it makes of it."""
    name, path = NAMES[place.api]
    asked = prompt("Say hello.")
    request = ModelRequest(messages=asked.messages, max_output_tokens=cell.cap)
    # Only a stalled server is waited for, and that briefly.
    timeouts = Timeouts(idle=0.1 if cell.play.fault is Fault.STALL else 30)
    async with (
        ScriptedServer([cell.play]) as server,
        open_model(name, key=lambda: "sk-test", base_url=f"{server.url}{path}", timeouts=timeouts) as model,
    ):
        response = await (streamed(model, request) if place.stream else model.respond(request))
        assert [seen.stream for seen in server.requests] == [place.stream]
        return response


def _seen(response: ModelResponse) -> Mapping[str, object]:
    usage, failure = response.usage, response.failure
    return {
        "api": response.api,
        "end": response.end,
        "raw_reason": response.raw_reason,
        "complete": response.complete,
        "text": response.text,
        "reasoning": response.reasoning,
        "refusal": response.refusal,
        "calls": len(response.calls),
        "usage": None if usage is None else (usage.input, usage.output),
        "failure": None if failure is None else failure.kind,
        "where": None if failure is None else failure.where,
        "retry_after": None if failure is None else failure.retry_after,
        "body_end": response.body_end,
    }


def _said(expected: Expected) -> Mapping[str, object]:
    return msgspec.structs.asdict(expected)
