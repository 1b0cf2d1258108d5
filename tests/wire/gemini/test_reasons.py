"""Every finish reason, and what follows from it."""

import json

import pytest

from signoff.core.model.response import BodyEnd, End
from tests.wire.gemini.streams import HEAD, USAGE, call, chunk, read, seen, stream

FILTERS = (
    "SAFETY PROHIBITED_CONTENT BLOCKLIST SPII RECITATION LANGUAGE MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED "
    "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
)
BAD_CALLS = (
    "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE TOO_MANY_TOOL_CALLS"
)
UNKNOWN = "NO_IMAGE IMAGE_OTHER OTHER FINISH_REASON_UNSPECIFIED MOON_PHASE stop"
ENDS = {
    "STOP": End.NORMAL,
    "MAX_TOKENS": End.LIMIT,
    "CONTINUATION": End.CONTINUATION,
    **dict.fromkeys(FILTERS.split(), End.CONTENT_FILTER),
    **dict.fromkeys(BAD_CALLS.split(), End.MALFORMED_CALL),
    **dict.fromkeys(UNKNOWN.split(), End.UNKNOWN),
}
TEXT, CALL, BAD = {"text": "a"}, call("f", {"a": 1}), call("f", [1])


@pytest.mark.parametrize("reason", ENDS)
def test_a_reason_decides_the_end_of_text(reason: str) -> None:
    """With text, without any content, streamed and not, each reason gives its end and is kept as it came."""
    for parts in ((TEXT,), ()):
        last = chunk(*parts, finish=reason)
        for response in (seen(last), seen(chunk(TEXT), last), read(json.dumps(last).encode(), streamed=False)):
            assert (response.end, response.raw_reason, response.saw_reason) == (ENDS[reason], reason, True)


@pytest.mark.parametrize("reason", ENDS)
def test_calls_count_only_under_the_reason_for_a_whole_answer(reason: str) -> None:
    """With STOP whole calls are calls and bad ones malformed; under every other reason the reason decides."""
    expected = ENDS[reason]
    whole, bad = seen(chunk(CALL, finish=reason)), seen(chunk(CALL, BAD, finish=reason))
    assert whole.end is (End.TOOL_CALLS if reason == "STOP" else expected)
    assert bad.end is (End.MALFORMED_CALL if reason == "STOP" else expected)
    cut = seen(chunk({"functionCall": {"name": "f", "willContinue": True}}, finish=reason))
    assert cut.end is (End.MALFORMED_CALL if reason == "STOP" else expected)


@pytest.mark.parametrize("reason", ENDS)
def test_a_reason_in_a_stream_that_broke_is_no_end(reason: str) -> None:
    """The protocol has no marker: only a proper end of the body proves that nothing followed the reason."""
    response = read(stream(chunk(TEXT, finish=reason)), BodyEnd.CUT)
    assert (response.end, response.saw_reason, response.complete) == (End.TRANSPORT, True, False)


def test_no_reason_is_a_cut() -> None:
    """A stream or body without a reason, or with null in its place, was cut."""
    for last in (chunk(TEXT), chunk(TEXT, finishReason=None)):
        for response in (seen(last), read(json.dumps(last).encode(), streamed=False)):
            assert (response.end, response.raw_reason, response.saw_reason) == (End.TRANSPORT, None, False)


def test_a_reason_that_is_no_word_is_unknown() -> None:
    """A number, as an enumeration may be sent, is kept as JSON and means nothing."""
    for value in (1, "", ["STOP"]):
        response = seen(chunk(TEXT, finishReason=value))
        assert (response.end, response.saw_reason) == (End.UNKNOWN, True)
    assert seen(chunk(TEXT, finishReason=1)).raw_reason == "1"


@pytest.mark.parametrize(
    "reason", ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK", "NEW"]
)
def test_a_blocked_prompt_is_filtered(reason: str) -> None:
    """No candidates and a block reason: filtered, and the reason says that it was the prompt."""
    blocked = {"promptFeedback": {"blockReason": reason}, "usageMetadata": USAGE, **HEAD}
    for response in (seen(blocked), seen(blocked, HEAD), read(json.dumps(blocked).encode(), streamed=False)):
        assert (response.end, response.raw_reason) == (End.CONTENT_FILTER, f"prompt/{reason}")
        assert (response.parts, response.native, response.oddities) == ((), "", ())
    assert read(stream(blocked), BodyEnd.CUT).end is End.TRANSPORT


def test_a_block_beats_what_stands_beside_it() -> None:
    """A candidate beside a block reason makes no answer of it; feedback without a block reason blocks nothing."""
    answer = chunk(TEXT, finish="STOP")
    response = seen({**answer, "promptFeedback": {"blockReason": "OTHER"}})
    assert (response.end, response.oddities) == (End.CONTENT_FILTER, ("content_beside_block",))
    assert seen({**answer, "promptFeedback": {"safetyRatings": []}}).end is End.NORMAL


def test_a_filter_keeps_what_came_before_it() -> None:
    """Text that was sent before the filter struck is kept as evidence, and is no answer."""
    response = seen(chunk(TEXT), chunk(finish="SAFETY"))
    assert (response.text, response.complete) == ("a", False)


def test_a_token_to_continue_with_is_kept() -> None:
    """The token beside CONTINUATION is in the envelope, where a host can find it."""
    response = seen(chunk(TEXT), chunk(finish="CONTINUATION", continuationToken="t-1"))
    assert json.loads(response.envelope) == {"candidates": [{"continuationToken": "t-1"}]}


@pytest.mark.parametrize("worse", ["MAX_TOKENS", "SAFETY", "OTHER", "MALFORMED_FUNCTION_CALL", "CONTINUATION"])
def test_the_worst_of_several_reasons_counts(worse: str) -> None:
    """A reason for a whole answer never takes the place of a worse one, in whatever order they come."""
    first, last = chunk(TEXT, finish=worse), chunk(finish="STOP")
    for response in (seen(first, last), seen(last, first), seen(first, chunk(TEXT), last)):
        assert (response.end, response.raw_reason) == (ENDS[worse], worse)
    assert seen(chunk(TEXT, finish="STOP"), last).end is End.NORMAL
