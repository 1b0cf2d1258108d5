"""A response is worth something only when its end has come whole, wherever its bytes stop or are split."""

import pytest

from signoff.core.model.response import BodyEnd, End
from tests.wire.anthropic_messages.streams import LEGAL, STOP, read

pytestmark = pytest.mark.slow

NEVER_WHOLE = {"limit in a call", "refusal", "unknown"}


@pytest.mark.parametrize("body_end", BodyEnd)
@pytest.mark.parametrize("name", LEGAL)
def test_no_prefix_is_complete(name: str, body_end: BodyEnd) -> None:
    """A stream that stops anywhere before the end of `message_stop` is not complete and raises nothing."""
    body = LEGAL[name]
    # a proper end of the body stands for the blank line behind the last frame
    whole = len(body) - (0 if body_end is BodyEnd.CUT else 2)
    for length in range(whole):
        response = read(body[:length], body_end=body_end)
        assert not response.complete
        assert response.end is End.TRANSPORT
        assert not response.saw_terminal
    assert read(body, body_end=body_end).complete is (name not in NEVER_WHOLE)


@pytest.mark.parametrize("name", LEGAL)
def test_a_call_that_a_prefix_cuts_is_not_closed(name: str) -> None:
    """A call is closed by its whole stop event and by nothing else."""
    body = LEGAL[name]
    whole = read(b"\n", body_end=BodyEnd.CUT)
    for length in range(body.index(b"\n\n") + 2, len(body) + 1):
        response = read(body[:length], body_end=BodyEnd.CUT)
        if body[:length].endswith(b"\n\n"):
            whole = response
            stops = body[:length].count(b'"type":"content_block_stop"')
            assert sum(call.closed for call in response.calls) <= stops
        assert response == whole


@pytest.mark.parametrize("name", LEGAL)
def test_any_split_reads_the_same(name: str) -> None:
    """Bytes that come one by one, or split in two at any place, make the same record."""
    body = LEGAL[name]
    expected = read(body)
    assert read(body, pieces=range(1, len(body))) == expected
    for place in range(1, len(body), 3):
        assert read(body, pieces=[place]) == expected


def test_the_end_marker_is_what_makes_it_whole() -> None:
    """The same bytes without their last event are a broken response, with the reason that was seen."""
    body = LEGAL["call"].removesuffix(STOP)
    response = read(body)
    assert (response.end, response.raw_reason, response.saw_reason) == (End.TRANSPORT, "tool_use", True)
