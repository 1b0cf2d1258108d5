"""Every end of a response of the Responses protocol is told apart, streamed or not."""

import json
from typing import Any

import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallKind, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, FailureKind, ModelResponse
from signoff.wire import openai_responses
from tests.wire.openai_responses.streams import (
    CITATION,
    USAGE,
    Fields,
    custom_call,
    events_of,
    function_call,
    message,
    opening,
    reasoning,
    record_of,
    refusal,
    response,
    search,
    stream_of,
    terminal,
)

WHOLE, CUT = function_call(), function_call('{"path":"a')
LIMIT = {"incomplete_details": {"reason": "max_output_tokens"}}
ENDS: list[tuple[str, Fields, list[Fields], End, str]] = [
    ("completed", {}, [message()], End.NORMAL, "completed"),
    ("completed", {}, [message(), WHOLE], End.TOOL_CALLS, "completed"),
    ("completed", {}, [WHOLE, message(number=1)], End.TOOL_CALLS, "completed"),
    ("completed", {}, [function_call("")], End.TOOL_CALLS, "completed"),
    ("completed", {}, [CUT], End.MALFORMED_CALL, "completed"),
    ("completed", {}, [function_call("[1]")], End.MALFORMED_CALL, "completed"),
    ("completed", {}, [function_call('{"a":1,"a":2}')], End.MALFORMED_CALL, "completed"),
    ("completed", {}, [function_call(status="incomplete")], End.MALFORMED_CALL, "completed"),
    ("completed", {}, [function_call(status="in_progress")], End.MALFORMED_CALL, "completed"),
    ("completed", {}, [custom_call()], End.TOOL_CALLS, "completed"),
    ("completed", {}, [search(), message(number=1)], End.NORMAL, "completed"),
    ("completed", {}, [refusal()], End.REFUSAL, "completed"),
    ("completed", {}, [], End.NORMAL, "completed"),
    ("incomplete", LIMIT, [message()], End.LIMIT, "incomplete/max_output_tokens"),
    ("incomplete", LIMIT, [WHOLE], End.LIMIT, "incomplete/max_output_tokens"),
    ("incomplete", LIMIT, [CUT], End.LIMIT, "incomplete/max_output_tokens"),
    ("incomplete", {"incomplete_details": {"reason": "max_messages"}}, [], End.LIMIT, "incomplete/max_messages"),
    (
        "incomplete",
        {"incomplete_details": {"reason": "content_filter"}},
        [CUT],
        End.CONTENT_FILTER,
        "incomplete/content_filter",
    ),
    ("incomplete", {"incomplete_details": {"reason": "steered"}}, [WHOLE], End.PAUSED, "incomplete/steered"),
    ("incomplete", {"incomplete_details": {"reason": "novel"}}, [message()], End.UNKNOWN, "incomplete/novel"),
    ("incomplete", {}, [message()], End.UNKNOWN, "incomplete"),
    ("failed", {"error": {"code": "server_error", "message": "m"}}, [WHOLE], End.PROVIDER_ERROR, "failed/server_error"),
    ("failed", {"error": {"code": "context_length_exceeded"}}, [], End.CONTEXT_FULL, "failed/context_length_exceeded"),
    ("failed", {}, [], End.PROVIDER_ERROR, "failed"),
    ("cancelled", {}, [message()], End.TRANSPORT, "cancelled"),
    ("expired", {}, [message()], End.UNKNOWN, "expired"),
]


@pytest.mark.parametrize(("status", "fields", "items", "end", "words"), ENDS)
def test_an_unstreamed_end(status: str, fields: Fields, items: list[Fields], end: End, words: str) -> None:
    """A whole body ends as its status, its details and its calls say, in the provider's own words."""
    record = parsed(response(status, items, **fields))
    assert (record.end, record.raw_reason, record.saw_reason, record.saw_terminal) == (end, words, True, True)
    assert record.complete == (end in {End.NORMAL, End.TOOL_CALLS})


@pytest.mark.parametrize(("status", "fields", "items", "end", "words"), ENDS[:-1])
def test_a_streamed_end(status: str, fields: Fields, items: list[Fields], end: End, words: str) -> None:
    """A stream ends as a whole body does, with the same parts and usage."""
    record = record_of(stream_of(items, status, **fields))
    assert (record.end, record.raw_reason, record.oddities) == (end, words, ())
    whole = parsed(response(status, items, **fields))
    assert (record.parts, record.usage, record.native) == (whole.parts, whole.usage, whole.native)
    assert (record.failure, record.envelope, record.model) == (whole.failure, whole.envelope, "gpt-test")


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_response_still_running_has_no_reason(status: str) -> None:
    """A body whose status is not an end gives no reason, and is never complete."""
    record = parsed(response(status, [message()]))
    assert (record.end, record.raw_reason, record.saw_reason) == (End.TRANSPORT, None, False)
    assert record.oddities == (f"status_{status}",)


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "abc", "param": None}, FailureKind.RATE_LIMITED),
        ({"type": "response.error", "error": {"code": 429, "message": "abc"}}, FailureKind.RATE_LIMITED),
        ({"type": "error", "error": {"code": "slow_down", "message": "abc"}, "status": 503}, FailureKind.OVERLOADED),
        ({"type": "response.novel", "error": {"type": "server_error", "message": "abc"}}, FailureKind.SERVER_ERROR),
        ({"type": "", "object": "error", "message": "abc"}, FailureKind.SERVER_ERROR),
    ],
)
def test_an_error_in_the_stream(event: Fields, kind: FailureKind) -> None:
    """An error in any shape ends the stream, beats what was streamed, and keeps no text."""
    record = record_of([*stream_of([message(), WHOLE])[:-1], event, terminal("completed", [message()])])
    assert record.end is End.PROVIDER_ERROR
    assert record.failure is not None
    assert (record.failure.kind, record.failure.where, record.failure.message_length) == (kind, "stream", 3)
    assert record.text == "Hello wörld"
    assert "frame_after_end" in record.oddities


def test_an_error_beside_a_success() -> None:
    """An error in an event or a response that calls itself completed makes it failed."""
    error = {"code": "server_error", "message": "m"}
    beside = record_of([*opening(), {**terminal("completed", [message()]), "error": error}])
    inside = record_of([*opening(), terminal("completed", [message()], error=error)])
    for record in (beside, inside):
        assert (record.end, "error_beside_status" in record.oddities) == (End.PROVIDER_ERROR, True)


@pytest.mark.parametrize(
    ("event", "status", "end"),
    [
        ("completed", "incomplete", End.LIMIT),
        ("incomplete", "completed", End.LIMIT),
        ("completed", "failed", End.PROVIDER_ERROR),
        ("failed", "completed", End.PROVIDER_ERROR),
        ("completed", "expired", End.UNKNOWN),
        ("completed", "in_progress", End.LIMIT),
    ],
)
def test_the_worse_of_two_accounts_is_taken(event: str, status: str, end: End) -> None:
    """Where event, status and details differ, the response is no better than the worst of them says."""
    record = record_of([*opening(), {**terminal(status, [message()], **LIMIT), "type": f"response.{event}"}])
    assert record.end is end
    assert not record.complete


def test_a_limit_that_the_server_hides() -> None:
    """A response that says completed and used all the tokens that it was allowed is cut."""
    asked = Exchange(max_output_tokens=USAGE["output_tokens"])
    assert record_of(stream_of([message()]), asked).end is End.LIMIT
    assert record_of(stream_of([message()]), Exchange(max_output_tokens=88)).end is End.NORMAL


def test_the_last_call_of_a_cut_response_is_not_closed() -> None:
    """The status of the response is trusted, and not that of the item, which some servers always set to completed."""
    both = [function_call(number=1), custom_call(number=2)]
    cut = record_of(stream_of(both, "incomplete", **LIMIT))
    assert [call.closed for call in cut.calls] == [True, False]
    safe = record_of(stream_of(both, "incomplete", incomplete_details={"reason": "steered"}))
    assert [call.closed for call in safe.calls] == [True, True]


def test_parts_come_in_order_with_all_they_say() -> None:
    """Each kind of item becomes its part: texts with citations, reasoning, refusals, calls, and the rest as it came."""
    output: list[Any] = [
        reasoning("One", number=1),
        reasoning("", number=2),
        {"id": "rs_3", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Raw"}]},
        message(content=[{"type": "output_text", "text": "T", "annotations": [CITATION]}, {"type": "novel", "x": 1}]),
        refusal("No"),
        function_call('{"a":1}', number=6),
        custom_call("free", number=7),
        search(),
        {"type": "novel_item", "id": "n_1"},
    ]
    record = parsed(response("completed", output))
    novel = json.dumps({**output[3], "content": [{"type": "novel", "x": 1}]}, separators=(",", ":"))
    assert record.parts == (
        ReasoningPart(text="One"),
        ReasoningPart(redacted=True),
        ReasoningPart(text="Raw"),
        TextPart(text="T", citations=json.dumps([CITATION], separators=(",", ":"))),
        OpaquePart(kind="novel", native=novel),
        RefusalPart(text="No"),
        CallPart(call_id="call_6", name="read", arguments='{"a":1}'),
        CallPart(call_id="call_c7", name="patch", arguments="free", kind=CallKind.CUSTOM),
        OpaquePart(kind="web_search_call", native=json.dumps(output[7], separators=(",", ":"))),
        OpaquePart(kind="novel_item", native=json.dumps(output[8], separators=(",", ":"))),
    )
    assert json.loads(record.native) == output


@pytest.mark.parametrize(
    ("item", "end"),
    [
        ({"type": "computer_call", "call_id": "c"}, End.TOOL_CALLS),
        ({"type": "local_shell_call", "call_id": "c"}, End.TOOL_CALLS),
        ({"type": "shell_call", "call_id": "c"}, End.TOOL_CALLS),
        ({"type": "apply_patch_call", "call_id": "c"}, End.TOOL_CALLS),
        ({"type": "mcp_approval_request", "name": "f", "arguments": "{}"}, End.TOOL_CALLS),
        ({"type": "tool_search_call", "execution": "client"}, End.TOOL_CALLS),
        ({"type": "tool_search_call", "execution": "server"}, End.NORMAL),
        ({"type": "file_search_call"}, End.NORMAL),
        ({"type": "code_interpreter_call"}, End.NORMAL),
        ({"type": "image_generation_call"}, End.NORMAL),
        ({"type": "mcp_call"}, End.NORMAL),
        ({"type": "mcp_list_tools"}, End.NORMAL),
        ({"type": "compaction"}, End.NORMAL),
    ],
)
def test_items_that_wait_for_the_client(item: Fields, end: End) -> None:
    """An item that the client is to answer leaves the response open; one that the provider answers does not."""
    record = parsed(response("completed", [{**item, "id": "i_1"}, message(number=1)]))
    assert record.end is end
    assert [part.awaits_result for part in record.parts if isinstance(part, OpaquePart)] == [end is End.TOOL_CALLS]


def test_a_shell_call_that_the_provider_ran() -> None:
    """A call whose output follows in the same response waits for nobody."""
    ran: list[Fields] = [
        {"type": "shell_call", "call_id": "c"},
        {"type": "shell_call_output", "call_id": "c", "output": []},
    ]
    assert parsed(response("completed", [*ran, message()])).end is End.NORMAL


def test_usage_is_the_terminals() -> None:
    """All numbers of the usage are read; what is absent is None; its own text is kept."""
    usage = record_of(stream_of([message()])).usage
    assert usage is not None
    read = (usage.input, usage.cached_read, usage.cache_write, usage.output, usage.reasoning, usage.total)
    assert read == (36, 8, 4, 87, 64, 123)
    assert json.loads(usage.native) == USAGE
    assert record_of(stream_of([message()], usage=None)).usage is None
    partial = record_of(stream_of([message()], usage={"output_tokens": 3, "input_tokens": "9"})).usage
    assert partial is not None
    assert (partial.input, partial.output, partial.total) == (None, 3, None)


def test_nothing_of_the_output_is_written_anew() -> None:
    """Native text, citations aside, and envelope are exact pieces of what came: spaces, digits, unknown fields."""
    item = '{ "type":"message",  "content":[{"type":"output_text","text":"x"}], "n":1.50, "big":12345678901234567890}'
    body = f'{{"object": "response", "status":"completed", "output": [{item}, {{"type":"x", "e": 1E2}}], "more": 1.0 }}'
    record = openai_responses.parse_response(body.encode(), Exchange())
    assert record.native == f'[{item},{{"type":"x", "e": 1E2}}]'
    assert record.envelope == '{"object":"response","more":1.0}'


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", FailureKind.NOT_THE_PROTOCOL),
        (b"<html>", FailureKind.NOT_THE_PROTOCOL),
        (b'{"id":"x","choices":[]}', FailureKind.NOT_THE_PROTOCOL),
        (b'"text"', FailureKind.NOT_THE_PROTOCOL),
        (b"\xff\xfe", FailureKind.NOT_THE_PROTOCOL),
        (b'{"error":{"code":"insufficient_quota","message":"m"}}', FailureKind.QUOTA),
        (b'[{"error":{"code":"invalid_api_key"}}]', FailureKind.AUTHENTICATION),
        (b'{"object":"error","message":"m"}', FailureKind.SERVER_ERROR),
    ],
)
def test_a_body_that_is_no_response(body: bytes, kind: FailureKind) -> None:
    """An error with status 200, a page or another format is a failure of its kind, and never an answer."""
    record = openai_responses.parse_response(body, Exchange())
    assert record.failure is not None
    assert (record.failure.kind, record.failure.where, record.complete) == (kind, "stream", False)


def parsed(body: Any) -> ModelResponse:  # noqa: ANN401 - any JSON
    """Read a response that is not streamed."""
    return openai_responses.parse_response(
        json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), Exchange()
    )


def test_wrong_types_are_noted() -> None:
    """Fields of wrong types neither raise nor become text; what they were is noted."""
    odd = parsed({**response("completed", model=3, id=None), "output": "no list"})
    assert (odd.parts, odd.oddities, odd.model) == ((), ("output_not_list",), "")
    call = {"type": "function_call", "name": 3, "arguments": {"a": 1}}
    odd_items: list[Any] = [1, message(content=7), message(content="bare"), call]
    record = parsed(response("completed", odd_items))
    assert record.parts == (TextPart(text="bare"), CallPart(call_id="", name="", arguments='{"a":1}'))
    assert set(record.oddities) == {"item_not_object", "content_not_list", "arguments_not_string", "call_id_missing"}


def test_one_unfinished_item_of_a_stream_without_output() -> None:
    """Where the terminal holds no output, what was streamed is the record, and an unfinished call is not closed."""
    events = [*opening(), *events_of(message(), 0), *events_of(WHOLE, 1)[:-2], terminal("completed", [])]
    record = record_of(events)
    assert (record.end, [call.closed for call in record.calls]) == (End.MALFORMED_CALL, [False])
    assert record.oddities == ("output_missing",)
    assert record_of([*events[:-1], events_of(WHOLE, 1)[-2], events[-1]]).end is End.TOOL_CALLS
