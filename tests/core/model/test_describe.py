"""The one line about a response says its end and what stands out, and nothing of what the model said."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.describe import describe
from signoff.core.model.parts import Api, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse, TokenUsage

USED = TokenUsage(input=1, output=2)
WHOLE = CallPart(call_id="c1", name="write", arguments='{"path":"a"}')
CUT = CallPart(call_id="c2", name="write", arguments='{"path":"a', closed=False)
BROKEN = CallPart(call_id="c3", name="write", arguments='{"path":"a')
NORMAL = ModelResponse(
    api=Api.OPENAI_CHAT, end=End.NORMAL, raw_reason="stop", saw_reason=True, saw_terminal=True, usage=USED
)
LOST = ModelResponse(api=Api.OPENAI_CHAT, end=End.TRANSPORT, usage=USED, body_end=BodyEnd.CUT)
WEB_PAGE = Failure(kind=FailureKind.NOT_THE_PROTOCOL, where="stream", status=200)


def change(response: ModelResponse, **facts: object) -> ModelResponse:
    """A response with some facts replaced."""
    return msgspec.structs.replace(response, **facts)


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (change(NORMAL, parts=(TextPart(text="Done."),)), "normal (stop): text"),
        (change(NORMAL, parts=(TextPart(text="Done."),), usage=None), "normal (stop): text; no usage"),
        (change(NORMAL, parts=(TextPart(text=" \n"),)), "normal (stop): empty"),
        (change(NORMAL, parts=(ReasoningPart(text="Hm."),)), "normal (stop): reasoning only"),
        (change(NORMAL, parts=(OpaquePart(kind="image", native="{}"),)), "normal (stop): no text"),
        (change(NORMAL, end=End.REFUSAL, parts=(RefusalPart(text="No."),)), "refusal (stop): a refusal"),
        (change(NORMAL, end=End.TOOL_CALLS, parts=(WHOLE,)), "tool_calls (stop): 1 call"),
        (change(NORMAL, end=End.TOOL_CALLS, parts=(WHOLE, WHOLE)), "tool_calls (stop): 2 calls"),
        (change(NORMAL, end=End.LIMIT, parts=(WHOLE, BROKEN)), "limit (stop): cut inside a call"),
        (
            change(NORMAL, end=End.MALFORMED_CALL, parts=(BROKEN,)),
            "malformed_call (stop): a call whose arguments are not one JSON object",
        ),
        (change(NORMAL, end=End.MALFORMED_CALL, parts=(CUT,)), "malformed_call (stop): cut inside a call"),
        (change(LOST, parts=(TextPart(text="Ha"),)), "transport: cut inside the text"),
        (LOST, "transport: nothing came"),
        (change(LOST, saw_terminal=True), "transport: nothing came; an end marker without a reason"),
        (
            change(LOST, saw_reason=True, raw_reason="end_turn"),
            "transport (end_turn): nothing came; a reason without an end marker",
        ),
        (
            change(LOST, end=End.PROVIDER_ERROR, failure=WEB_PAGE, oddities=("empty_frame",)),
            "provider_error: nothing came; not the protocol 200; empty frame",
        ),
        (
            change(LOST, failure=Failure(kind=FailureKind.CUT, where="transport")),
            "transport: nothing came; cut",
        ),
    ],
)
def test_each_end_has_its_words(response: ModelResponse, said: str) -> None:
    """The end, the provider's own word, what came, which proof of the end was missing, the failure, oddities."""
    assert describe(response) == said


@given(st.text())
def test_a_reason_is_shown_short_and_printable(reason: str) -> None:
    """The provider's word is a stranger's text: nothing of it can move a cursor or fill a screen."""
    line = describe(change(NORMAL, raw_reason=reason))
    assert line.isprintable()
    assert len(line) < 100


def test_nothing_of_the_model_is_said() -> None:
    """No text, argument, name or refusal of the model stands in the line."""
    parts = (
        TextPart(text="XYZZY"),
        RefusalPart(text="XYZZY"),
        CallPart(call_id="XYZZY", name="XYZZY", arguments="XYZZY"),
    )
    assert "XYZZY" not in describe(change(NORMAL, end=End.MALFORMED_CALL, parts=parts))
