"""What the tests of models share: asking one over a real socket, under a deadline."""

from collections.abc import Awaitable, Callable

import anyio

from signoff.core.model.deltas import CallDelta, TextDelta
from signoff.core.model.response import ModelResponse
from signoff.models import Timeouts, open_model
from signoff.models.http import HttpModel
from signoff.testing import ScriptedServer
from signoff.testing.scripted_server import Act

KEY = "sk-test-0123456789"
PATIENT = Timeouts(idle=30)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test's own coroutine under a deadline."""

    async def bounded() -> None:
        with anyio.fail_after(30):
            await test()

    anyio.run(bounded)


def model_at(server: ScriptedServer, name: str = "openai:demo", *, timeouts: Timeouts = PATIENT) -> HttpModel:
    """A model at a scripted server."""
    model = open_model(name, base_url=server.url, key=lambda: KEY, timeouts=timeouts)
    assert isinstance(model, HttpModel)
    return model


async def streamed(model: HttpModel, asked: str = "Say hello.") -> tuple[str, ModelResponse]:
    """The text and arguments that came as deltas, and the record."""
    shown = ""
    async with model.stream(asked) as stream:
        async for delta in stream:
            shown += delta.text if isinstance(delta, TextDelta | CallDelta) else ""
    return shown, stream.response


def heard(act: Act, name: str = "openai:demo", *, timeouts: Timeouts = PATIENT) -> ModelResponse:
    """The record of one act of a server, streamed; it was asked exactly once."""
    found: list[ModelResponse] = []

    async def ask() -> None:
        async with ScriptedServer([act]) as server, model_at(server, name, timeouts=timeouts) as model:
            found.append((await streamed(model))[1])
            assert len(server.requests) == 1

    run(ask)
    return found[0]
