"""How a Chat Completions response ended: each reason, with and without calls, streamed and whole."""

import pytest

from signoff.core.model.deltas import CallDelta, CallStarted, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallKind, CallPart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind
from signoff.wire import openai_chat
from signoff.wire.sse import Frame
from tests.wire.openai_chat.chunks import (
    CALL_A,
    CALL_B,
    COUNTED,
    DONE,
    START,
    TEXT,
    USAGE,
    chunk,
    delta,
    fragment,
    frame,
    read,
    read_whole,
    shown,
    whole,
)

A = CallPart(call_id="call_a", name="write", arguments='{"path":"a"}')
B = CallPart(call_id="call_b", name="read", arguments='{"path":"b"}')
CUT = CallPart(call_id="call_a", name="write", arguments='{"path":')
ENTRY = {"id": "call_a", "type": "function", "function": {"name": "write", "arguments": '{"path":"a"}'}}
CUT_ENTRY = {"id": "call_a", "type": "function", "function": {"name": "write", "arguments": '{"path":'}}

REASONS = {
    "stop": (End.NORMAL, End.TOOL_CALLS, End.MALFORMED_CALL),
    "tool_calls": (End.MALFORMED_CALL, End.TOOL_CALLS, End.MALFORMED_CALL),
    "function_call": (End.MALFORMED_CALL, End.TOOL_CALLS, End.MALFORMED_CALL),
    "length": (End.LIMIT,) * 3,
    "content_filter": (End.CONTENT_FILTER,) * 3,
    "error": (End.PROVIDER_ERROR,) * 3,
    "insufficient_system_resource": (End.PROVIDER_ERROR,) * 3,
    "eos": (End.UNKNOWN,) * 3,
    "STOP": (End.UNKNOWN,) * 3,
    "end_turn": (End.UNKNOWN,) * 3,
    None: (End.TRANSPORT,) * 3,
}


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_with_no_call_a_whole_call_and_a_cut_one(reason: str | None) -> None:
    """The reason, and whether the calls are whole, give the end: the same for a stream and for a body."""
    streamed = [read(START, *content, delta(reason), DONE) for content in (TEXT, CALL_A, CALL_A[:2])]
    texts: list[dict[str, object]] = [{"content": "Hi"}, {"tool_calls": [ENTRY]}, {"tool_calls": [CUT_ENTRY]}]
    bodies = [read_whole(whole({"role": "assistant", "content": None, **text}, reason)) for text in texts]
    assert tuple(response.end for response in streamed) == REASONS[reason]
    assert tuple(response.end for response in bodies) == REASONS[reason]
    assert {response.raw_reason for response in streamed + bodies} == {reason}


def test_a_stream_gives_its_facts() -> None:
    """Text, identity, usage and the end marker of a regular stream are in its record."""
    response = read(START, *TEXT, delta("stop"), COUNTED, DONE)
    assert (response.text, response.response_id, response.model) == ("Hello é😀.", "chatcmpl-1", "m-1")
    assert (response.saw_reason, response.saw_terminal, response.streamed, response.oddities) == (True, True, True, ())
    assert response.usage is not None
    assert (response.usage.input, response.usage.output, response.usage.total) == (10, 5, 15)
    assert (response.usage.cached_read, response.usage.cache_write, response.usage.reasoning) == (4, 2, 3)


def test_a_body_gives_its_facts() -> None:
    """The same, of a body that is not streamed; its message is kept byte for byte."""
    message = b'{ "role":"assistant", "content":"Hi", "x":1.0, "n":123456789012345678901 }'
    body = whole("MESSAGE", usage=USAGE, service_tier="default").replace(b'"MESSAGE"', message)
    response = read_whole(body)
    assert (response.text, response.end, response.native) == ("Hi", End.NORMAL, message.decode())
    assert (response.saw_terminal, response.streamed, response.oddities) == (True, False, ())
    assert response.usage is not None
    assert response.usage.total == 15
    assert response.envelope == '{"object":"chat.completion","created":1,"service_tier":"default"}'


def test_a_stream_is_shown_as_it_comes() -> None:
    """Each kind of content is shown at once, under the place of its call."""
    assert shown(
        [START, delta(reasoning="Hm"), *TEXT, delta(refusal="No."), *CALL_A, *CALL_B, delta("stop"), DONE]
    ) == [
        ReasoningDelta("Hm"),
        TextDelta("Hel"),
        TextDelta("lo é😀."),
        RefusalDelta("No."),
        CallStarted(0, "call_a", "write"),
        CallDelta(0, '{"path":'),
        CallDelta(0, '"a"}'),
        CallStarted(1, "call_b", "read"),
        CallDelta(1, '{"path":"b"}'),
    ]


def test_parts_keep_the_order_in_which_they_came() -> None:
    """Text behind calls stays behind them, and reasoning before a text before it."""
    response = read(START, *CALL_A, *CALL_B, delta(reasoning="Hm"), *TEXT, delta("stop"), DONE)
    assert response.parts == (A, B, ReasoningPart(text="Hm"), TextPart(text="Hello é😀."))


def test_a_refusal_is_no_text() -> None:
    """A refusal with a normal reason is a refusal; a blank one is not."""
    response = read(START, delta(refusal="I can"), delta(refusal="not."), delta("stop"), DONE)
    assert (response.end, response.parts) == (End.REFUSAL, (RefusalPart(text="I cannot."),))
    assert read_whole(whole({"role": "assistant", "content": None, "refusal": "No."})).end is End.REFUSAL
    assert read_whole(whole({"role": "assistant", "content": "Hi", "refusal": ""})).end is End.NORMAL


def test_the_limit_leaves_only_the_last_call_open() -> None:
    """A call that another followed is whole; the last one may have been cut, whatever its text looks like."""
    for reason in ("length", "content_filter", "error", "eos", None):
        calls = read(START, *CALL_A, *CALL_B, delta(reason)).calls
        assert [(call.call_id, call.closed) for call in calls] == [("call_a", True), ("call_b", False)]
    body = whole({"role": "assistant", "tool_calls": [ENTRY, {**ENTRY, "id": "call_b"}]}, "length")
    assert [call.closed for call in read_whole(body).calls] == [True, False]


def test_empty_arguments_are_a_call() -> None:
    """A call without arguments is whole once the reason closed it."""
    response = read(START, fragment(0, "", call_id="call_a", name="now"), delta("tool_calls"), DONE)
    assert (response.end, response.calls) == (End.TOOL_CALLS, (CallPart(call_id="call_a", name="now", arguments=""),))


def test_a_custom_call_is_free_text() -> None:
    """Its input is no JSON; it is whole when it is closed, and cut by a limit."""
    entry = {"id": "call_a", "type": "custom", "custom": {"name": "shell", "input": ""}}
    pieces = [delta(tool_calls=[{"index": 0, **entry}]), delta(tool_calls=[{"index": 0, "custom": {"input": "ls {"}}])]
    part = CallPart(call_id="call_a", name="shell", arguments="ls {", kind=CallKind.CUSTOM)
    response = read(START, *pieces, delta("tool_calls"), DONE)
    assert (response.end, response.calls) == (End.TOOL_CALLS, (part,))
    assert '"custom":{"name":"shell","input":"ls {"}' in response.native
    assert not read(START, *pieces, delta("length"), DONE).calls[0].closed
    body = {"role": "assistant", "tool_calls": [{**entry, "custom": {"name": "shell", "input": "ls {"}}]}
    assert read_whole(whole(body, "tool_calls")).calls == (part,)


def test_the_old_call_is_a_call_without_an_id() -> None:
    """`function_call` is read, streamed or whole, and goes back in its own form."""
    pieces = [delta(function_call={"name": "write", "arguments": ""}), delta(function_call={"arguments": "{}"})]
    part = CallPart(call_id="", name="write", arguments="{}")
    response = read(START, *pieces, delta("function_call"), DONE)
    assert (response.end, response.calls) == (End.TOOL_CALLS, (part,))
    assert response.native == '{"role":"assistant","content":"","function_call":{"name":"write","arguments":"{}"}}'
    body = whole({"role": "assistant", "function_call": {"name": "write", "arguments": "{}"}}, "function_call")
    assert read_whole(body).calls == (part,)


@pytest.mark.parametrize(
    ("frames", "body_end", "oddities"),
    [
        ([START, *TEXT], BodyEnd.CLEAN, ()),
        ([START, *TEXT], BodyEnd.CUT, ()),
        ([START, *TEXT, DONE], BodyEnd.CLEAN, ()),
        ([START, *CALL_A], BodyEnd.CLEAN, ()),
        ([START, *TEXT, COUNTED, DONE], BodyEnd.CLEAN, ("usage_early",)),
        ([chunk(usage=USAGE), DONE], BodyEnd.CLEAN, ("no_choices", "usage_early")),
        ([DONE], BodyEnd.CLEAN, ()),
        ([b": only a comment\n\n"], BodyEnd.CLEAN, ()),
    ],
)
def test_no_reason_is_no_end(frames: list[bytes], body_end: BodyEnd, oddities: tuple[str, ...]) -> None:
    """Without a reason the answer was cut, with the end marker or without, and however the body ended."""
    response = read(*frames, body_end=body_end)
    assert (response.end, response.saw_reason, response.oddities) == (End.TRANSPORT, False, oddities)
    assert not response.complete


@pytest.mark.parametrize(("body_end", "oddity"), [(BodyEnd.CLEAN, "no_done"), (BodyEnd.CUT, "cut_after_reason")])
def test_the_reason_is_the_proof(body_end: BodyEnd, oddity: str) -> None:
    """Many servers send no end marker: after the reason nothing is missing, and how the body ended is noted."""
    response = read(START, *TEXT, delta("stop"), body_end=body_end)
    assert (response.end, response.failure, response.oddities) == (End.NORMAL, None, (oddity,))


def test_an_error_in_the_stream_beats_everything() -> None:
    """An error frame ends the stream, at any place, and what came before it is kept."""
    error = frame({"error": {"message": "Boom", "type": "server_error", "code": "server_error"}})
    for frames in ([START, *TEXT, error], [START, *TEXT, delta("stop"), error, DONE], [error]):
        response = read(*frames)
        assert response.failure is not None
        assert (response.end, response.failure.kind) == (End.PROVIDER_ERROR, FailureKind.SERVER_ERROR)
        assert response.text == ("" if len(frames) == 1 else "Hello é😀.")


def test_an_error_in_the_stream_beats_how_the_connection_ended() -> None:
    """What the provider said is kept, also when the transport or the host has a failure of its own."""
    decoder = openai_chat.decoder(Exchange())
    decoder.feed(Frame(data='{"error":{"code":"slow_down"}}'))
    response = decoder.end(BodyEnd.CUT, Failure(kind=FailureKind.DEADLINE, where="host"))
    assert response.failure is not None
    assert (response.end, response.failure.kind) == (End.PROVIDER_ERROR, FailureKind.OVERLOADED)


def test_the_cap_that_was_reached_is_a_limit() -> None:
    """A response that used up what was asked for was cut, though its reason says something else."""
    response = read(START, *TEXT, delta("stop"), COUNTED, DONE, cap=5)
    assert (response.end, response.raw_reason, response.oddities) == (End.LIMIT, "stop", ("cap_reached",))
