"""Models of pydantic-ai as a port: a stream asks once, and what a provider's client raises brings no frames of it."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Self

import anyio
import pytest
from pydantic_ai import exceptions
from pydantic_ai.models.function import AgentInfo, FunctionModel

from signoff.core.model.deltas import Delta, TextDelta
from signoff.errors import ConfigError, PolicyError, ProtocolViolation
from signoff.models.pydantic_ai import PydanticAIModel
from tests.models.asking import run
from tests.models.providers import KEY


class Scripted(FunctionModel):
    """A model whose client does what a test says; the provider's frames hold the key."""

    def __init__(self, answer: Callable[[], Awaitable[object]], client: Callable[[], Awaitable[object]]) -> None:
        self.asked = 0
        self.left = 0
        self.client = client

        async def stream(messages: object, info: AgentInfo) -> AsyncIterator[str]:
            del messages, info
            self.asked += 1
            headers = {"authorization": str(KEY)}
            yield "One"
            await answer()
            yield f"Two{len(headers)}"

        super().__init__(stream_function=stream)

    async def __aenter__(self) -> Self:
        headers = {"authorization": str(KEY)}
        await self.client()
        del headers
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left += 1


async def nothing() -> None:
    """Do nothing."""


def raising(error: BaseException) -> Callable[[], Awaitable[object]]:
    """What raises this."""

    async def act() -> None:
        raise error

    return act


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and all that it leads to, hidden or not."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def told(error: BaseException) -> str:
    """All that an exception leads to: texts, and the variables of every frame."""
    frames = [frame.f_locals for one in chained(error) for frame, _ in traceback.walk_tb(one.__traceback__)]
    return repr(frames) + repr(list(chained(error)))


async def raised_by(action: Callable[[], Awaitable[object]]) -> BaseException:
    """What an action raises."""
    try:
        await action()
    except BaseException as error:  # noqa: BLE001 - all that may come is looked at
        return error
    raise AssertionError("nothing was raised")


async def cancelled(action: Callable[[], Awaitable[object]], reached: anyio.Event) -> BaseException:
    """What an action raises when its task is cancelled at a place that it reached, be that shielded or not."""
    found: list[BaseException] = []
    tasks: list[asyncio.Task[object]] = []

    async def act() -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        found.append(await raised_by(action))

    async with anyio.create_task_group() as group:
        group.start_soon(act)
        await reached.wait()
        tasks[0].cancel()
    assert isinstance(found[0], asyncio.CancelledError)
    return found[0]


def test_two_readers_of_a_stream_ask_once() -> None:
    """The second is refused, and the first goes on."""

    async def ask() -> None:
        entered, go_on = anyio.Event(), anyio.Event()

        async def pause() -> None:
            entered.set()
            await go_on.wait()

        theirs = Scripted(pause, nothing)
        async with PydanticAIModel(theirs) as model, model.stream("Hi.") as stream:
            read: list[Delta] = []

            async def first() -> None:
                read.extend([delta async for delta in stream])

            async with anyio.create_task_group() as group:
                group.start_soon(first)
                await entered.wait()
                with pytest.raises(ProtocolViolation, match="two at once"):
                    await anext(stream)
                go_on.set()
            assert (read, theirs.asked) == ([TextDelta(text="One"), TextDelta(text="Two1")], 1)

    run(ask)


def test_two_readers_of_an_unsent_request_send_it_once() -> None:
    """The mark is set before anything is waited for."""

    async def ask() -> None:
        theirs = Scripted(nothing, nothing)
        found: list[object] = []
        async with PydanticAIModel(theirs) as model, model.stream("Hi.") as stream:

            async def read() -> None:
                try:
                    found.append(await anext(stream))
                except ProtocolViolation as error:
                    found.append(type(error))

            async with anyio.create_task_group() as group:
                group.start_soon(read)
                group.start_soon(read)
        assert theirs.asked == 1
        assert sorted(found, key=repr) == [ProtocolViolation, TextDelta(text="One")]

    run(ask)


def test_a_used_stream_cannot_be_entered_again() -> None:
    """Neither while it is in use nor afterwards; nothing is sent again, and its record stays."""

    async def ask() -> None:
        theirs = Scripted(nothing, nothing)
        async with PydanticAIModel(theirs) as model:
            stream = model.stream("Hi.")
            async with stream as reading:
                with pytest.raises(ProtocolViolation, match="second time"):
                    await stream.__aenter__()
                _ = [delta async for delta in reading]
            with pytest.raises(ProtocolViolation, match="second time"):
                await stream.__aenter__()
            assert (reading.response.text, theirs.asked) == ("OneTwo1", 1)

    run(ask)


@pytest.mark.parametrize(
    ("theirs", "kind"),
    [
        (DeprecationWarning("old"), DeprecationWarning),
        (ProtocolViolation("theirs"), ProtocolViolation),
        (exceptions.UserError(f"not with {KEY}"), PolicyError),
        (SystemExit(), SystemExit),
    ],
)
def test_what_is_raised_while_reading_has_no_frames_of_theirs(theirs: BaseException, kind: type[BaseException]) -> None:
    """Nor does it lead to an exception that has them."""

    async def ask() -> None:
        theirs.__context__ = ValueError(KEY)
        async with PydanticAIModel(Scripted(raising(theirs), nothing)) as model:
            error = await raised_by(lambda: model.respond("Hi."))
        assert (type(error), KEY in told(error)) == (kind, False)

    run(ask)


def test_a_cancellation_has_no_frames_of_theirs() -> None:
    """Wherever it meets the provider's client: while it starts, while it is read, while it is left."""

    async def ask() -> None:
        for place in ("start", "read", "leave"):
            reached = anyio.Event()

            async def wait(reached: anyio.Event = reached) -> None:
                reached.set()
                await anyio.sleep_forever()

            theirs = Scripted(wait, wait if place == "start" else nothing)
            model = PydanticAIModel(left_slowly(wait) if place == "leave" else theirs)
            action = reading_one(model) if place == "leave" else reading_all(model)
            error = await cancelled(action, reached)
            assert (place, KEY in told(error)) == (place, False)
            await model.close()

    run(ask)


def left_slowly(wait: Callable[[], Awaitable[object]]) -> FunctionModel:
    """A model whose stream takes its time to be left."""

    async def stream(messages: object, info: AgentInfo) -> AsyncIterator[str]:
        del messages, info
        headers = {"authorization": str(KEY)}
        try:
            yield "One"
            yield "Two"
        finally:
            await wait()
            del headers

    return FunctionModel(stream_function=stream)


def reading_one(model: PydanticAIModel) -> Callable[[], Awaitable[object]]:
    """Read one delta and leave."""

    async def read() -> None:
        async with model.stream("Hi.") as stream:
            await anext(stream)

    return read


def reading_all(model: PydanticAIModel) -> Callable[[], Awaitable[object]]:
    """Read a whole response."""
    return lambda: model.respond("Hi.")


@pytest.mark.parametrize(
    ("theirs", "kind"),
    [
        (RuntimeError(f"failed with {KEY}"), ConfigError),
        (DeprecationWarning("old"), DeprecationWarning),
        (SystemExit(), SystemExit),
    ],
)
def test_a_client_that_does_not_start_shows_nothing_and_is_started_again(
    theirs: BaseException, kind: type[BaseException]
) -> None:
    """Neither its text nor its frames; the next request tries anew, and only a client that started is left."""

    async def ask() -> None:
        scripted = Scripted(nothing, raising(theirs))
        model = PydanticAIModel(scripted)
        error = await raised_by(lambda: model.respond("Hi."))
        assert (type(error), KEY in told(error), scripted.asked) == (kind, False, 0)
        await model.close()
        assert scripted.left == 0
        model = PydanticAIModel(scripted)
        await raised_by(lambda: model.respond("Hi."))
        scripted.client = nothing
        assert (await model.respond("Hi.")).text == "OneTwo1"
        await model.close()
        await model.close()
        assert scripted.left == 1

    run(ask)


def test_first_requests_at_once_wait_for_the_client() -> None:
    """It is started once, and nothing is sent before it is; closing waits for it too."""

    async def ask() -> None:
        starts, asked_before = 0, []
        starting, go_on = anyio.Event(), anyio.Event()

        async def start() -> None:
            nonlocal starts
            starts += 1
            starting.set()
            await go_on.wait()
            asked_before.append(theirs.asked)

        theirs = Scripted(nothing, start)
        model = PydanticAIModel(theirs)
        async with anyio.create_task_group() as group:
            group.start_soon(model.respond, "Hi.")
            group.start_soon(model.respond, "Ho.")
            await starting.wait()
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        assert (starts, asked_before, theirs.asked) == (1, [0], 2)
        await model.close()
        assert theirs.left == 1

    run(ask)


def test_a_client_that_fails_to_close_is_let_go() -> None:
    """Its exception, which may hold a key, changes nothing."""

    class Stuck(Scripted):
        async def __aexit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            raise RuntimeError(KEY)

    async def ask() -> None:
        model = PydanticAIModel(Stuck(nothing, nothing))
        assert (await model.respond("Hi.")).text == "OneTwo1"
        await model.close()
        with pytest.raises(ProtocolViolation, match="closed"):
            await model.respond("Hi.")

    run(ask)
