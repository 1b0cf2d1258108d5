"""What the tests of answers share: streams to be played, a listener that moves the clock, and models that misbehave."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import orjson

from signoff.core.boundary import AnswerPolicy, BoundaryReason, StrictFinish
from signoff.core.generation import Answer, Attempt, GenerationLimits, GenerationReceipt, Stopped, Usable
from signoff.core.model.deltas import Delta
from signoff.core.model.parts import TextPart
from signoff.core.model.request import AssistantMessage, ModelRequest, Tool, UserMessage
from signoff.core.model.response import ModelResponse
from signoff.errors import ProtocolViolation
from signoff.models import Timeouts
from signoff.models.http import HttpModel
from signoff.runtime.answer import AnswerSettings, answer
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock, Fault, Play, ScriptedServer, SeenRequest
from signoff.testing.scripted_server import Act
from tests.models.asking import PATIENT, model_at, run

NAMES = ("openai:demo", "openai-responses:demo", "anthropic:demo", "google:demo")
PLAIN = ModelRequest(messages=(UserMessage(parts=(TextPart(text="Fix it."),)),))
WITH_TOOLS = ModelRequest(messages=PLAIN.messages, tools=(Tool(name="write"), Tool(name="read")))


def chunk(*, finish: str | None = None, **delta: object) -> bytes:
    """One frame of a Chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\n"


def arguments(text: str, *, call_id: str = "") -> bytes:
    """One frame with more of a call's arguments; with an id it is the first."""
    begun = {"id": call_id, "type": "function"} if call_id else {}
    function = {"arguments": text, **({"name": "write"} if call_id else {})}
    return chunk(tool_calls=[{"index": 0, **begun, "function": function}])


def stream(*frames: bytes, fault: Fault = Fault.NONE) -> Play:
    """A Chat stream of these frames; whole, unless a fault follows them."""
    end = b"" if fault is not Fault.NONE else b"data: [DONE]\n\n"
    return Play(body=b"".join(frames) + end, content_type="text/event-stream", fault=fault)


def talking(words: int = 100, *, fault: Fault = Fault.STALL) -> Play:
    """A stream of words, each a delta of 5 characters, that goes on and is never finished."""
    return stream(*(chunk(content=f"w{number:03d} ") for number in range(words)), fault=fault)


def answered(text: str = "Done.", *, finish: str = "stop") -> Play:
    """A stream that ends with a reason."""
    return stream(chunk(content=text), chunk(finish=finish))


class Heard:
    """Implements `AnswerListener`: keeps what it is told, and may do something at each delta."""

    def __init__(self, at_delta: Callable[[], object] = lambda: None) -> None:
        self.deltas: list[Delta] = []
        self.attempts: list[Attempt] = []
        self.begun = anyio.Event()
        self._at_delta = at_delta

    def added(self, delta: Delta) -> None:
        """Keep a delta."""
        self.deltas.append(delta)
        self.begun.set()
        self._at_delta()

    def attempted(self, attempt: Attempt) -> None:
        """Keep an attempt."""
        self.attempts.append(attempt)


def ticking(clock: FakeClock, seconds: float = 1.0) -> Heard:
    """A listener under which each delta takes this long."""
    return Heard(lambda: clock.advance(seconds))


def bounded(
    *, attempts: int = 2, limits: GenerationLimits | None = None, strict: StrictFinish = "on", grace: float = 2.0
) -> AnswerSettings:
    """Settings of an answer, in short."""
    policy = AnswerPolicy(max_model_attempts=attempts, strict_finish=strict)
    return AnswerSettings(policy=policy, limits=limits or GenerationLimits(), grace_seconds=grace)


def is_stopped(given: Answer) -> Stopped:
    """The answer, which must be none that can be used; nothing in it can be run."""
    assert isinstance(given, Stopped)
    assert given.response is None or not (given.response.calls or given.response.native)
    return given


def is_usable(given: Answer) -> Usable:
    """The answer, which must be one that can be used."""
    assert isinstance(given, Usable)
    return given


def only_receipt(given: Answer) -> GenerationReceipt:
    """The one receipt of an answer."""
    (receipt,) = given.receipts
    return receipt


def reasons(given: Answer) -> list[BoundaryReason | None]:
    """Why each attempt's response was not used."""
    return [attempt.reason for attempt in given.attempts]


@asynccontextmanager
async def playing(
    *script: Act, name: str = "openai:demo", timeouts: Timeouts = PATIENT
) -> AsyncIterator[tuple[ScriptedServer, HttpModel]]:
    """A scripted server and a model at it; every play of the script must be asked for."""
    async with ScriptedServer(script) as server, model_at(server, name, timeouts=timeouts) as model:
        yield server, model
        assert server.left == 0


def ask(
    *script: Act,
    request: ModelRequest = PLAIN,
    name: str = "openai:demo",
    settings: AnswerSettings | None = None,
    task: ModelTask | None = None,
) -> tuple[Answer, list[SeenRequest]]:
    """The answer of a script for which nobody has to wait, and what the server was asked."""
    found: list[Answer] = []
    seen: list[SeenRequest] = []

    async def asking() -> None:
        async with playing(*script, name=name) as (server, model):
            found.append(await answer(model, request, settings=settings, task=task, clock=FakeClock()))
            seen.extend(server.requests)

    run(asking)
    return found[0], seen


def texts_of(seen: SeenRequest) -> list[str]:
    """The text of each message of a request that a server saw."""
    assert seen.received is not None
    return [
        "".join(part.text for part in message.parts if isinstance(part, TextPart))
        for message in seen.received.request.messages
        if isinstance(message, UserMessage | AssistantMessage)
    ]


class OwnStream:
    """Implements `ResponseStream` over an iterator of deltas; a record that it has is ready when they have ended."""

    def __init__(self, deltas: AsyncIterator[Delta], response: ModelResponse | None) -> None:
        self._deltas = deltas
        self._response = response
        self.over = False

    async def __aiter__(self) -> AsyncIterator[Delta]:
        try:
            async for delta in self._deltas:
                yield delta
        finally:
            self.over = True

    @property
    def response(self) -> ModelResponse:
        """The record."""
        if not self.over or self._response is None:
            raise ProtocolViolation("there is no record yet; nothing was returned; read on")
        return self._response


class OwnModel:
    """Implements `Model` over a function of a test: what a client that signoff has not written may do."""

    def __init__(
        self, play: Callable[[ModelRequest], AsyncIterator[Delta]], response: ModelResponse | None = None
    ) -> None:
        self._play = play
        self._given = response
        self.calls = 0

    @property
    def name(self) -> str:
        """The name that records show."""
        return "own"

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[OwnStream]:
        """Play the function."""
        self.calls += 1
        deltas = self._play(request)
        yield OwnStream(deltas, self._given)

    async def respond(self, request: ModelRequest) -> ModelResponse:
        """Nothing here asks without a stream."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is held."""
