"""Building requests, and reading those that clients write by hand."""

import json
from typing import Any

import pytest

from signoff.core.model.parts import (
    Api,
    CallKind,
    CallPart,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
)
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
from signoff.wire import gemini
from signoff.wire.memo import Memo
from tests.wire.gemini.streams import LEGAL, seen

ASKED = UserMessage(parts=(TextPart(text="Hi"),))
TOOL = Tool(name="read", description="Reads.", parameters='{"type":"object", "properties":{}}')


def user(text: str) -> UserMessage:
    """What a user says."""
    return UserMessage(parts=(TextPart(text=text),))


def answer(*parts: Part, api: Api | None = None, native: str = "") -> AssistantMessage:
    """An earlier answer."""
    return AssistantMessage(parts=parts, api=api, native=native)


def raw(*messages: Message, memo: Memo | None = None, **fields: Any) -> bytes:  # noqa: ANN401 - fields of a request
    """The body of a request."""
    request = ModelRequest(messages=messages, **fields)
    return gemini.build_request(request, model="m", stream=True, memo=memo or Memo())


def built(*messages: Message, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a request
    """The body of a request, as a value."""
    body: dict[str, Any] = json.loads(raw(*messages, **fields))
    return body


def test_a_bare_request_has_contents_and_nothing_else() -> None:
    """What was not asked for is not written."""
    assert raw(ASKED) == b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}'


def test_leading_instructions_are_one_and_later_ones_are_refused() -> None:
    """Instructions before the conversation become the system instruction; there is no place for later ones."""
    body = built(SystemMessage(text="a"), SystemMessage(text="b"), ASKED)
    assert body["systemInstruction"] == {"parts": [{"text": "a"}, {"text": "b"}]}
    assert len(body["contents"]) == 1
    with pytest.raises(PolicyError, match="before the conversation"):
        built(ASKED, SystemMessage(text="late"))


def test_native_instructions_are_sent_as_they_came() -> None:
    """A client's own content is pasted; beside others its parts are; another protocol's is not used."""
    native = '{"parts":[{"text":"a"},{"fileData":{"fileUri":"f"}}],"role":"user"}'
    own = SystemMessage(text="a", native=native, api=Api.GEMINI)
    assert built(own, ASKED)["systemInstruction"] == json.loads(native)
    assert len(built(SystemMessage(text="x"), own, ASKED)["systemInstruction"]["parts"]) == 3
    foreign = SystemMessage(text="a", native='{"x":1}', api=Api.OPENAI_CHAT)
    assert built(foreign, ASKED)["systemInstruction"] == {"parts": [{"text": "a"}]}
    for native in ("{}", '{"parts":{}}', "no"):
        with pytest.raises(PolicyError):
            built(SystemMessage(text="a", native=native, api=Api.GEMINI), ASKED)


def test_neighbours_of_one_role_are_one_content() -> None:
    """Roles alternate: users, results and answers that follow each other are written together."""
    call = CallPart(call_id="c1", name="read", arguments='{"a":1}')
    results = ToolMessage(results=(ToolResult(call_id="c1", name="read", text="ok"),))
    body = built(user("a"), user("b"), answer(TextPart(text="c")), answer(call), results, user("d"))
    assert [(one["role"], len(one["parts"])) for one in body["contents"]] == [("user", 2), ("model", 2), ("user", 2)]


def test_an_answer_that_says_nothing_here_leaves_no_gap() -> None:
    """Reasoning of another provider is left out, and what stands around it comes together."""
    body = built(user("a"), answer(ReasoningPart(text="hm"), api=Api.ANTHROPIC_MESSAGES), user("b"))
    assert [one["role"] for one in body["contents"]] == ["user"]
    own = built(user("a"), answer(ReasoningPart(text="hm"), ReasoningPart(), api=Api.GEMINI))
    assert own["contents"][1]["parts"] == [{"text": "hm", "thought": True}]


def test_results_are_objects() -> None:
    """A result's text stands under `result`, an error's under `error`; an id only where the provider gave one."""
    results = (
        ToolResult(call_id="c1", name="read", text="ok"),
        ToolResult(call_id="signoff-call-2", name="read", text="no", is_error=True),
        ToolResult(call_id="", name="read", text=""),
    )
    parts = built(ASKED, ToolMessage(results=results))["contents"][0]["parts"][1:]
    assert [one["functionResponse"] for one in parts] == [
        {"id": "c1", "name": "read", "response": {"result": "ok"}},
        {"name": "read", "response": {"error": "no"}},
        {"name": "read", "response": {"result": ""}},
    ]
    with pytest.raises(PolicyError, match="no name"):
        built(ToolMessage(results=(ToolResult(call_id="c1", name="", text=""),)))


def test_calls_are_written_with_their_own_text() -> None:
    """Arguments are pasted; blank ones and null are an empty object; an id of signoff's own is left out."""
    calls = (
        CallPart(call_id="c1", name="read", arguments='{"n": 1.0}'),
        CallPart(call_id="signoff-call-1", name="read", arguments=" "),
        CallPart(call_id="", name="read", arguments="null"),
    )
    assert raw(ASKED, answer(*calls)).endswith(
        b'{"role":"model","parts":[{"functionCall":{"id":"c1","name":"read","args":{"n": 1.0}}},'
        b'{"functionCall":{"name":"read","args":{}}},{"functionCall":{"name":"read","args":{}}}]}]}'
    )


@pytest.mark.parametrize(
    "part",
    [
        CallPart(call_id="", name="f", arguments='{"a":'),
        CallPart(call_id="", name="f", arguments='{"a":1,"a":1}'),
        CallPart(call_id="", name="f", arguments="[]"),
        CallPart(call_id="", name="f", arguments="{}", closed=False),
        CallPart(call_id="", name="f", arguments="{}", kind=CallKind.CUSTOM),
        OpaquePart(kind="image", native="{}"),
    ],
)
def test_what_cannot_be_said_is_refused(part: Part) -> None:
    """A call that is no object, is cut or has free text, and another protocol's own part, are not sent."""
    with pytest.raises(PolicyError):
        built(ASKED, answer(part, api=Api.OPENAI_CHAT))


def test_a_refusal_of_another_provider_is_text() -> None:
    """It was said, and a history may say so."""
    body = built(ASKED, answer(RefusalPart(text="No."), api=Api.OPENAI_CHAT))
    assert body["contents"][1]["parts"] == [{"text": "No."}]


def test_opaque_parts_of_a_user_are_sent_as_they_came() -> None:
    """A picture in this protocol's form is pasted, in any other form it is refused."""
    picture = OpaquePart(kind="inlineData", native='{"inline_data":{"data":"AA=="}}')
    body = built(UserMessage(parts=(picture,), api=Api.GEMINI))
    assert body["contents"][0]["parts"] == [{"inline_data": {"data": "AA=="}}]
    for wrong in (
        UserMessage(parts=(picture,)),
        UserMessage(parts=(OpaquePart(kind="x", native="x"),), api=Api.GEMINI),
    ):
        with pytest.raises(PolicyError):
            built(wrong)


@pytest.mark.parametrize("name", LEGAL)
def test_a_turn_is_sent_back_as_it_came(name: str) -> None:
    """The native content of every legal response is pasted unchanged, signatures and all."""
    response = seen(*LEGAL[name])
    message = answer(*response.parts, api=Api.GEMINI, native=response.native)
    assert built(ASKED, message)["contents"][1] == json.loads(response.native)


def test_a_content_with_more_than_parts_is_sent_whole() -> None:
    """Fields beside the parts go back too; what is no content is refused."""
    native = '{"parts":[{"text":"a"}],"role":"model","later": 1}'
    assert native.encode() in raw(ASKED, answer(api=Api.GEMINI, native=native))
    with pytest.raises(PolicyError):
        raw(ASKED, answer(api=Api.GEMINI, native='{"role":"model"}'))
    foreign = answer(TextPart(text="b"), api=Api.OPENAI_CHAT, native='{"content":"b"}')
    assert built(ASKED, foreign)["contents"][1]["parts"] == [{"text": "b"}]


def test_a_growing_history_is_encoded_once() -> None:
    """With a memo the body is the same as without."""
    memo, history = Memo(), [ASKED]
    for number in range(3):
        history += [answer(TextPart(text=f"{number}")), user("more")]  # type: ignore[list-item]
        assert raw(SystemMessage(text="s"), *history, memo=memo) == raw(SystemMessage(text="s"), *history)


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (Choice(), {"mode": "AUTO"}),
        (Choice(mode="none"), {"mode": "NONE"}),
        (Choice(mode="required"), {"mode": "ANY"}),
        (Choice(mode="tool", name="read"), {"mode": "ANY", "allowedFunctionNames": ["read"]}),
    ],
)
def test_tools_and_the_choice_among_them(choice: Choice, config: dict[str, object]) -> None:
    """Tools are declared with their JSON Schema, and the choice has its word; both are read back."""
    body = raw(ASKED, tools=(TOOL,), choice=choice)
    value = json.loads(body)
    declared = {"name": "read", "description": "Reads.", "parametersJsonSchema": {"type": "object", "properties": {}}}
    assert value["tools"] == [{"functionDeclarations": [declared]}]
    assert value["toolConfig"] == {"functionCallingConfig": config}
    received = gemini.parse_request(body).request
    assert (received.tools, received.choice, received.extra) == ((TOOL,), choice, "{}")


def test_extra_fields_are_merged_and_conflicts_are_refused() -> None:
    """Provider fields stand beside ours, in either way of naming; what both say is refused."""
    extra = (
        '{"generation_config":{"temperature":0.50,"seed":12345678901234567890123},"tools":[{"googleSearch":{}},'
        '{"functionDeclarations":[{"name":"read","behavior":"BLOCKING"},{"name":"a.b"}]}],'
        '"toolConfig":{"retrievalConfig":{},"functionCallingConfig":{"mode":"VALIDATED"}},"cachedContent":"c"}'
    )
    body = raw(ASKED, tools=(TOOL,), max_output_tokens=5, extra=extra)
    assert b'"generationConfig":{"maxOutputTokens":5,"temperature":0.50,"seed":12345678901234567890123}' in body
    value = json.loads(body)
    names = [one["name"] for one in value["tools"][0]["functionDeclarations"]]
    assert (names, value["tools"][0]["functionDeclarations"][0]["behavior"]) == (["read", "a.b"], "BLOCKING")
    assert value["tools"][1:] == [{"googleSearch": {}}]
    assert value["toolConfig"] == {"retrievalConfig": {}, "functionCallingConfig": {"mode": "VALIDATED"}}
    assert value["cachedContent"] == "c"
    received = gemini.parse_request(body).request
    again = gemini.build_request(received, model="m", stream=False, memo=Memo())
    assert json.loads(again) == value


@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        ("[]", {}),
        ("{", {}),
        ('{"a":1,"a":2}', {}),
        ('{"contents":[]}', {}),
        ('{"system_instruction":{}}', {}),
        ('{"tools":{}}', {}),
        ('{"toolConfig":[]}', {}),
        ('{"generationConfig":7}', {}),
        ('{"generationConfig":{"max_output_tokens":7}}', {"max_output_tokens": 5}),
        ('{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}', {"choice": Choice(mode="none")}),
        (
            '{"toolConfig":{"functionCallingConfig":{"allowedFunctionNames":["g"]}}}',
            {"choice": Choice(mode="tool", name="read")},
        ),
        ("{}", {"tools": (TOOL, TOOL)}),
    ],
)
def test_fields_that_cannot_be_merged_are_refused(extra: str, fields: dict[str, object]) -> None:
    """Extra fields are one JSON object in the protocol's form, and say nothing that the request says."""
    with pytest.raises(PolicyError):
        built(ASKED, extra=extra, **fields)
