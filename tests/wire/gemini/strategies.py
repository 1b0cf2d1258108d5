"""Responses that the protocol can say, and JSON of all sorts, for Hypothesis."""

import json

import msgspec
from hypothesis import settings
from hypothesis import strategies as st

from signoff.core.canonical import canonical
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, TextPart
from signoff.core.model.response import End, ModelResponse, TokenUsage

unhurried = settings(deadline=None)
"""A machine with other work to do is no fault of the code."""

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,10}", fullmatch=True)
LEAVES = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
)
VALUES = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS, below, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=3)
ARGUMENTS = st.just("") | OBJECTS.map(lambda value: canonical(value).decode())
CALLS = st.builds(CallPart, call_id=st.just("") | NAMES, name=NAMES, arguments=ARGUMENTS)
OPAQUES = st.builds(
    lambda kind, value: OpaquePart(kind=kind, native=json.dumps({kind: value})),
    st.sampled_from(["inlineData", "executableCode", "toolCall", "laterKind"]),
    OBJECTS,
)
PARTS = st.builds(TextPart, text=WORDS) | st.builds(ReasoningPart, text=WORDS) | CALLS | OPAQUES
COUNTS = st.none() | st.integers(0, 10**6)
ENDS = {
    End.LIMIT: "MAX_TOKENS",
    End.CONTINUATION: "CONTINUATION",
    End.CONTENT_FILTER: "RECITATION",
    End.MALFORMED_CALL: "UNEXPECTED_TOOL_CALL",
    End.UNKNOWN: "MOON_PHASE",
    End.TRANSPORT: None,
}


@st.composite
def usages(draw: st.DrawFn) -> TokenUsage | None:
    """Counts as the protocol can give them: reasoning is a part of the output."""
    if draw(st.booleans()):
        return None
    reasoning = draw(COUNTS)
    output = draw(COUNTS) if reasoning is None else reasoning + draw(st.integers(0, 100))
    return TokenUsage(
        input=draw(COUNTS), cached_read=draw(COUNTS), output=output, reasoning=reasoning, total=draw(COUNTS)
    )


@st.composite
def responses(draw: st.DrawFn) -> ModelResponse:
    """A record of anything that this protocol can say."""
    parts: list[Part] = []
    for part in draw(st.lists(PARTS, max_size=6)):
        if not parts or type(part) is not type(parts[-1]) or not isinstance(part, TextPart | ReasoningPart):
            parts.append(part)
    whole = End.TOOL_CALLS if any(isinstance(part, CallPart) for part in parts) else End.NORMAL
    end = draw(st.sampled_from([whole, *ENDS]))
    response = ModelResponse(
        api=Api.GEMINI,
        end=end,
        raw_reason=ENDS.get(end, "STOP"),
        saw_reason=end is not End.TRANSPORT,
        parts=tuple(parts),
        usage=draw(usages()),
        response_id=draw(st.just("") | NAMES),
        model=draw(st.just("") | NAMES),
    )
    if end is End.CONTENT_FILTER and not parts:
        return msgspec.structs.replace(response, raw_reason=draw(st.sampled_from(["prompt/SAFETY", "SAFETY"])))
    return response
