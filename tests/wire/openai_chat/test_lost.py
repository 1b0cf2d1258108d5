"""Content that was lost or may have been cut, errors inside a choice, and fragments that contradict each other."""

import time

import pytest

from signoff.core.model.response import BodyEnd, End, FailureKind
from tests.wire.openai_chat.chunks import (
    CALL_A,
    CALL_B,
    DONE,
    START,
    TEXT,
    chunk,
    delta,
    fragment,
    frame,
    read,
    read_whole,
    whole,
)

LATE = {"text": [delta(content="b")], "refusal": [delta(refusal="No")], "a call": CALL_B, "more of a call": CALL_A[2:]}


@pytest.mark.parametrize("late", LATE)
def test_content_behind_the_reason_of_a_cut_body(late: str) -> None:
    """The reason proves nothing of what came behind it: a cut takes it back, and a reason behind it gives it again."""
    frames = [START, *CALL_A[: 2 if late == "more of a call" else 3], delta("tool_calls"), *LATE[late]]
    cut = read(*frames, body_end=BodyEnd.CUT)
    assert (cut.end, cut.saw_reason, cut.raw_reason, cut.oddities) == (End.TRANSPORT, False, None, ("after_finish",))
    again = read(*frames, delta("tool_calls"), body_end=BodyEnd.CUT)
    assert (again.end, again.saw_reason) == (End.REFUSAL if late == "refusal" else End.TOOL_CALLS, True)


def test_text_behind_the_reason_of_a_body_that_ended() -> None:
    """A proper end of the body, or the end marker, shows that the text is all there."""
    frames = [START, TEXT[0], delta("stop"), TEXT[1]]
    assert [read(*frames).end, read(*frames, DONE, body_end=BodyEnd.CUT).end] == [End.NORMAL] * 2


def test_a_call_that_began_behind_the_reason() -> None:
    """Only a later reason closes it, not another call, and not the end of the body."""
    frames = [START, *CALL_A, delta("tool_calls"), *CALL_B, fragment(2, "{}", call_id="c", name="f")]
    for end in ([], [DONE]):
        response = read(*frames, *end)
        assert (response.end, [call.closed for call in response.calls]) == (End.MALFORMED_CALL, [True, False, False])
    assert read(*frames, delta("tool_calls"), DONE).end is End.TOOL_CALLS


def test_a_reason_of_a_cut_stays() -> None:
    """A filter or a limit is never turned into a mere break of the connection by what followed or was lost."""
    for reason, end in (("length", End.LIMIT), ("content_filter", End.CONTENT_FILTER)):
        assert read(START, delta(reason), *TEXT, delta(content=7), body_end=BodyEnd.CUT).end is end


@pytest.mark.parametrize("error", [{"code": 502, "message": "Boom"}, "Boom", True])
def test_an_error_inside_a_choice(error: object) -> None:
    """It fails the response, streamed or whole, whatever the reason beside it, and its text is kept nowhere."""
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "stop", "error": error}
    body = whole("MESSAGE").replace(b'"message":"MESSAGE"', b'"message":{"content":"Hi"},"error":{"message":"Boom"}')
    for response in (read(START, *TEXT, chunk(choice), DONE), read_whole(body)):
        assert response.failure is not None
        assert (response.end, response.failure.where) == (End.PROVIDER_ERROR, "stream")
        assert "Boom" not in response.envelope
    assert (
        read(START, chunk({**choice, "error": {"code": "slow_down"}})).failure
        == read(START, frame({"error": {"code": "slow_down"}})).failure
    )
    assert read(START, chunk({**choice, "error": None}), DONE).end is End.NORMAL
    overloaded = read(START, chunk({**choice, "error": {"code": "slow_down"}})).failure
    assert overloaded is not None
    assert overloaded.kind is FailureKind.OVERLOADED


LOST = {
    "calls that are no list": (delta(tool_calls={"index": 0}), "unread_call"),
    "an entry that is no object": (delta(tool_calls=["x"]), "unread_call"),
    "a function that is no object": (delta(tool_calls=[{"index": 0, "function": "{}"}]), "unread_call"),
    "an old call that is no object": (delta(function_call="{}"), "unread_call"),
    "a delta that is no object": (chunk({"index": 0, "delta": "lo"}), "unread_delta"),
    "choices that are no list": (frame({"choices": {"delta": {"content": "lo"}}}), "unread_choice"),
    "choices beside usage": (frame({"choices": "lo", "usage": {}}), "unread_choice"),
    "a choice whose index is no number": (chunk({"index": "0", "delta": {"content": "lo"}}), "unread_choice"),
    "a choice that is no object": (chunk("lo"), "unread_choice"),
    "a number as content": (delta(content=7), "unread_content"),
    "an object as content": (delta(content={"text": "lo"}), "unread_content"),
    "a list with a bare text": (delta(content=["lo"]), "unread_content"),
    "a list with a text that is none": (delta(content=[{"type": "text", "text": 7}]), "unread_content"),
    "a number as refusal": (delta(refusal=7), "unread_refusal"),
}


@pytest.mark.parametrize("name", LOST)
def test_a_piece_that_could_not_be_read(name: str) -> None:
    """What is left of the answer is not whole, whatever its reason says; the oddity tells why."""
    piece, oddity = LOST[name]
    response = read(START, *TEXT, piece, delta("stop"), DONE)
    assert (response.end, response.saw_reason) == (End.TRANSPORT, False)
    assert oddity in response.oddities


@pytest.mark.parametrize("message", ["Hi", {"content": 7}, {"content": "Hi", "tool_calls": {"a": 1}}])
def test_a_piece_of_a_body_that_could_not_be_read(message: object) -> None:
    """The same, of a body that is not streamed."""
    assert read_whole(whole(message)).end is End.TRANSPORT
    assert read_whole(whole({"content": "Hi", "tool_calls": None})).end is End.NORMAL


@pytest.mark.parametrize(
    "fragments",
    [
        [fragment(0, name="f"), fragment(0, "{}", name="g")],
        [fragment(0, "{}", call_id="a", name="f"), fragment(0, name="g")],
        [fragment(0, "{}", call_id="a", name="f"), fragment(0, "", call_id="a", name="g")],
        [fragment(0, "{", call_id="a", name="f"), fragment(0, "}", call_id="b")],
    ],
)
def test_fragments_that_speak_of_two_calls(fragments: list[bytes]) -> None:
    """Another name, or another id alone, under one index: nobody can say which call it is, so none runs."""
    response = read(START, *fragments, delta("tool_calls"), DONE)
    assert (response.end, [call.closed for call in response.calls]) == (End.MALFORMED_CALL, [False])


def test_very_many_choices_in_one_chunk_take_linear_time() -> None:
    """A chunk is cut apart once, however many of its choices have arguments that are no text."""
    entry = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {}}}
    choices = [{"index": 0, "delta": {"tool_calls": [{**entry, "index": n, "id": f"c{n}"}]}} for n in range(3_000)]
    began = time.process_time()
    assert len(read(chunk(*choices), delta("tool_calls"), DONE).calls) == 3_000
    assert time.process_time() - began < 2
