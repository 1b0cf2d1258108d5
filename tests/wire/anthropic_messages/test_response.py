"""Bodies that are not streamed: the same record as of a stream, with the content exactly as it came."""

import orjson
import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, End, FailureKind, ModelResponse
from signoff.wire import anthropic_messages
from tests.wire.anthropic_messages.streams import FOUND
from tests.wire.anthropic_messages.test_stream import WITHOUT_CALLS

CONTENTS = {
    "none": '[{"type":"text","text":"x"}]',
    "whole": '[{"type":"tool_use","id":"toolu_1","name":"write","input":{"path":"a"}}]',
    "malformed": '[{"type":"tool_use","id":"toolu_1","name":"write","input":{"a":1,"a":1}}]',
}


def body_of(content: str = CONTENTS["none"], reason: str = '"end_turn"', more: str = "") -> bytes:
    """A message, of JSON texts."""
    head = '"id":"msg_1","type":"message","role":"assistant","model":"claude-1"'
    return f'{{{head},"content":{content},"stop_reason":{reason},"stop_sequence":null{more}}}'.encode()


def read(body: bytes, exchange: Exchange | None = None) -> ModelResponse:
    """The record of a body."""
    return anthropic_messages.parse_response(body, exchange or Exchange())


@pytest.mark.parametrize(("reason", "end"), WITHOUT_CALLS.items())
@pytest.mark.parametrize("call", CONTENTS)
def test_each_reason_has_its_end(reason: str | None, end: End, call: str) -> None:
    """A whole call turns a normal end into calls to be run, a malformed one says so, and no other end changes."""
    response = read(body_of(CONTENTS[call], orjson.dumps(reason).decode()))
    if reason in {"end_turn", "stop_sequence", "tool_use"} and call != "none":
        end = End.TOOL_CALLS if call == "whole" else End.MALFORMED_CALL
    assert (response.end, response.raw_reason) == (end, reason)
    assert (response.saw_terminal, response.streamed, response.body_end) == (True, False, BodyEnd.CLEAN)


def test_an_input_is_the_exact_slice_of_the_body() -> None:
    """Spaces, digits, escapes and repeated keys of an input are evidence: they stay as they were received."""
    raw = '{ "path":"a",\n  "path" : "\\u0062", "n": 1.50e3, "long": 123456789012345678901234567890 }'
    content = f'[{{"type":"tool_use","id":"t","name":"f","input": {raw} }}]'
    response = read(body_of(content, '"tool_use"'))
    assert response.parts == (CallPart(call_id="t", name="f", arguments=raw),)
    assert (response.end, response.native) == (End.MALFORMED_CALL, content)


def test_half_a_character_hides_nothing() -> None:
    """An escaped half of a pair in one block leaves the repeated key in another to be seen."""
    content = r'[{"type":"text","text":"a\ud83d"},{"type":"tool_use","id":"t","name":"f","input":{"a":1, "a":2}}]'
    response = read(body_of(content, '"tool_use"'))
    assert [call.arguments for call in response.calls] == ['{"a":1, "a":2}']
    assert (response.end, response.text, response.native) == (End.MALFORMED_CALL, "a\ufffd", content)


def test_all_kinds_of_blocks_have_their_parts() -> None:
    """Reasoning, redacted reasoning, cited text and what the provider runs itself are told apart."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s=="},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        FOUND,
        {"type": "text", "text": "x", "citations": [{"type": "char_location"}]},
        {"type": "text", "text": "y", "citations": None},
        5,
    ]
    texts = [orjson.dumps(block).decode() for block in content]
    response = read(body_of(orjson.dumps(content).decode()))
    assert response.parts == (
        ReasoningPart(text="hm"),
        ReasoningPart(redacted=True),
        OpaquePart(kind="server_tool_use", native=texts[2]),
        OpaquePart(kind="web_search_tool_result", native=texts[3]),
        TextPart(text="x", citations='[{"type":"char_location"}]'),
        TextPart(text="y"),
        OpaquePart(kind="", native="5"),
    )


def test_a_refusal_and_usage_and_the_envelope_are_read() -> None:
    """The refusal follows the text, usage is counted, and other fields stand in the envelope as they came."""
    details = '{"type":"refusal","category":"bio","explanation":"No."}'
    usage = '{"input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4,"speed":"fast"}'
    response = read(body_of(reason='"refusal"', more=f',"stop_details":{details},"usage":{usage},"later":{{"n":1.0}}'))
    assert response.parts == (TextPart(text="x"), RefusalPart(text="No.", category="bio"))
    assert response.usage is not None
    assert (response.usage.input, response.usage.cached_read, response.usage.cache_write) == (5, 3, None)
    assert (response.usage.output, response.usage.native) == (4, usage)
    assert response.envelope == f'{{"stop_sequence":null,"stop_details":{details},"later":{{"n":1.0}}}}'
    assert (response.response_id, response.model) == ("msg_1", "claude-1")


def test_usage_that_never_came_is_none() -> None:
    """Absent usage is None and no zero."""
    assert [read(body_of(more=more)).usage for more in ("", ',"usage":null')] == [None, None]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', FailureKind.OVERLOADED),
        (b'{"error":{"type":"api_error","message":"x"}}', FailureKind.SERVER_ERROR),
        (b'[{"error":{"type":"rate_limit_error","message":"x"}}]', FailureKind.RATE_LIMITED),
        (b'{"object":"error","message":"x"}', FailureKind.SERVER_ERROR),
        (b"", FailureKind.NOT_THE_PROTOCOL),
        (b"{", FailureKind.NOT_THE_PROTOCOL),
        (b"[1]", FailureKind.NOT_THE_PROTOCOL),
        (b"<html>", FailureKind.NOT_THE_PROTOCOL),
        (b"\xff\xfe", FailureKind.NOT_THE_PROTOCOL),
        (b'{"choices":[]}', FailureKind.NOT_THE_PROTOCOL),
        (b"[" * 100_000, FailureKind.NOT_THE_PROTOCOL),
    ],
)
def test_what_is_no_message_is_a_failure(body: bytes, kind: FailureKind) -> None:
    """An error under status 200 is a failure, and what is no message of the protocol is one too."""
    response = read(body)
    assert response.failure is not None
    assert (response.end, response.failure.kind, response.failure.where) == (End.PROVIDER_ERROR, kind, "stream")


def test_an_error_beside_content_is_a_failure() -> None:
    """Content with an error beside it is kept and is no answer; of the error's text nothing is."""
    response = read(body_of('[{"type":"text","text":"x"}]', more=',"error":{"type":"overloaded_error"}'))
    assert response.failure is not None
    assert (response.end, response.failure.kind) == (End.PROVIDER_ERROR, FailureKind.OVERLOADED)
    assert (response.text, response.oddities, "error" in response.envelope) == ("x", ("error_shape",), False)
    assert read(body_of(more=',"error":null')).failure is None


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ('"x"', (TextPart(text="x"),)),
        ("null", ()),
        ('{"type":"text","text":"x"}', (TextPart(text="x"),)),
        ("5", (OpaquePart(kind="", native="5"),)),
    ],
)
def test_content_of_other_shapes_is_kept_and_noted(content: str, parts: tuple[object, ...]) -> None:
    """A content that is no list loses nothing."""
    response = read(body_of(content))
    assert (response.parts, response.oddities, response.native) == (parts, ("content_not_a_list",), "")


def test_a_limit_that_the_reason_hides_is_seen() -> None:
    """A response that used up what was asked for was cut, whatever its reason says."""
    response = read(body_of(more=',"usage":{"output_tokens":5}'), Exchange(max_output_tokens=5, request_id="req_1"))
    assert (response.end, response.oddities, response.request_id) == (End.LIMIT, ("cap_reached",), "req_1")


def test_other_types_are_noted() -> None:
    """A message without its type, or with a reason that is no text, is read and noted."""
    assert read(body_of().replace(b'"type":"message",', b"")).oddities == ("type_missing",)
    response = read(body_of(reason="7"))
    assert (response.end, response.raw_reason, response.oddities) == (End.UNKNOWN, "7", ("reason_not_text",))
