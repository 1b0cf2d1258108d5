"""Requests are written in the form that the provider takes; what it cannot be told is refused and never left out."""

import re
from typing import Any

import msgspec
import orjson
import pytest

from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    Message,
    ModelRequest,
    SystemMessage,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import PolicyError
from signoff.wire import anthropic_messages
from signoff.wire.memo import Memo

OURS = Api.ANTHROPIC_MESSAGES
WRITE = Tool(name="write", description="Writes.", parameters='{"type":"object","properties":{"n":{"maximum":1.0}}}')


def user(text: str = "Hi") -> UserMessage:
    """A user's text."""
    return UserMessage(parts=(TextPart(text=text),))


def call(call_id: str, arguments: str = "{}", name: str = "write") -> CallPart:
    """A call."""
    return CallPart(call_id=call_id, name=name, arguments=arguments)


def results(*call_ids: str, name: str = "write") -> ToolMessage:
    """Results of calls."""
    return ToolMessage(results=tuple(ToolResult(call_id=call_id, name=name, text="ok") for call_id in call_ids))


def raw(*messages: Message, memo: Memo | None = None, **fields: Any) -> bytes:  # noqa: ANN401 - fields of a request
    """The body of a request."""
    request = ModelRequest(messages=messages, **fields)
    return anthropic_messages.build_request(request, model="claude-1", stream=False, memo=memo or Memo())


def body(*messages: Message, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a request
    """The body of a request, as a value."""
    value: dict[str, Any] = orjson.loads(raw(*messages, **fields))
    return value


def test_the_smallest_request() -> None:
    """A request without a bound gets the one that the protocol requires, and nothing that nobody asked for."""
    assert body(user()) == {
        "model": "claude-1",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }
    assert body(user(), max_output_tokens=5)["max_tokens"] == 5


def test_the_address_and_the_headers() -> None:
    """The path is fixed, and the key stands in its own header."""
    assert anthropic_messages.path("claude-1", stream=True) == "/v1/messages"
    fixed = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    assert anthropic_messages.headers("sk-1") == {**fixed, "x-api-key": "sk-1"}
    assert anthropic_messages.headers("") == fixed


def test_a_stream_is_asked_for() -> None:
    """The field stands in the body when a stream is wanted."""
    request = ModelRequest(messages=(user(),))
    streamed = anthropic_messages.build_request(request, model="m", stream=True, memo=Memo())
    assert orjson.loads(streamed)["stream"] is True


def test_instructions_stand_in_their_own_field() -> None:
    """One text is a text, several are blocks, blank ones are left out."""
    one, two, blank = SystemMessage(text="Be brief."), SystemMessage(text="Be kind."), SystemMessage(text=" ")
    assert body(one, user())["system"] == "Be brief."
    blocks = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert body(one, blank, two, user())["system"] == blocks
    assert "system" not in body(blank, user())


def test_later_instructions_are_refused() -> None:
    """Older versions of the API take no instructions inside the conversation: the error says what to do instead."""
    with pytest.raises(PolicyError, match="put them first, or say them in a user's message"):
        raw(user(), SystemMessage(text="Be brief."))


def test_neighbours_of_one_role_are_one_message() -> None:
    """Roles alternate, and results stand first in the message that answers their calls."""
    turn = AssistantMessage(parts=(call("toolu_1"), call("toolu_2")))
    sent = body(user("a"), user("b"), turn, user("c"), results("toolu_1", "toolu_2"), user("d"))["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["text"] for block in sent[0]["content"]] == ["a", "b"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "tool_result", "text", "text"]
    assert sent[2]["content"][0] == {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}


def test_a_failed_result_says_so() -> None:
    """The protocol has a word for a tool that failed."""
    failed = ToolMessage(results=(ToolResult(call_id="toolu_1", name="write", text="no", is_error=True),))
    sent = body(user(), AssistantMessage(parts=(call("toolu_1"),)), failed)["messages"]
    assert sent[2]["content"][0]["is_error"] is True


def test_an_own_turn_goes_back_as_it_came() -> None:
    """Signatures, spaces, digits and unknown fields of an own turn are pasted, whatever its parts say."""
    native = '[{"type":"thinking", "thinking":"hm","signature":"s+/=="},{"type":"hum","n": 1.0}]'
    turn = AssistantMessage(parts=(ReasoningPart(text="hm"),), native=native, api=OURS)
    assert b'{"role":"assistant","content":[%b]}' % native[1:-1].encode() in raw(user(), turn)


def test_blank_texts_are_left_out() -> None:
    """The provider refuses blank texts: they are left out of turns, and a turn that was nothing else is skipped."""
    native = '[{"type":"text","text":""},{"type":"text","text":"x"}]'
    own = AssistantMessage(parts=(TextPart(text=""), TextPart(text="x")), native=native, api=OURS)
    neutral = AssistantMessage(parts=(TextPart(text=" "), TextPart(text="y")))
    assert body(user(), own)["messages"][1]["content"] == [{"type": "text", "text": "x"}]
    assert body(user(), neutral)["messages"][1]["content"] == [{"type": "text", "text": "y"}]
    nothing = [
        AssistantMessage(parts=(), native="[]", api=OURS),
        AssistantMessage(parts=(TextPart(text="\n"),)),
        AssistantMessage(parts=(ReasoningPart(text="hm"),), native='{"x":1}', api=Api.GEMINI),
    ]
    for turn in nothing:
        assert [message["role"] for message in body(user("a"), turn, user("b"))["messages"]] == ["user"]


def test_a_message_that_says_nothing_is_refused() -> None:
    """A user's blank message, and a request without any message, are refused here rather than by the provider."""
    with pytest.raises(PolicyError, match="blank"):
        raw(user(" "))
    with pytest.raises(PolicyError, match="no message"):
        raw(SystemMessage(text="x"))


def test_turns_of_other_protocols_are_told_in_neutral_parts() -> None:
    """Text, refusals and calls are said; the reasoning and the citations of others are theirs."""
    parts = (
        ReasoningPart(text="hm"),
        TextPart(text="x", citations='[{"type":"url_citation"}]'),
        RefusalPart(text="No."),
        call("call_1", '{ "a": 1.0 }'),
    )
    turn = AssistantMessage(parts=parts, native='{"role":"assistant"}', api=Api.OPENAI_CHAT)
    sent = raw(user(), turn)
    assert orjson.loads(sent)["messages"][1]["content"] == [
        {"type": "text", "text": "x"},
        {"type": "text", "text": "No."},
        {"type": "tool_use", "id": "call_1", "name": "write", "input": {"a": 1.0}},
    ]
    assert b'"input":{ "a": 1.0 }' in sent


def test_citations_of_an_own_turn_are_said() -> None:
    """A turn of this protocol that lost its native form keeps its citations."""
    turn = AssistantMessage(parts=(TextPart(text="x", citations='[{"type":"char_location"}]'),), api=OURS)
    assert body(user(), turn)["messages"][1]["content"][0]["citations"] == [{"type": "char_location"}]


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}"])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    """Nothing, in whatever form a provider says it, is an empty input."""
    turn = AssistantMessage(parts=(call("call_1", arguments),))
    assert body(user(), turn)["messages"][1]["content"][0]["input"] == {}


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", '"x"', '{"a":1,"a":1}', "{}{}", "NaN", '{"a":NaN}'])
def test_arguments_that_are_no_object_are_refused(arguments: str) -> None:
    """What is not one strict JSON object cannot be an input; it is neither repaired nor dropped."""
    with pytest.raises(PolicyError, match="'write' are not one JSON object"):
        raw(user(), AssistantMessage(parts=(call("call_1", arguments),)))


def test_a_call_with_free_text_is_refused() -> None:
    """The protocol has no such calls."""
    custom = CallPart(call_id="c", name="write", arguments="{}", kind=CallKind.CUSTOM)
    with pytest.raises(PolicyError):
        raw(user(), AssistantMessage(parts=(custom,)))


def test_opaque_parts_go_to_their_own_protocol_only() -> None:
    """A picture of this protocol is pasted; one of another, or of an unknown one, is refused."""
    picture = OpaquePart(kind="image", native='{"type":"image","source":{"type":"url","url":"u"}}')
    assert body(UserMessage(parts=(picture,), api=OURS))["messages"][0]["content"][0]["source"]["url"] == "u"
    for api in (None, Api.GEMINI):
        with pytest.raises(PolicyError, match="'image'"):
            raw(UserMessage(parts=(picture,), api=api))
        with pytest.raises(PolicyError, match="'image'"):
            raw(user(), AssistantMessage(parts=(picture,), api=api))


LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
FOREIGN = ["call_1", "a" * 64, "a" * 65, "a:b", "a.b", "a b", "ä", "\ud83d", "call|1", "call_1|fc_1"]


def test_foreign_call_ids_are_made_legal_and_stay_apart() -> None:
    """Legal ids stay; others get a legal one that is the same in the result, and no two become one."""
    turn = AssistantMessage(parts=tuple(call(each) for each in FOREIGN), api=Api.OPENAI_CHAT)
    sent = body(user(), turn, results(*FOREIGN))["messages"]
    ids = [block["id"] for block in sent[1]["content"]]
    assert ids == [block["tool_use_id"] for block in sent[2]["content"]]
    assert ids[:2] == FOREIGN[:2]
    assert all(LEGAL_ID.fullmatch(each) for each in ids)
    assert len(set(ids)) == len(FOREIGN)


def test_calls_without_ids_are_found_by_turn_name_and_place() -> None:
    """Calls that came without ids get their own, and their results the same, also when those come in another order."""
    turn = AssistantMessage(parts=(call("", name="a"), call("", name="b"), call("", name="a")), api=Api.GEMINI)
    answers = ToolMessage(results=tuple(ToolResult(call_id="", name=name, text=name) for name in ("b", "a", "a")))
    sent = body(user(), turn, answers, turn, answers)["messages"]
    first, second = ([block["id"] for block in sent[place]["content"]] for place in (1, 3))
    assert [block["tool_use_id"] for block in sent[2]["content"]] == [first[1], first[0], first[2]]
    assert len(set(first)) == 3
    other = body(user(), turn, answers, msgspec.structs.replace(turn), msgspec.structs.replace(answers))["messages"]
    ids = [block["id"] for place in (1, 3) for block in other[place]["content"]]
    assert len(set(ids)) == 6
    assert len(second) == 3


def test_an_own_id_stays_even_if_it_is_odd() -> None:
    """A compatible server's own ids go back to it as they came, in the turn and in the result."""
    native = '[{"type":"tool_use","id":"toolu:1","name":"write","input":{}}]'
    turn = AssistantMessage(parts=(call("toolu:1"),), native=native, api=OURS)
    sent = body(user(), turn, results("toolu:1"))["messages"]
    assert (sent[1]["content"][0]["id"], sent[2]["content"][0]["tool_use_id"]) == ("toolu:1", "toolu:1")


def test_tools_and_the_choice_among_them() -> None:
    """The schema is pasted as it stands; each choice has its word, and the default none."""
    sent = raw(user(), tools=(WRITE, Tool(name="read")))
    assert f'"input_schema":{WRITE.parameters}'.encode() in sent
    assert [tool["name"] for tool in orjson.loads(sent)["tools"]] == ["write", "read"]
    assert "description" not in orjson.loads(sent)["tools"][1]
    words = {"auto": None, "none": {"type": "none"}, "required": {"type": "any"}}
    for mode, said in words.items():
        assert body(user(), tools=(WRITE,), choice=Choice(mode=mode)).get("tool_choice") == said
    forced = body(user(), tools=(WRITE,), choice=Choice(mode="tool", name="write"))
    assert forced["tool_choice"] == {"type": "tool", "name": "write"}


def test_a_choice_needs_tools() -> None:
    """A demand for a tool where there is none is refused; other choices say nothing then."""
    assert "tool_choice" not in body(user(), choice=Choice(mode="none"))
    with pytest.raises(PolicyError, match="none is offered"):
        raw(user(), choice=Choice(mode="required"))


def test_extra_fields_are_sent_as_they_are() -> None:
    """Fields of the provider's own are pasted, digits and all; those that have a place of their own are refused."""
    assert b'"temperature":1.0,"thinking":{ "type":"adaptive" }' in raw(
        user(), extra='{"temperature":1.0,"thinking":{ "type":"adaptive" }}'
    )
    for extra in ('{"messages":[]}', '{"system":"x"}', '{"stream":true}', '{"model":"m"}', "[]", "x"):
        with pytest.raises(PolicyError, match="`extra`"):
            raw(user(), extra=extra)


def test_extra_says_more_of_tools_choice_and_bound() -> None:
    """Tools spelled out take the place of their names, a choice is added to, and a bound counts where none is set."""
    extra = (
        '{"tools":[{"name":"write","input_schema":{},"strict":true},{"type":"web_search_1","name":"web_search"}],'
        '"tool_choice":{"disable_parallel_tool_use":true},"max_tokens":0}'
    )
    sent = body(user(), tools=(WRITE, Tool(name="read")), choice=Choice(mode="required"), extra=extra)
    assert [tool["name"] for tool in sent["tools"]] == ["write", "web_search", "read"]
    assert sent["tools"][0]["strict"] is True
    assert sent["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert sent["max_tokens"] == 0
    assert body(user(), max_output_tokens=3, extra=extra)["max_tokens"] == 3
    assert body(user(), extra=extra)["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_half_characters_do_not_break_a_request() -> None:
    """A text with half of a pair is written as an escape, so that the body is JSON."""
    assert rb'"text":"a\ud83d"' in raw(user("a\ud83d"))


def test_a_memo_writes_the_same_bytes() -> None:
    """A growing history that is encoded once is the same request as one that is encoded anew each time."""
    memo = Memo()
    messages: list[Message] = [SystemMessage(text="Be brief."), user()]
    for step in range(5):
        messages += [
            AssistantMessage(parts=(call(f"a:{step}"), call("", name="b")), api=Api.GEMINI),
            ToolMessage(results=(ToolResult(call_id=f"a:{step}", name="write", text="ok"),)),
            user(str(step)),
        ]
        assert raw(*messages, memo=memo) == raw(*messages)
