"""Reading the requests that clients write by hand, in either way of naming; the official client's are tried apart."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.parts import Api, CallPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    ModelRequest,
    SystemMessage,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import PolicyError, WireError
from signoff.wire import gemini
from signoff.wire.memo import Memo
from tests.wire.gemini.strategies import VALUES, unhurried

BY_HAND = {
    "system_instruction": {"parts": [{"text": "a"}, {"text": "b"}]},
    "contents": [
        {"parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"function_call": {"name": "read", "args": {"a_b": 1}}, "thought_signature": "x"}]},
        {"role": "function", "parts": [{"function_response": {"name": "read", "response": {"error": "no"}}}]},
    ],
    "tools": [{"function_declarations": [{"name": "read", "parameters_json_schema": {"type": "object", "a_b": 1}}]}],
    "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["read", "write"]}},
    "generation_config": {"max_output_tokens": 5, "top_k": 1},
    "safety_settings": [],
}


def test_the_other_way_of_naming_is_understood() -> None:
    """A request in snake case reads as the same request; what users named themselves keeps its name."""
    request = gemini.parse_request(json.dumps(BY_HAND).encode()).request
    first, second, hi, called, results = request.messages
    assert (first, second) == (SystemMessage(text="a"), SystemMessage(text="b"))
    assert hi == UserMessage(parts=(TextPart(text="Hi"),), api=Api.GEMINI)
    assert isinstance(called, AssistantMessage)
    assert called.parts == (CallPart(call_id="", name="read", arguments='{"a_b": 1}'),)
    assert json.loads(called.native) == BY_HAND["contents"][1]  # type: ignore[index]
    assert results == ToolMessage(
        results=(ToolResult(call_id="", name="read", text="no", is_error=True),), api=Api.GEMINI
    )
    assert request.tools[0].schema == {"type": "object", "a_b": 1}
    assert (request.choice, request.max_output_tokens) == (Choice(mode="required"), 5)
    assert json.loads(request.extra) == {
        "generationConfig": {"topK": 1},
        "safetySettings": [],
        "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["read", "write"]}},
    }
    again = json.loads(gemini.build_request(request, model="m", stream=False, memo=Memo()))
    assert again["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["read", "write"]}


def test_the_older_form_of_a_schema_is_json_schema() -> None:
    """Types are lower case wherever a schema stands, null is a type; names of the user's own are left alone."""
    older = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "enum": ["A"]},
            "list": {"type": "ARRAY", "items": {"type": "NUMBER"}},
        },
        "anyOf": [{"type": "OBJECT", "nullable": True}, {"type": "INTEGER", "nullable": False}, True],
    }
    body = {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": older}]}]}
    (tool,) = gemini.parse_request(json.dumps(body).encode()).request.tools
    assert tool.schema == {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["A"]},
            "list": {"type": "array", "items": {"type": "number"}},
        },
        "anyOf": [{"type": ["object", "null"]}, {"type": "integer"}, True],
    }


def test_a_result_with_more_beside_its_response_is_kept() -> None:
    """Media and other fields of a result go along with it, though its response is plain text."""
    part = {"functionResponse": {"name": "f", "response": {"result": "a"}, "parts": [{"inlineData": {}}]}}
    body = json.dumps({"contents": [{"parts": [part]}]})
    (message,) = gemini.parse_request(body.encode()).request.messages
    assert isinstance(message, ToolMessage)
    assert (message.results[0].text, json.loads(message.results[0].native)) == ("a", part)


def test_instructions_that_are_more_than_text_are_kept() -> None:
    """Their content goes along as it came."""
    content = '{"parts": [{"text":"a"},{"fileData":{}}]}'
    body = '{"contents":[],"systemInstruction":' + content + "}"
    assert gemini.parse_request(body.encode()).request.messages == (
        SystemMessage(text="a", native=content, api=Api.GEMINI),
    )


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"result": "a", "more": 1}, '{"result": "a", "more": 1}', False),
        ({"output": "a"}, '{"output": "a"}', False),
        ({"error": {"code": 1}}, '{"error": {"code": 1}}', True),
        ({}, "{}", False),
        (None, "null", False),
    ],
)
def test_a_result_that_is_more_than_text_is_kept(response: object, text: str, *, is_error: bool) -> None:
    """Its text is the JSON of the response, and its part goes along and is sent as it came."""
    part = {"functionResponse": {"name": "f", "response": response}}
    body = json.dumps({"contents": [{"role": "user", "parts": [part]}]})
    (message,) = gemini.parse_request(body.encode()).request.messages
    assert isinstance(message, ToolMessage)
    (result,) = message.results
    assert (result.text, result.is_error, json.loads(result.native)) == (text, is_error, part)
    again = json.loads(gemini.build_request(ModelRequest(messages=(message,)), model="m", stream=False, memo=Memo()))
    assert again["contents"][0]["parts"] == [part]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"contents":{}}',
        b'{"contents":[7]}',
        b'{"contents":[{"parts":[7]}]}',
        b'{"contents":[{"role":"system","parts":[]}]}',
        b'{"contents":[{"role":["user"],"parts":[]}]}',
        b'{"contents":[{"role":"model","parts":[{"text":7,"thought":true}]}]}',
        b'{"contents":[],"systemInstruction":"a"}',
        b'{"contents":[],"generationConfig":{"maxOutputTokens":0}}',
        b'{"contents":[],"generationConfig":{"maxOutputTokens":"5"}}',
    ],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    """A body that is not JSON, or not of the protocol, is a `WireError` and nothing else."""
    with pytest.raises(WireError):
        gemini.parse_request(body)


NAMES = [
    "contents",
    "parts",
    "role",
    "text",
    "thought",
    "functionCall",
    "function_call",
    "functionResponse",
    "response",
    "result",
    "error",
    "name",
    "id",
    "args",
    "systemInstruction",
    "tools",
    "functionDeclarations",
    "parameters",
    "parametersJsonSchema",
    "type",
    "properties",
    "toolConfig",
    "functionCallingConfig",
    "mode",
    "allowedFunctionNames",
    "generationConfig",
    "maxOutputTokens",
]
WORDS = st.sampled_from(["model", "user", "f", "ANY", "AUTO", "NONE", "OBJECT", "\ud800", "", 7, None, True])
LIKELY = st.recursive(
    WORDS | VALUES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(NAMES), below, max_size=5),
    max_leaves=25,
)
CONTENT = st.fixed_dictionaries({"parts": st.lists(LIKELY, max_size=3)}, optional={"role": WORDS})
BODY = st.dictionaries(st.sampled_from(NAMES), LIKELY, max_size=5)


@unhurried
@given(st.lists(CONTENT, max_size=3), BODY)
def test_any_json_is_a_request_or_refused(contents: list[object], body: dict[str, object]) -> None:
    """Nothing but a `WireError` is raised, and what was read can be built again unless the protocol refuses it."""
    try:
        received = gemini.parse_request(json.dumps({**body, "contents": contents}).encode())
    except WireError:
        return
    with suppress(PolicyError):
        again = gemini.build_request(received.request, model="m", stream=False, memo=Memo())
        assert isinstance(json.loads(again), dict)
