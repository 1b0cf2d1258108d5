"""The record of a response: how its parts are read, and that parts and messages survive as JSON."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.core.model.response import End, Failure, ModelResponse

CALL = CallPart(call_id="c1", name="f", arguments="{")
PARTS: tuple[Part, ...] = (
    ReasoningPart(text="h"),
    TextPart(text="A"),
    CALL,
    RefusalPart(text="N"),
    OpaquePart(kind="image", native="{}"),
    ReasoningPart(redacted=True),
    ReasoningPart(text="m"),
    RefusalPart(text="o"),
    TextPart(text="B"),
)


def test_parts_are_read_by_kind() -> None:
    """Text, reasoning and refusal are joined in order, apart from each other; calls stay as they came."""
    response = ModelResponse(api=Api.GEMINI, end=End.NORMAL, parts=PARTS)
    assert (response.text, response.reasoning, response.refusal, response.calls) == ("AB", "hm", "No", (CALL,))


def test_no_refusal_is_none() -> None:
    """A response without a refusal has none, which is not an empty one."""
    assert ModelResponse(api=Api.GEMINI, end=End.NORMAL).refusal is None
    assert ModelResponse(api=Api.GEMINI, end=End.REFUSAL, parts=(RefusalPart(text=""),)).refusal == ""


@pytest.mark.parametrize("end", list(End))
def test_two_ends_are_complete(end: End) -> None:
    """Only a normal end and whole calls are a complete response."""
    assert ModelResponse(api=Api.GEMINI, end=end).complete is (end in {End.NORMAL, End.TOOL_CALLS})


FAILURES = st.none() | st.builds(Failure, retry_after=st.none() | st.floats(allow_nan=False, allow_infinity=False))


@given(st.builds(ModelResponse, failure=FAILURES))
def test_a_record_survives_as_json(response: ModelResponse) -> None:
    """Any record is the same after it was written and read."""
    assert msgspec.json.decode(msgspec.json.encode(response), type=ModelResponse) == response


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage(text="Be brief."),
        UserMessage(parts=(TextPart(text="Hi"), OpaquePart(kind="image", native="{}")), api=Api.GEMINI),
        AssistantMessage(parts=PARTS, native="[]", api=Api.ANTHROPIC_MESSAGES),
        ToolMessage(results=(ToolResult(call_id="c1", name="f", text="no", is_error=True),)),
    ],
)
def test_a_message_survives_as_json(message: Message) -> None:
    """The role and the kinds of parts are written with them."""
    decoder = msgspec.json.Decoder[Message](Message)
    assert decoder.decode(msgspec.json.encode(message)) == message


def test_deltas_are_values() -> None:
    """What a response in progress adds is compared by what it says."""
    deltas: list[Delta] = [
        TextDelta("a"),
        ReasoningDelta("a"),
        RefusalDelta("a"),
        CallStarted(0, "c", "f"),
        CallDelta(0, "a"),
    ]
    assert deltas == [
        TextDelta("a"),
        ReasoningDelta("a"),
        RefusalDelta("a"),
        CallStarted(0, "c", "f"),
        CallDelta(0, "a"),
    ]
    assert len(set(deltas)) == 5
