"""The scripted model keeps the rules of the port, and says when its script ends."""

import contextlib

import anyio
import pytest

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.parts import OpaquePart, ReasoningPart
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import BodyEnd, End, FailureKind, ModelResponse
from signoff.errors import PolicyError, ProtocolViolation
from signoff.models import prompt
from signoff.models.scripted import ScriptedModel, ScriptedStream, ScriptExhausted
from signoff.ports import Model
from signoff.testing import call, reply
from tests.models.asking import run


async def all_of(model: ScriptedModel, asked: str = "Hi.") -> tuple[list[Delta], ModelResponse]:
    """The deltas and the record of the next act."""
    async with model.stream(asked) as stream:
        deltas = [delta async for delta in stream]
    return deltas, stream.response


def test_a_script_is_played_in_order() -> None:
    """Each request gets the next response, whole or in pieces, and is kept for the test to look at."""

    async def ask() -> None:
        first, second = reply("one"), reply("two")
        async with ScriptedModel([first, second, lambda _: reply("three")], name="mine") as scripted:
            model: Model = scripted
            assert (model.name, scripted.left) == ("mine", 3)
            assert await model.respond(prompt("a")) is first
            assert (await all_of(scripted, "b"))[1] is second
            assert (await scripted.respond("c")).text == "three"
            assert scripted.requests == [prompt("a"), prompt("b"), prompt("c")]
            assert scripted.left == 0

    run(ask)


def test_the_deltas_are_cut_from_the_parts() -> None:
    """Reasoning, text, refusals and calls come in their order, in pieces, and calls are numbered among themselves."""
    response = reply("abcde", reasoning="think", refusal="no", calls=[call("f", "{}"), call("g", '{"a":1}')])

    async def ask() -> None:
        deltas, record = await all_of(ScriptedModel([response], piece=3))
        assert record is response
        assert deltas == [
            ReasoningDelta(text="thi"),
            ReasoningDelta(text="nk"),
            TextDelta(text="abc"),
            TextDelta(text="de"),
            RefusalDelta(text="no"),
            CallStarted(index=0, call_id="call_1", name="f"),
            CallDelta(index=0, text="{}"),
            CallStarted(index=1, call_id="call_2", name="g"),
            CallDelta(index=1, text='{"a'),
            CallDelta(index=1, text='":1'),
            CallDelta(index=1, text="}"),
        ]

    run(ask)


def test_what_has_no_text_is_in_the_record_only() -> None:
    """A part without a neutral form, and an empty response, give no delta."""
    opaque = reply(parts=(OpaquePart(kind="image", native="{}"), ReasoningPart(redacted=True)))

    async def ask() -> None:
        assert await all_of(ScriptedModel([opaque])) == ([], opaque)

    run(ask)


def test_a_script_may_raise_and_may_wait() -> None:
    """An exception in the script is raised to the caller; a function may be awaited, and sees the request."""

    async def later(request: ModelRequest) -> ModelResponse:
        await anyio.lowlevel.checkpoint()
        return reply(f"{len(request.messages)} message")

    async def ask() -> None:
        model = ScriptedModel([LookupError("scripted"), LookupError("scripted"), later])
        with pytest.raises(LookupError, match="scripted"):
            await model.respond("Hi.")
        with pytest.raises(LookupError, match="scripted"):
            await all_of(model)
        assert (await all_of(model))[1].text == "1 message"

    run(ask)


def test_an_exhausted_script_says_so() -> None:
    """A request beyond the script raises what no driver turns into an outcome."""

    async def ask() -> None:
        model = ScriptedModel([reply("one")])
        await model.respond("Hi.")
        with pytest.raises(ScriptExhausted, match="request 2 came, and the script holds 1"):
            await model.respond("Hi.")
        with pytest.raises(ScriptExhausted, match="request 3 came"):
            await all_of(model)

    assert not issubclass(ScriptExhausted, Exception)
    run(ask)


def test_leaving_early_is_recorded_with_what_had_come() -> None:
    """The record of a stream that was left is cut inside its last part: a call in it is not closed."""
    response = reply("ab", calls=[call("f", '{"a": 1}'), call("g")])

    async def ask() -> None:
        async with ScriptedModel([response], piece=4).stream("Hi.") as stream:
            async for delta in stream:
                if isinstance(delta, CallDelta):
                    break
        record = stream.response
        assert (record.end, record.body_end, record.text, record.complete) == (
            End.TRANSPORT,
            BodyEnd.CUT,
            "ab",
            False,
        )
        assert record.failure is not None
        assert (record.failure.kind, record.failure.where) == (FailureKind.CANCELLED, "host")
        assert [(one.arguments, one.closed) for one in record.calls] == [('{"a"', False)]

    run(ask)


def test_a_cancellation_is_recorded_and_passed_on() -> None:
    """A deadline that falls while the script waits ends the iteration, and the record says that it was cancelled."""

    async def ask() -> None:
        asked = anyio.Event()

        async def never(request: ModelRequest) -> ModelResponse:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError(request)

        async def read(stream: ScriptedStream, scope: anyio.CancelScope) -> None:
            with scope:
                async for _ in stream:
                    pass

        async with ScriptedModel([never]).stream("Hi.") as stream:
            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()
                group.start_soon(read, stream, scope)
                await asked.wait()
                scope.cancel()
            assert scope.cancelled_caught
            assert stream.response.failure is not None
            assert stream.response.failure.kind is FailureKind.CANCELLED

    run(ask)


def test_an_act_is_played_once() -> None:
    """Whoever reads beside another is refused, and disturbs nothing; what was left or has failed is not begun again."""

    async def ask() -> None:
        played: list[str] = []
        begun, go = anyio.Event(), anyio.Event()

        async def slowly(request: ModelRequest) -> ModelResponse:
            played.append("slowly")
            begun.set()
            await go.wait()
            assert request == prompt("Hi.")
            return reply("one")

        def fail(_: ModelRequest) -> ModelResponse:
            played.append("fail")
            raise ConnectionError

        model, texts = ScriptedModel([slowly, fail, fail]), list[str]()

        async def read(stream: ScriptedStream) -> None:
            texts.extend([delta.text async for delta in stream if isinstance(delta, TextDelta)])

        async with model.stream("Hi.") as stream, anyio.create_task_group() as group:
            group.start_soon(read, stream)
            await begun.wait()
            with pytest.raises(ProtocolViolation, match="two at once"), anyio.fail_after(10):
                await anext(stream)
            go.set()
        assert (played, texts, stream.response.text) == (["slowly"], ["one"], "one")
        async with model.stream("Hi.") as failing:
            with pytest.raises(ConnectionError):
                await anext(failing)
            assert [delta async for delta in failing] == []
        async with model.stream("Hi.") as left:
            pass
        assert [delta async for delta in left] == []
        assert played == ["slowly", "fail"]

    run(ask)


@pytest.mark.parametrize("script", [[reply("one"), reply("two")], []])
def test_a_stream_is_entered_once(script: list[ModelResponse]) -> None:
    """Entered again, it takes no further act, whether or not it had got one."""

    async def ask() -> None:
        model = ScriptedModel(script)
        stream = model.stream("Hi.")
        with pytest.raises(ScriptExhausted) if not script else contextlib.nullcontext():
            async with stream as begun:
                assert [delta async for delta in begun] == [TextDelta("one")]
        with pytest.raises(ProtocolViolation, match="entered again"):
            await stream.__aenter__()
        assert (len(model.requests), model.left) == (1, len(script[1:]))

    run(ask)


def test_what_cannot_be_is_refused() -> None:
    """A record before its end, a stream outside its context, a closed model and a piece of nothing are errors."""

    async def ask() -> None:
        model = ScriptedModel([reply("one")])
        async with model.stream("Hi.") as stream:
            with pytest.raises(ProtocolViolation, match="in progress"):
                _ = stream.response
        outside = ScriptedStream(lambda: model._next(prompt("Hi.")), 1)
        with pytest.raises(ProtocolViolation, match="outside its context"):
            await anext(outside)
        await model.close()
        await model.close()
        with pytest.raises(ProtocolViolation, match="closed"):
            await model.respond("Hi.")

    with pytest.raises(PolicyError, match="at least one"):
        ScriptedModel([], piece=0)
    run(ask)
