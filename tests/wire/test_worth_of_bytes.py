"""From a provider's bytes to what they are worth: codec and boundary agree on what a response's facts mean."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from signoff.core.boundary import (
    Accepted,
    AnswerPolicy,
    AskAgain,
    Discarded,
    Refused,
    StrictFinish,
    Take,
    Worth,
    decide,
    worth,
)
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallPart, TextPart
from signoff.core.model.request import AssistantMessage, ModelRequest, Tool, UserMessage
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.core.model.turns import append
from signoff.wire import gemini, openai_chat
from signoff.wire.codec import Codec
from signoff.wire.memo import Memo
from signoff.wire.reader import ResponseReader

READ = Tool(name="read", parameters='{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}')
REQUEST = ModelRequest(messages=(UserMessage(parts=(TextPart(text="Go."),)),), tools=(READ,))
DONE = "data: [DONE]\n\n"


def frames(*values: object) -> str:
    """Values as frames of server-sent events."""
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values)


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """One chunk of a Chat Completions stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "r1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


def chat_call(arguments: str, *, index: int = 0, call_id: str = "c1") -> dict[str, Any]:
    """The delta that holds a whole call."""
    function = {"name": "read", "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}


def told(text: str, codec: Codec = openai_chat, *, body_end: BodyEnd = BodyEnd.CLEAN) -> ModelResponse:
    """The record of a streamed body that came in pieces."""
    reader = ResponseReader(codec, Exchange(content_type="text/event-stream"), streamed=True)
    body = text.encode()
    for at in range(0, len(body), 7):
        reader.feed(body[at : at + 7])
    return reader.end(body_end)


def judged(deltas: Iterable[tuple[dict[str, Any], str | None]], end: str = DONE, strict: StrictFinish = "on") -> Worth:
    """What a Chat stream of these deltas is worth."""
    return worth(told(frames(*(chunk(*delta) for delta in deltas)) + end), REQUEST, strict_finish=strict)


WHOLE_CALL = chat_call('{"path":"a"}')


@pytest.mark.parametrize(
    ("deltas", "reason"),
    [
        pytest.param(
            [(WHOLE_CALL, None), ({}, "length")], "model_output_truncated", marks=pytest.mark.scenario("MB-036")
        ),
        pytest.param(
            [({"reasoning_content": "hm"}, None), ({}, "stop")],
            "reasoning_only_response",
            marks=pytest.mark.scenario("MB-037"),
        ),
        pytest.param(
            [(chat_call('{"path":'), None), ({}, "tool_calls")],
            "incomplete_tool_arguments",
            marks=pytest.mark.scenario("MB-038"),
        ),
        pytest.param(
            [(WHOLE_CALL, None), (chat_call("[]", index=1, call_id="c2"), None), ({}, "tool_calls")],
            "invalid_tool_arguments",
            marks=pytest.mark.scenario("MB-039"),
        ),
        pytest.param(
            [(WHOLE_CALL, None), (chat_call("{}", index=1), None), ({}, "tool_calls")],
            "malformed_tool_call_batch",
            marks=pytest.mark.scenario("MB-040"),
        ),
        pytest.param(
            [({"content": " \n"}, None), ({}, "stop")], "empty_model_response", marks=pytest.mark.scenario("MB-041")
        ),
        pytest.param(
            [({"content": "Half"}, None)],
            "model_stream_ended_without_finish_reason",
            marks=pytest.mark.scenario("MB-045"),
        ),
        pytest.param(
            [({"content": "Sure:"}, None), ({}, "tool_calls")],
            "malformed_tool_call_batch",
            marks=pytest.mark.scenario("MB-207"),
        ),
        ([({"content": "Half"}, None), ({}, "content_filter")], "model_output_interrupted"),
        ([({"content": "Half"}, None), ({}, "eos")], "model_output_interrupted"),
        ([(chat_call(""), None), ({}, "tool_calls")], "invalid_tool_arguments"),
    ],
)
def test_unusable_bytes_have_their_reason(deltas: list[tuple[dict[str, Any], str | None]], reason: str) -> None:
    """A Chat stream that cannot be used is discarded for the reason that its bytes show."""
    got = judged(deltas)
    assert isinstance(got, Discarded)
    assert got.reason == reason


@pytest.mark.scenario("MB-044")
def test_prose_is_taken() -> None:
    """A text with a normal stop is an answer, whatever it announces."""
    assert judged([({"content": "let me wait"}, None), ({}, "stop")]) == Accepted(calls=(), text="let me wait")


@pytest.mark.scenario("MB-046")
@pytest.mark.parametrize("end", [DONE, ""])
def test_an_end_without_a_reason_is_taken_by_choice(end: str) -> None:
    """With strictness off a clean end is enough, for a text and for a call that shows its own end."""
    assert judged([({"content": "Done."}, None)], end, "off") == Accepted(calls=(), text="Done.")
    call = judged([(WHOLE_CALL, None)], end, "off")
    assert isinstance(call, Accepted)
    assert call.calls[0].arguments == b'{"path":"a"}'
    assert isinstance(judged([(chat_call('{"path":"a"'), None)], end, "off"), Discarded)


def test_a_refusal_is_told_from_text() -> None:
    """A refusal that came with a normal stop is no answer."""
    assert judged([({"refusal": "No."}, None), ({}, "stop")]) == Refused(category="")


def test_a_cut_connection_is_no_answer() -> None:
    """Bytes that break off without a reason are discarded, whatever they hold, and whatever the choice."""
    response = told(frames(chunk(WHOLE_CALL)), body_end=BodyEnd.CUT)
    for strict in ("on", "off"):
        got = worth(response, REQUEST, strict_finish=strict)
        assert not isinstance(got, Accepted)


def test_the_follow_up_can_be_sent() -> None:
    """The request that asks again is one that the provider's codec can write, with nothing of the discarded call."""
    response = told(
        frames(chunk({"content": "Now:"}), chunk(chat_call('{"path":"secret-7')), chunk({}, "tool_calls")) + DONE
    )
    step = decide(worth(response, REQUEST), response, request=REQUEST, attempt=1, policy=AnswerPolicy())
    assert isinstance(step, AskAgain)
    body = json.loads(openai_chat.build_request(step.request, model="m", stream=True, memo=Memo()))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["tool_choice"] == "required"
    assert "secret-7" not in json.dumps(body)


def test_gemini_calls_go_on_with_ids_of_ours() -> None:
    """A call without an id is accepted under an id that the next turn has too, and the next call gets another."""
    parts = [{"functionCall": {"name": "read", "args": {"path": "a"}}}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    response = told(frames({"candidates": [candidate], "responseId": "r1", "modelVersion": "m"}), gemini)
    request, seen = REQUEST, []
    for _ in range(2):
        step = decide(worth(response, request), response, request=request, attempt=1, policy=AnswerPolicy())
        assert isinstance(step, Take)
        request = append(request, response)
        turn = request.messages[-1]
        assert isinstance(turn, AssistantMessage)
        assert [part.call_id for part in turn.parts if isinstance(part, CallPart)] == [step.calls[0].call_id]
        seen.append(step.calls[0].call_id)
    assert seen == ["signoff-call-1", "signoff-call-2"]
