"""A model that plays a script, in process: for tests and examples of whatever asks a model.

It keeps the rules of the port: deltas come before their record, and a response that is left or cancelled is recorded as
cut. It never waits for time. What it says is taken as it is: a script may hold what no provider would send.
"""

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self, TypeAlias

import anyio.lowlevel
import msgspec

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import BodyEnd, Failure, FailureKind, ModelResponse
from signoff.errors import PolicyError, ProtocolViolation
from signoff.models.one_reader import OneReader, recorded
from signoff.models.pieces import Step, steps
from signoff.models.prompts import request_of

Act: TypeAlias = "ModelResponse | Exception | Callable[[ModelRequest], ModelResponse | Awaitable[ModelResponse]]"
"""One answer: a response, an exception to raise, or a function of the request that returns a response."""

_GIVEN_UP = Failure(kind=FailureKind.CANCELLED, where="host")


class ScriptExhausted(BaseException):
    """A scripted model was asked for more than its script holds.

    It is no `Exception`: a driver that turns those into outcomes would hide a fault of the test.
    """


class ScriptedModel:
    """Implements the port `Model`: gives one act of its script for each request, in their order.

    `piece` is how many characters of a text, of reasoning or of arguments a delta holds.
    """

    def __init__(self, responses: Iterable[Act], *, name: str = "scripted", piece: int = 16) -> None:
        if piece < 1:
            raise PolicyError(f"a scripted model's piece is {piece}; it was not made; give at least one character")
        self.requests: list[ModelRequest] = []
        """What was asked, in order."""
        self._script = deque(responses)
        self._name = name
        self._piece = piece
        self._closed = False

    @property
    def name(self) -> str:
        """The name that records show."""
        return self._name

    @property
    def left(self) -> int:
        """How many acts of the script were not asked for."""
        return len(self._script)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def stream(self, request: ModelRequest | str) -> AbstractAsyncContextManager["ScriptedStream"]:
        """Play the next act in pieces; the act is taken when the context is entered, and played in its iteration."""
        asked = request_of(request)
        return ScriptedStream(lambda: self._next(asked), self._piece)

    async def respond(self, request: ModelRequest | str) -> ModelResponse:
        """Play the next act at once."""
        asked = request_of(request)
        await anyio.lowlevel.checkpoint()
        return await self._next(asked)()

    async def close(self) -> None:
        """End the model; afterwards it refuses to be asked."""
        self._closed = True

    def _next(self, request: ModelRequest) -> Callable[[], Awaitable[ModelResponse]]:
        """Take the next act for a request; what is returned plays it."""
        if self._closed:
            raise ProtocolViolation(f"the model {self._name} is closed; nothing was played; make another")
        self.requests.append(request)
        if not self._script:
            count = len(self.requests)
            raise ScriptExhausted(f"request {count} came, and the script holds {count - 1}; write what it gets")
        act = self._script.popleft()

        async def play() -> ModelResponse:
            if isinstance(act, Exception):
                raise act
            if isinstance(act, ModelResponse):
                return act
            given = act(request)
            return await given if inspect.isawaitable(given) else given

        return play


class ScriptedStream:
    """Implements the port `ResponseStream`; it is the context manager too."""

    def __init__(self, begin: Callable[[], Callable[[], Awaitable[ModelResponse]]], piece: int) -> None:
        self._begin = begin
        self._piece = piece
        self._one_reader = OneReader()
        self._play: Callable[[], Awaitable[ModelResponse]] | None = None
        self._whole: ModelResponse | None = None
        self._steps: Iterator[Step] = iter(())
        self._come: dict[int, int] = {}
        self._response: ModelResponse | None = None

    async def __aenter__(self) -> Self:
        self._one_reader.enter()
        self._play = self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._break_off()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        """Give the next piece of the response. Its act is played once, whoever iterates."""
        with self._one_reader:
            try:
                await anyio.lowlevel.checkpoint()
                if self._whole is None and self._response is None:
                    await self._started()
            except BaseException:  # a script may raise anything, and a cancelled reader has its record too
                self._break_off()
                raise
        step = next(self._steps, None) if self._response is None else None
        if step is None:
            self._response = self._response or self._whole
            raise StopAsyncIteration
        self._come[step.place] = step.shown
        return step.delta

    @property
    def response(self) -> ModelResponse:
        """The record, once the iteration has ended or the context was left."""
        return recorded(self._response)

    async def _started(self) -> None:
        if self._play is None:
            raise ProtocolViolation("a stream was read outside its context; nothing was played; use `async with`")
        self._whole = await self._play()
        self._steps = steps(self._whole, self._piece)

    def _break_off(self) -> None:
        """Record what had come, if the end had not."""
        if self._response is None and self._play is not None:
            self._response = _cut(self._whole, self._come)


def _cut(whole: ModelResponse | None, come: dict[int, int]) -> ModelResponse:
    """The record of a response that was left when so many characters of its parts had come."""
    if whole is None:
        return conclude(Gathered(api=Api.OTHER, body_end=BodyEnd.CUT, streamed=True, failure=_GIVEN_UP), Exchange())
    last = max(come, default=-1)
    parts = (
        _shortened(part, come[place], whole=place < last) for place, part in enumerate(whole.parts) if place in come
    )
    facts = Gathered(
        api=whole.api,
        body_end=BodyEnd.CUT,
        streamed=True,
        parts=tuple(parts),
        response_id=whole.response_id,
        model=whole.model,
        failure=_GIVEN_UP,
    )
    return conclude(facts, Exchange(request_id=whole.request_id))


def _shortened(part: Part, length: int, *, whole: bool) -> Part:
    """A part as far as it came; a call counts as closed once another part had begun."""
    match part:
        case CallPart():
            return msgspec.structs.replace(part, arguments=part.arguments[:length], closed=part.closed and whole)
        case TextPart() | ReasoningPart() | RefusalPart():
            return msgspec.structs.replace(part, text=part.text[:length])
        case OpaquePart():
            return part
