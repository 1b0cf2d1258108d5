"""How a conversation goes on: the provider's own turn, and ids for calls that came without."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.parts import Api, CallPart, ReasoningPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    Message,
    ModelRequest,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.core.model.response import End, ModelResponse
from signoff.core.model.turns import CALL_ID, append, assistant_message, latest_text

HELLO = UserMessage(parts=(TextPart(text="Hello"),))


def call(call_id: str = "") -> CallPart:
    """A call with this id."""
    return CallPart(call_id=call_id, name="f", arguments="{}")


def answered(*ids: str, api: Api = Api.GEMINI) -> ModelResponse:
    """A response with calls that have these ids."""
    return ModelResponse(api=api, end=End.TOOL_CALLS, parts=tuple(call(one) for one in ids))


def ids_of(message: Message) -> list[str]:
    """The ids of a turn's calls."""
    assert isinstance(message, AssistantMessage)
    return [part.call_id for part in message.parts if isinstance(part, CallPart)]


def test_a_response_becomes_the_newest_turn() -> None:
    """The turn carries the parts and the provider's own text of them; all else of the request stays."""
    request = ModelRequest(messages=(HELLO,), tools=(Tool(name="f"),), choice=Choice(mode="none"), extra='{"seed":1}')
    parts = (ReasoningPart(text="hm"), TextPart(text="Hi"), call("c1"))
    response = ModelResponse(api=Api.ANTHROPIC_MESSAGES, end=End.TOOL_CALLS, parts=parts, native="[1]")
    turn = AssistantMessage(parts=parts, native="[1]", api=Api.ANTHROPIC_MESSAGES)
    assert append(request, response) == msgspec.structs.replace(request, messages=(HELLO, turn))
    assert assistant_message(response) == turn


def test_calls_without_ids_are_counted_through_the_conversation() -> None:
    """Each call of a protocol without ids gets one that no other call of the conversation has."""
    request = ModelRequest(messages=(HELLO,))
    for wanted in (["signoff-call-1", "signoff-call-2"], ["signoff-call-3", "signoff-call-4"]):
        request = append(request, answered("", ""))
        assert ids_of(request.messages[-1]) == wanted
        results = tuple(ToolResult(call_id=one, name="f", text="ok") for one in wanted)
        request = msgspec.structs.replace(request, messages=(*request.messages, ToolMessage(results=results)))


def test_parts_that_are_no_calls_stay_in_place() -> None:
    """Naming calls changes nothing but their ids."""
    parts = (TextPart(text="a"), call(), ReasoningPart(text="b"), call("own"))
    turn = assistant_message(ModelResponse(api=Api.GEMINI, end=End.TOOL_CALLS, parts=parts))
    assert turn.parts == (parts[0], call("signoff-call-1"), parts[2], parts[3])


def test_a_shortened_history_does_not_repeat_an_id() -> None:
    """An id that a call or a result of the history, or of the same batch, has already is passed over."""
    history = (
        AssistantMessage(parts=(call("signoff-call-2"), TextPart(text="x"))),
        ToolMessage(results=(ToolResult(call_id="signoff-call-3", name="f", text="ok"),)),
    )
    turn = assistant_message(answered("", "signoff-call-4", ""), after=history)
    assert ids_of(turn) == ["signoff-call-5", "signoff-call-4", "signoff-call-7"]


def test_ids_of_other_protocols_are_left_alone() -> None:
    """Where the protocol promises ids, a missing one stays missing."""
    assert ids_of(assistant_message(answered("", "c2", api=Api.OPENAI_CHAT))) == ["", "c2"]
    assert ids_of(assistant_message(answered("c1", "c1"))) == ["c1", "c1"]


@given(st.lists(st.lists(st.sampled_from(["", "", "a", "signoff-call-2"]), max_size=4), max_size=4))
def test_ownids_are_unique_and_repeatable(turns: list[list[str]]) -> None:
    """Ids of ours are never given twice in a conversation, and the same history gives the same ids."""
    request = ModelRequest(messages=())
    ours: list[str] = []
    for ids in turns:
        response = answered(*ids)
        taken = {one for message in request.messages for one in ids_of(message)}
        again = append(request, response)
        assert again == append(request, response)
        new = [one for one, own in zip(ids_of(again.messages[-1]), ids, strict=True) if not own]
        assert all(one.startswith(CALL_ID) for one in new)
        assert not taken & set(new)
        ours, request = ours + new, again
    assert len(set(ours)) == len(ours)


def test_the_latest_text_is_the_newest_that_can_be_seen() -> None:
    """Blank turns and turns of others are passed over."""
    history = (
        AssistantMessage(parts=(TextPart(text="old"),)),
        AssistantMessage(parts=(TextPart(text="new"), call("c"), TextPart(text="est"))),
        AssistantMessage(parts=(TextPart(text=" \u200b"), ReasoningPart(text="hm"))),
        HELLO,
    )
    assert latest_text(history) == "newest"
    assert latest_text((HELLO,)) == latest_text(()) == ""
