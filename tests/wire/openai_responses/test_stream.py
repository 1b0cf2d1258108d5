"""How a stream of the Responses protocol is read that is not quite as its vendor sends it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from signoff.core.model.deltas import CallDelta, CallStarted, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallPart, TextPart
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind
from signoff.wire import openai_responses
from signoff.wire.sse import Frame
from tests.wire.openai_responses.streams import (
    LEGAL,
    USAGE,
    Fields,
    data_of,
    events_of,
    function_call,
    message,
    opening,
    overlapping,
    read,
    reasoning,
    record_of,
    refusal,
    response,
    stream_of,
    terminal,
)

TEXT = stream_of([message()])
CALLS = stream_of([function_call(number=0), function_call('{"path":"b"}', number=1)])


def without(events: list[Fields], *words: str) -> list[Fields]:
    """The events whose types hold none of the words."""
    return [event for event in events if not any(word in event["type"] for word in words)]


def moved(events: list[Fields], by: int) -> list[Fields]:
    """The events with every output index raised."""
    return [{**e, "output_index": e["output_index"] + by} if "output_index" in e else e for e in events]


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_stream_has_no_oddity(name: str) -> None:
    """Nothing that the vendor sends counts as a deviation."""
    assert record_of(LEGAL[name]).oddities == ()


def test_items_may_overlap() -> None:
    """Items close in any order and their pieces mix; each keeps its own, and the order is that of the indexes."""
    record, deltas = read(data_of(overlapping()))
    assert [call.arguments for call in record.calls] == ['{"path":"a"}', '{"path":"b"}']
    assert record.reasoning == "Thinking"
    for place, call in enumerate(record.calls):
        pieces = [delta.text for delta in deltas if isinstance(delta, CallDelta) and delta.index == place]
        assert (len(pieces) > 1, "".join(pieces)) == (True, call.arguments)


def test_deltas_tell_everything_once() -> None:
    """What is shown is what the record holds, in pieces, and each call's beginning once."""
    record, deltas = read(data_of(stream_of([reasoning(), message(number=1), refusal(), function_call(number=3)])))
    for kind, text in ((TextDelta, record.text), (ReasoningDelta, record.reasoning), (RefusalDelta, record.refusal)):
        assert "".join(delta.text for delta in deltas if isinstance(delta, kind)) == text
    assert [delta for delta in deltas if isinstance(delta, CallStarted)] == [CallStarted(0, "call_3", "read")]


@pytest.mark.parametrize("dropped", ["delta", ".delta|.done|part", "delta|text.done|arguments.done"])
def test_what_was_not_streamed_is_shown_at_its_end(dropped: str) -> None:
    """A server that sends no deltas, or only finished items, is shown all the same, and once."""
    events = stream_of([message(), function_call(number=1)])
    keep = [e for e in events if "output_item" in e["type"] or not any(w in e["type"] for w in dropped.split("|"))]
    record, deltas = read(data_of(keep))
    assert record.oddities == ()
    assert [delta for delta in deltas if isinstance(delta, TextDelta)] == [TextDelta("Hello wörld")]
    assert [d for d in deltas if not isinstance(d, TextDelta)] == [
        CallStarted(0, "call_1", "read"),
        CallDelta(0, '{"path":"a"}'),
    ]


def test_only_the_terminal() -> None:
    """A stream of one terminal event is read, shown and noted."""
    record, deltas = read(data_of([terminal("completed", [message(), function_call(number=1)])]))
    assert (record.end, record.oddities) == (End.TOOL_CALLS, ("output_not_streamed",))
    assert deltas == [TextDelta("Hello wörld"), CallStarted(0, "call_1", "read"), CallDelta(0, '{"path":"a"}')]


def other_id(events: list[Fields]) -> list[Fields]:
    """The events, the last of them with another response id."""
    return [*events[:-1], terminal("completed", [message()], id="resp_2")]


DEVIATIONS: list[tuple[str, Callable[[list[Fields]], list[Fields]], str]] = [
    ("first event not response.created", lambda e: e[2:], ""),
    ("another response id", other_id, "response_id_changed"),
    ("the same index added twice", lambda e: [*e[:3], *e[2:]], "item_added_twice"),
    ("a gap in the indexes", lambda e: moved(e, 3), ""),
    ("a huge index", lambda e: moved(e, 10**18), ""),
    ("a delta before its item", lambda e: without(e, "item.added"), "event_out_of_order"),
    ("a delta before its part", lambda e: without(e, "part.added"), "event_out_of_order"),
    ("an item added late", lambda e: [*e[:2], *e[3:5], e[2], *e[5:]], "event_out_of_order"),
    ("output key missing", lambda e: [*e[:-1], without_output(e[-1])], "output_missing"),
    ("output null", lambda e: [*e[:-1], without_output(e[-1], output=None)], "output_missing"),
    ("missing text.done", lambda e: without(e, "text.done"), ""),
    ("missing part.done", lambda e: without(e, "part.done"), ""),
    ("missing text.done and part.done", lambda e: without(e, "text.done", "part.done"), ""),
    ("missing item.done", lambda e: without(e, "item.done"), ""),
    ("an empty added event", lambda e: [*e[:2], {**e[2], "item": None}, *e[3:]], "empty_item"),
    ("a constant sequence number", lambda e: [{**x, "sequence_number": 0} for x in e], "sequence_not_increasing"),
    ("no sequence number", lambda e: [{**x, "sequence_number": None} for x in e], "sequence_missing"),
    ("an unknown event", lambda e: [*e[:4], {"type": "response.novel", "delta": "x"}, *e[4:]], "unknown_event"),
    ("keepalive", lambda e: [*e[:4], {"type": "keepalive"}, *e[4:]], ""),
    ("events after the terminal", lambda e: [*e, e[4]], "frame_after_end"),
    ("no indexes", lambda e: [{k: v for k, v in x.items() if k != "output_index"} for x in e], "output_index_missing"),
    (
        "a text.done that differs",
        lambda e: [{**x, "text": "?"} if "text.done" in x["type"] else x for x in e],
        "text_done_differs",
    ),
]


def without_output(event: Fields, **instead: object) -> Fields:
    """The terminal event, its response without the field `output`, or with another."""
    return {**event, "response": {k: v for k, v in event["response"].items() if k != "output"} | instead}


@pytest.mark.parametrize(("name", "change", "code"), DEVIATIONS)
def test_a_deviation_is_read(name: str, change: Callable[[list[Fields]], list[Fields]], code: str) -> None:
    """A stream that kills strict clients, or that they read without a word, is read and its deviation noted."""
    record = record_of(change(TEXT))
    assert (record.end, record.text) == (End.NORMAL, "Hello wörld"), name
    assert code in record.oddities if code else record.oddities == ()


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ([message("Short")], "output_differs"),
        ([message(), function_call(number=1)], "output_differs"),
        ([message(number=9)], ""),
    ],
)
def test_the_terminals_output_is_the_record(output: list[Fields], code: str) -> None:
    """Where both accounts differ in text or calls, the terminal's is the record and the difference is noted."""
    record = record_of([*TEXT[:-1], terminal("completed", output)])
    assert record.text == output[0]["content"][0]["text"]
    assert len(record.calls) == len(output) - 1
    assert record.oddities == ((code,) if code else ())
    assert json.loads(record.native) == output


def test_calls_whose_ids_differ_from_the_terminals() -> None:
    """A server that names its calls anew at the end is read with the last names, and that is noted."""
    renamed = [function_call(number=number) for number in (7, 8)]
    record = record_of([*CALLS[:-1], terminal("completed", renamed)])
    assert [call.call_id for call in record.calls] == ["call_7", "call_8"]
    assert record.oddities == ("output_differs",)


def test_the_done_item_beats_its_deltas() -> None:
    """Without a final output the finished items are the record, not their pieces."""
    events = [*TEXT[:-2], {**TEXT[-2], "item": message("Said at last")}, terminal("completed", [])]
    record = record_of(events)
    assert (record.text, record.oddities) == ("Said at last", ("item_done_differs", "output_missing"))


def test_one_index_for_all_items() -> None:
    """A server that gives every item the index 0 is read item by item."""
    output = [message(), function_call(number=1), function_call('{"path":"b"}', number=2)]
    inner = [event for item in output for event in events_of(item, 0)]
    for last in (terminal("completed", output), terminal("completed", [])):
        record = record_of([*opening(), *inner, last])
        assert [call.arguments for call in record.calls] == ['{"path":"a"}', '{"path":"b"}']
        assert (record.text, "output_index_reused" in record.oddities) == ("Hello wörld", True)


def test_two_items_at_one_index_that_mix() -> None:
    """Pieces of two items that share an index go to the item that they name."""
    first, second = (events_of(function_call(f'{{"n":{number}}}', number=number), 0, cut=2) for number in (1, 2))
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    for events in (mixed, [event for event in mixed if "item.done" not in event["type"]]):
        record = record_of([*opening(), *events, terminal("completed", [])])
        assert [call.arguments for call in record.calls] == ['{"n":1}', '{"n":2}']
        assert set(record.oddities) == {"output_index_reused", "output_missing"}


def test_finished_items_at_one_index() -> None:
    """Items that share an index and come only as finished ones are all kept."""
    done = [events_of(function_call(number=number), 0)[-1] for number in (1, 2)]
    record = record_of([*opening(), *done, terminal("completed", [])])
    assert [call.call_id for call in record.calls] == ["call_1", "call_2"]


def test_the_order_is_that_of_the_indexes() -> None:
    """Without a final output the items stand in the order of their indexes, and not of their arrival."""
    late, early = events_of(message("second", number=2), 7), events_of(message("first ", number=1), 3)
    assert record_of([*opening(), *late, *early, terminal("completed", [])]).text == "first second"


def test_item_done_with_another_identity() -> None:
    """A finished item with another id than it began with is taken, and noted."""
    events = [
        {**e, "item": function_call(number=5)} if "item.done" in e["type"] else e for e in stream_of([function_call()])
    ]
    record = record_of([*events[:-1], terminal("completed", [])])
    assert [call.call_id for call in record.calls] == ["call_5"]
    assert "item_identity_changed" in record.oddities


def test_no_terminal_is_no_answer() -> None:
    """A stream that ends properly without a terminal event was cut, whatever items it finished."""
    for body_end in BodyEnd:
        record, _ = read(data_of(TEXT[:-1]), body_end=body_end)
        assert (record.end, record.saw_reason, record.saw_terminal) == (End.TRANSPORT, False, False)
        assert (record.text, record.response_id, record.body_end) == ("Hello wörld", "resp_1", body_end)


def test_done_sentinel() -> None:
    """`[DONE]` is harmless behind a terminal, and ends a stream without one as cut."""
    assert read(data_of(TEXT) + b"data: [DONE]\n\n")[0].oddities == ()
    record, _ = read(data_of(TEXT[:-1]) + b"data: [DONE]\n\n" + data_of(TEXT[-1:]))
    assert record.end is End.TRANSPORT


def test_the_end_of_the_transport_cannot_undo_a_terminal() -> None:
    """A connection that breaks behind the terminal takes nothing away; before it, it is the failure."""
    cut = Failure(kind=FailureKind.CUT, where="transport")
    for events, end, failure in ((TEXT, End.NORMAL, None), (TEXT[:-1], End.TRANSPORT, cut)):
        decoder = openai_responses.decoder(Exchange())
        for event in events:
            decoder.feed(Frame(data=json.dumps(event), event=event["type"]))
        record = decoder.end(BodyEnd.CUT, cut)
        assert (record.end, record.failure) == (end, failure)


def test_finished_says_when_reading_may_stop() -> None:
    """A decoder is finished with the terminal, with an error and with `[DONE]`, and not before."""
    decoder = openai_responses.decoder(Exchange())
    seen = []
    for event in TEXT:
        decoder.feed(Frame(data=json.dumps(event)))
        seen.append(decoder.finished)
    assert seen == [*[False] * (len(TEXT) - 1), True]
    for frame in (Frame(data="[DONE]"), Frame(data='{"type":"error","code":null,"message":""}'), Frame(data="<")):
        other = openai_responses.decoder(Exchange())
        other.feed(frame)
        assert other.finished


@pytest.mark.parametrize("data", ["<html>", '{"type":', "[1]", '"x"', "7"])
def test_an_unreadable_frame_ends_the_stream(data: str) -> None:
    """A frame that is no event is a failure of the protocol, also behind whole items."""
    body = data_of(TEXT[:-1]) + f"data: {data}\n\n".encode() + data_of(TEXT[-1:])
    record, _ = read(body)
    assert record.failure is not None
    assert (record.failure.kind, record.end) == (FailureKind.NOT_THE_PROTOCOL, End.PROVIDER_ERROR)
    assert record.text == "Hello wörld"


def test_another_protocols_stream() -> None:
    """Frames without a type, such as Chat's chunks, are no answer of this protocol."""
    record, _ = read(b'data: {"id":"x","choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n')
    assert record.failure is not None
    assert record.failure.kind is FailureKind.NOT_THE_PROTOCOL


def test_an_error_in_a_field_of_its_own() -> None:
    """The `error:` line that one server writes, and every official client drops, is an error."""
    record, _ = read(data_of(TEXT[:-1]) + b'error: {"code":500,"message":"boom"}\n\ndata: [DONE]\n\n')
    assert record.failure is not None
    assert (record.failure.kind, record.end) == (FailureKind.SERVER_ERROR, End.PROVIDER_ERROR)


def test_events_named_only_by_their_frame() -> None:
    """A type that stands only in the frame's name is taken from there, and noted."""
    decoder = openai_responses.decoder(Exchange())
    for event in TEXT:
        decoder.feed(Frame(data=json.dumps({k: v for k, v in event.items() if k != "type"}), event=event["type"]))
    record = decoder.end(BodyEnd.CLEAN)
    assert (record.end, record.text) == (End.NORMAL, "Hello wörld")
    assert "event_without_type" in record.oddities


def test_half_characters_meet_again() -> None:
    """An emoji whose two halves come in two deltas is one character, shown whole."""
    halves = [{**e, "delta": half} for half in ("\ud83d", "\ude00") for e in TEXT if e["type"].endswith("text.delta")][
        ::4
    ]
    body = "".join(
        f"data: {json.dumps(event)}\n\n"
        for event in [
            *TEXT[:4],
            {**halves[0], "delta": "\ud83d"},
            {**halves[0], "delta": "\ude00"},
            terminal("completed", []),
        ]
    )
    record, deltas = read(body.encode())
    assert (record.text, deltas) == ("😀", [TextDelta("😀")])
    assert json.loads(record.native)[0]["content"][0]["text"] == "😀"


def test_usage_that_came_early() -> None:
    """Usage that only the first event holds is kept; that of the terminal beats it."""
    begun = {"type": "response.created", "response": response(usage={"output_tokens": 1})}
    early = record_of([begun, terminal("completed", [message()], usage=None)]).usage
    late = record_of([begun, terminal("completed", [message()], usage=USAGE)]).usage
    assert early is not None
    assert late is not None
    assert (early.output, late.output) == (1, 87)


def test_hostile_streams_cost_no_more_than_their_bytes() -> None:
    """Huge indexes, very many calls at one index and repeated ends are read in linear time, and to the end."""
    calls = [
        {"type": "response.output_item.added", "output_index": 0, "item": function_call(number=n)}
        for n in range(20_000)
    ]
    dones = [
        {"type": "response.output_text.done", "output_index": 10**15, "content_index": 10**15, "text": "x"}
    ] * 20_000
    long = {"type": "response.output_text.delta", "output_index": 10**15, "content_index": 10**15, "delta": "y" * 10**6}
    decoder = openai_responses.decoder(Exchange())
    for event in [*calls, long, *dones]:
        decoder.feed(Frame(data=json.dumps(event)))
    record = decoder.end(BodyEnd.CUT)
    assert (len(record.calls), record.text) == (20_000, "x")


@pytest.mark.parametrize("value", [None, 3, "x", [], [1], {}, {"type": 3}, True])
@pytest.mark.parametrize(
    "field", ["item", "part", "delta", "text", "output_index", "content_index", "response", "item_id"]
)
def test_wrong_types_in_events(field: str, value: Any) -> None:  # noqa: ANN401 - any JSON
    """Any field of any event may be of any type: the rest is read, and nothing raises."""
    record = record_of([{**event, field: value} if field in event else event for event in CALLS + TEXT[2:]])
    assert record.complete == (field != "response" or isinstance(value, dict))


def test_a_call_that_is_whole_in_its_beginning() -> None:
    """Arguments that stand in the added item already, without a delta, are not lost."""
    added = {"type": "response.output_item.added", "output_index": 0, "item": function_call()}
    record = record_of([*opening(), added, terminal("completed", [])])
    assert record.parts == (CallPart(call_id="call_0", name="read", arguments='{"path":"a"}', closed=False),)
    given = {**added, "item": message("Given")}
    assert record_of([*opening(), given, terminal("completed", [])]).parts == (TextPart(text="Given"),)
