"""Models of pydantic-ai as a port: which ends of a response are believed.

The library's own clients of three providers speak to a scripted server over real sockets.
"""

import json
from collections.abc import AsyncIterator

import anyio
import pytest
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, TextDelta
from signoff.core.model.parts import Api
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse
from signoff.errors import ConfigError, ProtocolViolation
from signoff.models import Timeouts, open_model, prompt
from signoff.models.pydantic_ai import PydanticAIModel, PydanticAIStream
from signoff.ports import Model
from signoff.testing import BEFORE_HEAD, Fault, Play, ScriptedServer, call, reply
from signoff.testing.scripted_server import Act
from tests.models.asking import run
from tests.models.providers import ALL, CHAT, CLAUDE, GEMINI, KEY, RESPONSES, Point

HASTY = Timeouts(idle=0.3)
PATIENT = Timeouts(idle=30)


def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    """A chunk of a Chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: %b\n\n" % json.dumps(whole).encode()


def sse(*chunks: bytes, fault: Fault = Fault.NONE) -> Play:
    """A raw stream."""
    return Play(body=b"".join(chunks), content_type="text/event-stream", fault=fault)


HALF = chunk({"role": "assistant", "content": "Half of it"})
DONE = b"data: [DONE]\n\n"


def heard(act: Act, at: Point, name: str = CHAT) -> tuple[list[Delta], ModelResponse]:
    """The deltas and the record of one act; the provider's client asked once."""
    found: list[tuple[list[Delta], ModelResponse]] = []

    async def ask() -> None:
        async with ScriptedServer([act]) as server:
            at(server)
            stalls = isinstance(act, Play) and act.fault is Fault.STALL
            timeouts = HASTY if stalls else PATIENT
            async with open_model(name, timeouts=timeouts) as model, model.stream("Hi.") as stream:
                deltas = [delta async for delta in stream]
            found.append((deltas, stream.response))
            assert [seen.stream for seen in server.requests] == [True]

    run(ask)
    return found[0]


def kind_of(response: ModelResponse) -> FailureKind | None:
    """How a response failed, if it did."""
    return None if response.failure is None else response.failure.kind


@pytest.mark.parametrize("name", ALL)
def test_a_whole_response_is_believed(name: str, at: Point) -> None:
    """Text, reasoning, the provider's own reason and its tokens are in the record."""
    deltas, response = heard(reply("Hello there.", reasoning="Well."), at, name)
    assert (response.api, response.end, response.complete) == (Api.OTHER, End.NORMAL, True)
    assert (response.text, response.streamed, response.body_end) == ("Hello there.", True, BodyEnd.CLEAN)
    assert response.raw_reason in {"stop", "completed", "end_turn", "STOP"}
    assert response.usage is not None
    assert (response.usage.input, response.usage.output, response.usage.total) == (10, 5, 15)
    assert (TextDelta(text="Hello there.") in deltas) is True
    assert (ReasoningDelta(text="Well.") in deltas) is ("Well." in response.reasoning)


@pytest.mark.parametrize("name", ALL)
def test_calls_are_taken_as_they_came(name: str, at: Point) -> None:
    """Calls keep their order and arguments, and the deltas say the same."""
    deltas, response = heard(reply("So.", calls=[call("f", {"a": 1}), call("g", {})]), at, name)
    assert response.end is End.TOOL_CALLS
    assert [(one.name, json.loads(one.arguments), one.closed) for one in response.calls] == [
        ("f", {"a": 1}, True),
        ("g", {}, True),
    ]
    assert [(one.index, one.name) for one in deltas if isinstance(one, CallStarted)] == [(0, "f"), (1, "g")]
    first = "".join(one.text for one in deltas if isinstance(one, CallDelta) and one.index == 0)
    assert json.loads(first) == {"a": 1}
    assert ("arguments_rewritten" in response.oddities) is (name == GEMINI)


@pytest.mark.parametrize("name", [CHAT, RESPONSES, CLAUDE])
@pytest.mark.parametrize("arguments", ['{"path": "a.txt", "mode": ', '{"a": 1, "a": 2}', '["a"]'])
def test_broken_arguments_are_kept_and_not_believed(arguments: str, name: str, at: Point) -> None:
    """What is not one strict JSON object is a malformed call, with its text as it came."""
    _, response = heard(reply(calls=[call("f", arguments)]), at, name)
    assert (response.end, response.complete) == (End.MALFORMED_CALL, False)
    assert response.calls[0].arguments == arguments


@pytest.mark.parametrize("name", ALL)
def test_a_limit_is_a_limit(name: str, at: Point) -> None:
    """A response that was cut by its bound is not whole."""
    _, response = heard(reply("Half", end=End.LIMIT), at, name)
    assert (response.end, response.text, response.complete) == (End.LIMIT, "Half", False)


@pytest.mark.parametrize("name", [CHAT, RESPONSES, CLAUDE])
def test_a_refusal_is_a_refusal(name: str, at: Point) -> None:
    """Its text is kept, and it is no answer."""
    _, response = heard(reply(refusal="No."), at, name)
    assert (response.end, response.refusal or response.text, response.complete) == (End.REFUSAL, "No.", False)


def test_a_pause_is_no_end(at: Point) -> None:
    """A turn that the provider suspended waits to be continued."""
    _, response = heard(reply("One moment.", end=End.PAUSED), at, CLAUDE)
    assert (response.end, response.raw_reason, response.complete) == (End.PAUSED, "pause_turn", False)


def test_a_stream_without_a_reason_is_not_whole(at: Point) -> None:
    """The library says `stop` of a Chat stream that ends properly without a finish reason; the record does not."""
    for play in (sse(HALF, DONE), sse(HALF)):
        _, response = heard(play, at)
        assert (response.end, response.raw_reason, response.text) == (End.TRANSPORT, None, "Half of it")
        assert (response.saw_reason, response.body_end, response.complete) == (False, BodyEnd.CLEAN, False)


def test_a_reason_that_nobody_knows_is_unknown(at: Point) -> None:
    """The provider's word is kept, and is no normal end."""
    _, response = heard(sse(HALF, chunk({}, "weird_reason"), DONE), at)
    assert (response.end, response.raw_reason, response.complete) == (End.UNKNOWN, "weird_reason", False)


@pytest.mark.parametrize(("fault", "kind"), [(Fault.CUT, FailureKind.CUT), (Fault.STALL, FailureKind.PROVIDER_TIMEOUT)])
def test_a_break_inside_is_recorded_with_what_came(fault: Fault, kind: FailureKind, at: Point) -> None:
    """A cut connection and a silent one differ, and the text so far is kept; a call that was cut is not closed."""
    begun = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a'}}
    _, response = heard(sse(HALF, chunk({"tool_calls": [begun]}), fault=fault), at)
    assert (response.end, response.text, response.body_end) == (End.TRANSPORT, "Half of it", BodyEnd.CUT)
    assert (kind_of(response), [(one.arguments, one.closed) for one in response.calls]) == (kind, [('{"a', False)])


@pytest.mark.parametrize("name", ALL)
def test_a_break_before_the_first_byte_is_no_connection(name: str, at: Point) -> None:
    """Nothing came, and nothing is believed."""
    _, response = heard(Play(fault=Fault.CUT, cut_after=BEFORE_HEAD), at, name)
    assert (response.end, kind_of(response)) == (End.TRANSPORT, FailureKind.CONNECTION)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (403, FailureKind.PERMISSION),
        (429, FailureKind.RATE_LIMITED),
        (500, FailureKind.SERVER_ERROR),
        (503, FailureKind.OVERLOADED),
    ],
)
def test_an_error_status_is_recorded_once(status: int, kind: FailureKind, name: str, at: Point) -> None:
    """The provider's client does not try again; the wait that was asked for is kept, the message is not."""
    play = Play(failure=Failure(kind=kind, where="http", status=status), headers={"retry-after": "7"})
    _, response = heard(play, at, name)
    assert response.failure is not None
    assert (response.end, response.failure.kind, response.failure.where) == (End.PROVIDER_ERROR, kind, "http")
    assert (response.failure.status, response.failure.retry_after) == (status, 7.0)
    assert response.failure.message_length == len("written in the script")
    assert "written in the script" not in repr(response)


@pytest.mark.parametrize("name", [CLAUDE, GEMINI])
def test_an_error_inside_a_stream_beats_what_came(name: str, at: Point) -> None:
    """An error in a stream that had begun is a failure of the stream."""
    failure = Failure(kind=FailureKind.OVERLOADED, where="stream", status=529)
    _, response = heard(Play(response=reply("Hel"), failure=failure, in_stream=True), at, name)
    assert response.failure is not None
    assert (response.end, response.failure.kind) == (End.PROVIDER_ERROR, FailureKind.OVERLOADED)
    assert (response.failure.where, response.text) == ("stream", "Hel")


@pytest.mark.parametrize("name", ALL)
def test_a_web_page_is_not_the_protocol(name: str, at: Point) -> None:
    """Whatever the provider's client raises over it becomes the record."""
    _, response = heard(Play(body=b"<html>busy</html>", content_type="text/html"), at, name)
    assert (response.end, kind_of(response)) == (End.PROVIDER_ERROR, FailureKind.NOT_THE_PROTOCOL)


@pytest.mark.parametrize("name", ALL)
def test_missing_usage_is_none(name: str, at: Point) -> None:
    """Tokens that the provider did not count are absent and not zero."""
    _, response = heard(reply("Hi.", usage=None), at, name)
    assert (response.end, response.usage) == (End.NORMAL, None)


def test_any_exception_of_a_client_becomes_the_record() -> None:
    """An error that is none of the library's own, such as an IndexError for an empty list, is no answer."""

    async def broken(messages: object, info: AgentInfo) -> AsyncIterator[str]:
        del messages, info
        yield "Half"
        raise IndexError("sk-secret")

    async def ask() -> None:
        model: Model = PydanticAIModel(FunctionModel(stream_function=broken))
        response = await model.respond(prompt("Hi."))
        assert response.failure is not None
        assert (response.failure.kind, response.failure.type) == (FailureKind.NOT_THE_PROTOCOL, "IndexError")
        assert (response.text, "secret" in repr(response)) == ("Half", False)
        await model.close()

    run(ask)


def test_a_model_that_gives_no_reason_is_never_whole() -> None:
    """A function of the library's, which says nothing of how it ended, is no proof of an end."""

    async def silent(messages: object, info: AgentInfo) -> AsyncIterator[str]:
        del messages, info
        yield "All of it."

    async def ask() -> None:
        model = PydanticAIModel(FunctionModel(stream_function=silent), name="mine")
        response = await model.respond("Hi.")
        assert (model.name, response.text, response.end) == ("mine", "All of it.", End.TRANSPORT)

    run(ask)


@pytest.mark.parametrize("name", ALL)
def test_leaving_early_closes_the_connection(name: str, at: Point) -> None:
    """A context that is left before the end is recorded as cancelled, and the server sees its client go.

    Google's client keeps the connection until the model is closed.
    """

    async def ask() -> None:
        text = reply("One, two, three, four, five.")
        async with ScriptedServer([Play(response=text, fault=Fault.STALL)]) as server:
            at(server)
            model = open_model(name, timeouts=Timeouts(idle=None))
            async with model.stream("Hi.") as stream:
                async for _ in stream:
                    break
            if name == GEMINI:
                await model.close()
            await server.requests[0].until_left()
            await model.close()
            assert (stream.response.end, kind_of(stream.response)) == (End.TRANSPORT, FailureKind.CANCELLED)

    run(ask)


def test_a_cancellation_reaches_the_caller(at: Point) -> None:
    """It ends the iteration as cancelled, and the record says so with the text so far."""

    async def read(stream: PydanticAIStream) -> None:
        with anyio.CancelScope() as scope:
            async for _ in stream:
                scope.cancel()
        assert scope.cancelled_caught

    async def ask() -> None:
        async with ScriptedServer([sse(HALF, fault=Fault.STALL)]) as server:
            at(server)
            model = open_model(CHAT, timeouts=Timeouts(idle=None))
            assert isinstance(model, PydanticAIModel)
            async with model, model.stream("Hi.") as stream:
                await read(stream)
                assert (kind_of(stream.response), stream.response.text) == (FailureKind.CANCELLED, "Half of it")

    run(ask)


def test_a_client_that_repeats_by_itself_is_refused(monkeypatch: pytest.MonkeyPatch, at: Point) -> None:
    """A provider whose client cannot be told to ask once is no model that asks once."""
    monkeypatch.setattr(OpenAIChatModel, "unsupported_settings", frozenset({"max_retries"}))

    async def ask() -> None:
        async with ScriptedServer() as server:
            at(server)
            with pytest.raises(ConfigError, match="repeats requests by itself"):
                open_model(CHAT)

    run(ask)


def test_a_closed_model_says_so(at: Point) -> None:
    """Closing twice is nothing; asking afterwards, and reading before the end, are errors."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hi.")]) as server:
            at(server)
            model = open_model(CHAT)
            async with model.stream("Hi.") as stream:
                with pytest.raises(ProtocolViolation, match="in progress"):
                    _ = stream.response
                async for _ in stream:
                    pass
            await model.close()
            await model.close()
            with pytest.raises(ProtocolViolation, match="closed"):
                await model.respond("Hi.")
            assert KEY not in repr(model) + repr(vars(stream)) + repr(stream.response)

    run(ask)
