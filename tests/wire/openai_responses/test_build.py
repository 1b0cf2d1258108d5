"""What is written is in the one form that every official client reads."""

import json
from collections.abc import Callable

import msgspec
import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallKind, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.errors import PolicyError
from signoff.testing.replies import call, reply
from signoff.wire import openai_responses
from signoff.wire.codec import Codec
from signoff.wire.openai_responses.frames import Event, item_events, numbered
from signoff.wire.openai_responses.items import items_of
from tests.wire.openai_responses.streams import (
    LEGAL,
    Fields,
    data_of,
    function_call,
    message,
    opening,
    read,
    reasoning,
    record_of,
    response,
    search,
    stream_of,
    terminal,
)
from tests.wire.openai_responses.strict import faults_of

CODEC: Codec = openai_responses
"""The package is a codec: the type checker says so."""
EVERYTHING: tuple[Part, ...] = (
    ReasoningPart(text="Thinking"),
    ReasoningPart(redacted=True),
    TextPart(text="One", citations='[{"type":"url_citation","url":"u"}]'),
    RefusalPart(text="Two"),
    TextPart(text=""),
    call("f", {"a": 1}, call_id="call_1"),
    call("g", "*** free", call_id="call_2", kind=CallKind.CUSTOM),
    OpaquePart(kind="web_search_call", native=json.dumps(search(), separators=(",", ":"))),
    TextPart(text="Three"),
)


def streamed(record: ModelResponse) -> bytes:
    """The bytes of a response as a stream."""
    return b"".join(openai_responses.build_stream(record))


@pytest.mark.parametrize("name", sorted(LEGAL.keys() - {"keepalive"}))
def test_the_vendors_streams_are_strict(name: str) -> None:
    """The checker finds no fault in what the vendor sends; `keepalive`, which clients choked on, is one."""
    assert faults_of(data_of(LEGAL[name])) == []


CHANGES: dict[str, Callable[[list[Fields]], list[Fields]]] = {
    "first event": lambda e: e[2:],
    "second event": lambda e: [e[0], *e[2:]],
    "no terminal": lambda e: e[:-1],
    "outside its item": lambda e: [*e[:2], *e[3:]],
    "before its part": lambda e: [*e[:3], *e[4:]],
    "index 3": lambda e: [{**x, "output_index": 3} if "output_index" in x else x for x in e],
    "unknown": lambda e: [*e[:2], {"type": "response.novel"}, *e[2:]],
    "behind the end": lambda e: [*e, e[-1]],
    "pieces": lambda e: [*e[:4], *e[5:]],
    "open items": lambda e: [*e[:-2], e[-1]],
    "output": lambda e: [*e[:-1], terminal("completed", [])],
    "another response": lambda e: [*e[:-1], terminal("completed", [message()], id="r")],
    "id changed": lambda e: [*e[:-2], {**e[-2], "item": message(number=4)}, terminal("completed", [message(number=4)])],
    "sequence": lambda e: [{**x, "sequence_number": 0} for x in e],
}


@pytest.mark.parametrize("fault", CHANGES)
def test_the_checker_finds_faults(fault: str) -> None:
    """Each rule of the strict readers is found broken where it is."""
    assert any(fault in each for each in faults_of(data_of(CHANGES[fault](stream_of([message()])))))


def test_every_part_is_written() -> None:
    """A response of all kinds of parts is strict as a stream, and the same as a body; both are read as the parts."""
    record = reply(parts=EVERYTHING, response_id="resp_9", model="m", end=End.REFUSAL, api=Api.OPENAI_RESPONSES)
    assert faults_of(streamed(record)) == []
    again, _ = read(streamed(record))
    whole = openai_responses.parse_response(openai_responses.build_response(record), Exchange())
    assert (again.parts, again.end, again.oddities) == (EVERYTHING, End.REFUSAL, ())
    assert msgspec.structs.replace(again, streamed=False) == whole


@pytest.mark.parametrize("name", sorted(LEGAL.keys() - {"error"}))
def test_what_was_read_is_written_again(name: str) -> None:
    """A record is written with the provider's own items and fields, so that reading it again loses nothing."""
    record = record_of(LEGAL[name])
    again, _ = read(streamed(record))
    assert faults_of(streamed(record)) == []
    assert (again.native, again.envelope) == (record.native, record.envelope)
    assert streamed(again) == streamed(record)
    whole = openai_responses.parse_response(openai_responses.build_response(record), Exchange())
    assert (whole.parts, whole.end, whole.native) == (record.parts, record.end, record.native)


def test_changed_parts_beat_the_native_text() -> None:
    """Where the parts no longer say what the native text says, the parts are written."""
    record = record_of(stream_of([message(), function_call(number=1)]))
    changed = msgspec.structs.replace(record, parts=record.parts[:1])
    again, _ = read(streamed(changed))
    assert (again.parts, again.end) == (record.parts[:1], End.NORMAL)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (End.NORMAL, "completed"),
        (End.TOOL_CALLS, "completed"),
        (End.LIMIT, "incomplete/max_output_tokens"),
        (End.CONTENT_FILTER, "incomplete/content_filter"),
        (End.PAUSED, "incomplete/steered"),
        (End.CONTEXT_FULL, "failed/context_length_exceeded"),
        (End.PROVIDER_ERROR, "failed/server_error"),
    ],
)
@pytest.mark.parametrize("raw_reason", [None, "stop"])
def test_an_end_in_no_words_or_in_anothers(end: End, words: str, raw_reason: str | None) -> None:
    """A response that another protocol ended is written with this one's words for its end, and read as that end."""
    calls = [call("f")] if end is End.TOOL_CALLS else []
    record = msgspec.structs.replace(reply("x", calls=calls, end=end), raw_reason=raw_reason)
    again, _ = read(streamed(record))
    assert (again.end, again.raw_reason) == (end, words)
    assert faults_of(streamed(record)) == []
    assert openai_responses.parse_response(openai_responses.build_response(record), Exchange()).end is end


def test_an_unknown_status_is_written_as_it_was() -> None:
    """A status that nobody knows stays unknown, and is never written as a success."""
    body = json.dumps(response("expired", [message()])).encode()
    record = openai_responses.parse_response(body, Exchange())
    for again in (
        read(streamed(record))[0],
        openai_responses.parse_response(openai_responses.build_response(record), Exchange()),
    ):
        assert (again.end, again.raw_reason) == (End.UNKNOWN, "expired")


@pytest.mark.parametrize("end", [End.TRANSPORT, End.UNKNOWN, End.CONTINUATION, End.REFUSAL])
def test_an_end_without_words_is_refused(end: End) -> None:
    """What this protocol cannot say is refused before the first frame."""
    for build in (openai_responses.build_response, openai_responses.build_stream):
        with pytest.raises(PolicyError, match=end.value):
            build(reply("x", end=end))


def test_a_foreign_part_is_refused() -> None:
    """A part that is no output item is refused."""
    for native in ("7", "{}", "<"):
        with pytest.raises(PolicyError, match="no output item"):
            openai_responses.build_response(reply(parts=(OpaquePart(kind="image", native=native),)))


def test_ids_are_made_from_the_response() -> None:
    """The same response gets the same ids, another one others; all are short enough to be sent back."""
    first, again, other = (reply("x", calls=[call("f")], response_id=name) for name in ("resp_1", "resp_1", "resp_2"))
    assert streamed(first) == streamed(again)
    ids = [
        {item["id"] for item in json.loads(openai_responses.build_response(each))["output"]} for each in (first, other)
    ]
    assert ids == [{"msg_1_0", "fc_1_1"}, {"msg_2_0", "fc_2_1"}]
    for name in ("", "x" * 500, "é / ü"):
        body = json.loads(openai_responses.build_response(reply("x", calls=[call("f")], response_id=name)))
        assert body["id"]
        assert all(len(item["id"]) <= 64 and item["id"].isascii() for item in body["output"])


def test_a_script_may_say_what_no_provider_would() -> None:
    """Calls with one id are written as they are: what they are worth is for the reader to say."""
    record = reply(calls=[call("f", call_id="c"), call("g", call_id="c")])
    assert [each.call_id for each in read(streamed(record))[0].calls] == ["c", "c"]


def test_frames_can_be_numbered_anew() -> None:
    """Events have no number of their own, so that two legs can be one stream: the second leg goes on where it must."""
    items = items_of(json.dumps([message(), reasoning(number=1)]), set())
    events = [event for index, item in enumerate(items) for event in item_events(item, index + 4)]
    data = [json.loads(frame.split(b"data: ")[1]) for frame in numbered(events, start=7)]
    assert [each["sequence_number"] for each in data] == list(range(7, 7 + len(events)))
    assert {each["output_index"] for each in data} == {4, 5}
    assert list(numbered([Event("x", {})])) == [b'event: x\ndata: {"type":"x","sequence_number":0}\n\n']


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - {FailureKind.CONNECTION, FailureKind.CUT}))
def test_errors_keep_their_kind(kind: FailureKind) -> None:
    """An error is read again as the kind that it was, where the protocol has a word for it."""
    failure = Failure(kind=kind, where="http")
    ours = {FailureKind.NOT_THE_PROTOCOL, FailureKind.TOO_LARGE, FailureKind.DEADLINE}
    expected = FailureKind.SERVER_ERROR if kind in ours else kind
    body = openai_responses.build_error(failure, message="Told.", in_stream=False)
    frame = openai_responses.build_error(failure, message="Told.", in_stream=True)
    assert json.loads(body)["error"].keys() == {"message", "type", "param", "code"}
    assert json.loads(frame.split(b"data: ")[1]).keys() == {"type", "code", "message", "param", "sequence_number"}
    for record in (openai_responses.parse_response(body, Exchange()), read(data_of(opening()) + frame)[0]):
        assert record.failure is not None
        assert (record.failure.kind, record.failure.message_length) == (expected, 5)


def test_an_errors_own_words_are_kept() -> None:
    """The type and code of a failure are written as they were."""
    failure = Failure(kind=FailureKind.RATE_LIMITED, where="http", type="tokens", code="rate_limit_exceeded")
    error = json.loads(openai_responses.build_error(failure, message="m", in_stream=False))["error"]
    assert error == {"message": "m", "type": "tokens", "param": None, "code": "rate_limit_exceeded"}


def test_usage_has_a_number_in_every_place() -> None:
    """Clients read every number of the usage; absent usage is null."""
    body = json.loads(openai_responses.build_response(reply("x", usage=(3, 4))))
    assert body["usage"] == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
    assert json.loads(openai_responses.build_response(reply("x", usage=None)))["usage"] is None
