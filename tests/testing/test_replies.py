"""Short ways to write a response say what they seem to say, and every protocol can speak them."""

from functools import partial

import anyio
import pytest

from signoff.core.model.parts import Api, CallKind, CallPart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.models import open_model
from signoff.testing import Play, ScriptedServer, call, reply
from signoff.testing.scripted_server import Act

MODELS = {
    Api.OPENAI_CHAT: ("openai:m-1", "/v1"),
    Api.OPENAI_RESPONSES: ("openai-responses:m-1", "/v1"),
    Api.ANTHROPIC_MESSAGES: ("anthropic:m-1", ""),
    Api.GEMINI: ("google:m-1", ""),
}


def test_a_reply_is_a_whole_response() -> None:
    """A text alone is a normal end with ten tokens in and five out."""
    said = reply("Hello.")
    assert (said.end, said.complete, said.text, said.raw_reason) == (End.NORMAL, True, "Hello.", None)
    assert said.parts == (TextPart(text="Hello."),)
    assert said.usage == TokenUsage(input=10, output=5, total=15)
    assert reply(usage=None).usage is None


def test_parts_stand_in_order() -> None:
    """Reasoning stands first, then text, refusal and calls; absent ones leave nothing."""
    said = reply("text", calls=[call("read")], reasoning="why", refusal="no")
    assert said.parts == (
        ReasoningPart(text="why"),
        TextPart(text="text"),
        RefusalPart(text="no"),
        CallPart(call_id="call_1", name="read", arguments="{}"),
    )
    assert reply().parts == ()


def test_the_end_follows_from_the_parts_unless_it_is_said() -> None:
    """Calls end a reply as calls, a refusal as a refusal, and a stated end as stated, with its word."""
    assert reply("text", calls=[call("read")]).end is End.TOOL_CALLS
    assert reply(refusal="no").end is End.REFUSAL
    half = reply("half", end=End.LIMIT, raw_reason="length", api=Api.GEMINI)
    assert (half.end, half.raw_reason, half.api) == (End.LIMIT, "length", Api.GEMINI)


def test_a_call_takes_a_mapping_or_a_text() -> None:
    """A mapping becomes JSON; a text is taken as it is, also when it is cut; calls without an id are numbered."""
    cut = call("write", '{"path":', call_id="own", closed=False)
    custom = call("shell", "ls -l", kind=CallKind.CUSTOM)
    said = reply(calls=[call("write", {"path": "ä"}), cut, custom])
    assert said.calls == (
        CallPart(call_id="call_1", name="write", arguments='{"path":"ä"}'),
        CallPart(call_id="own", name="write", arguments='{"path":', closed=False),
        CallPart(call_id="call_3", name="shell", arguments="ls -l", kind=CallKind.CUSTOM),
    )


def played(act: Act, api: Api, *, stream: bool) -> ModelResponse:
    """What a model of a protocol makes of a play."""
    return anyio.run(partial(ask, act, api, stream=stream))


async def ask(act: Act, api: Api, *, stream: bool) -> ModelResponse:
    """Play one act to a model of a protocol."""
    name, path = MODELS[api]
    async with (
        ScriptedServer([act]) as server,
        open_model(name, key=lambda: "sk-test", base_url=f"{server.url}{path}") as model,
    ):
        if not stream:
            return await model.respond("Say hello.")
        async with model.stream("Say hello.") as stream_:
            async for _ in stream_:
                pass
        return stream_.response


EVERY = [
    pytest.param(api, stream, id=f"{api.value}-{'stream' if stream else 'whole'}")
    for api in MODELS
    for stream in (True, False)
]


@pytest.mark.parametrize(("api", "stream"), EVERY)
def test_every_protocol_can_speak_a_reply(api: Api, *, stream: bool) -> None:
    """One reply with reasoning, text, two calls and usage comes back from any protocol as it was written."""
    said = reply(
        "Hello, world.", reasoning="Why not?", calls=[call("write", {"path": "a"}), call("read", '{"n": 1.0}')]
    )
    seen = played(said, api, stream=stream)
    assert (seen.api, seen.end, seen.text) == (api, End.TOOL_CALLS, "Hello, world.")
    assert [(one.name, one.arguments) for one in seen.calls] == [("write", '{"path":"a"}'), ("read", '{"n": 1.0}')]
    assert seen.usage is not None
    assert (seen.usage.input, seen.usage.output) == (10, 5)
    assert (seen.streamed, seen.failure, seen.oddities) == (stream, None, ())


ENDS = {
    Api.OPENAI_CHAT: {
        End.NORMAL: "stop",
        End.LIMIT: "length",
        End.CONTENT_FILTER: "content_filter",
    },
    Api.OPENAI_RESPONSES: {
        End.NORMAL: "completed",
        End.LIMIT: "incomplete/max_output_tokens",
        End.CONTENT_FILTER: "incomplete/content_filter",
        End.PAUSED: "incomplete/steered",
    },
    Api.ANTHROPIC_MESSAGES: {
        End.NORMAL: "end_turn",
        End.LIMIT: "max_tokens",
        End.CONTEXT_FULL: "model_context_window_exceeded",
        End.REFUSAL: "refusal",
        End.PAUSED: "pause_turn",
    },
    Api.GEMINI: {
        End.NORMAL: "STOP",
        End.LIMIT: "MAX_TOKENS",
        End.CONTENT_FILTER: "SAFETY",
        End.CONTINUATION: "CONTINUATION",
        End.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
    },
}


@pytest.mark.parametrize(("api", "stream"), EVERY)
def test_an_end_is_put_into_the_protocol_s_own_word(api: Api, *, stream: bool) -> None:
    """An end without a word is sent with the usual word of the protocol, and is read as the same end."""
    seen = {end: played(reply("Half", end=end), api, stream=stream) for end in ENDS[api]}
    assert {end: (one.end, one.raw_reason, one.text) for end, one in seen.items()} == {
        end: (end, word, "Half") for end, word in ENDS[api].items()
    }


WORDS = {
    Api.OPENAI_CHAT: "eos",
    Api.OPENAI_RESPONSES: "incomplete/eos",
    Api.ANTHROPIC_MESSAGES: "eos",
    Api.GEMINI: "EOS",
}


@pytest.mark.parametrize(("api", "stream"), EVERY)
def test_a_stated_word_is_sent_as_it_is(api: Api, *, stream: bool) -> None:
    """A word that the protocol does not know reaches the client, who reads it as unknown."""
    seen = played(reply("Hello.", end=End.UNKNOWN, raw_reason=WORDS[api]), api, stream=stream)
    assert (seen.end, seen.raw_reason) == (End.UNKNOWN, WORDS[api])


@pytest.mark.parametrize(("api", "stream"), EVERY)
def test_usage_may_be_absent(api: Api, *, stream: bool) -> None:
    """A reply without usage is read without usage; Anthropic's protocol alone cannot leave it out and says zero."""
    usage = played(reply("Hello.", usage=None), api, stream=stream).usage
    numbers = None if usage is None else (usage.input, usage.output)
    assert numbers == ((0, 0) if api is Api.ANTHROPIC_MESSAGES else None)


@pytest.mark.parametrize(("api", "stream"), EVERY)
def test_a_failure_has_the_protocol_s_form(api: Api, *, stream: bool) -> None:
    """A failure in a script reaches the client as an HTTP error of its kind, with the time to wait."""
    busy = Failure(kind=FailureKind.RATE_LIMITED, where="http", retry_after=3.0)
    seen = played(busy, api, stream=stream)
    assert seen.end is End.PROVIDER_ERROR
    assert seen.failure is not None
    assert (seen.failure.kind, seen.failure.status, seen.failure.retry_after) == (FailureKind.RATE_LIMITED, 429, 3.0)


@pytest.mark.parametrize(("api", "stream"), EVERY)
def test_a_failure_inside_a_response_comes_before_its_end(api: Api, *, stream: bool) -> None:
    """In a stream the text stands before the error and no end behind it; elsewhere the error is the body."""
    broken = Failure(kind=FailureKind.OVERLOADED, where="stream")
    seen = played(Play(response=reply("Hello."), failure=broken, in_stream=True), api, stream=stream)
    assert (seen.end, seen.text, seen.raw_reason) == (End.PROVIDER_ERROR, "Hello." if stream else "", None)
    assert seen.failure is not None
    assert (seen.failure.kind, seen.failure.where) == (FailureKind.OVERLOADED, "stream")
