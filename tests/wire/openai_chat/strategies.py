"""Responses of Chat Completions for Hypothesis: everything that the protocol can say, in the order it is read in."""

from hypothesis import strategies as st

from signoff.core.model.parts import Api, CallKind, CallPart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, ModelResponse, TokenUsage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
OBJECTS = st.sampled_from(["", "null", "{}", '{"a":1}', ' {"path": "é\\n", "x": [1.0, 1e5, {}]} '])
FREE = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNTS = st.none() | st.integers(0, 10**9)
CUT = {End.LIMIT: "length", End.CONTENT_FILTER: "content_filter", End.PROVIDER_ERROR: "error", End.UNKNOWN: "eos"}


@st.composite
def usages(draw: st.DrawFn) -> TokenUsage:
    """Usage with its three counts, and details as far as they are known."""
    return TokenUsage(
        input=draw(st.integers(0, 10**9)),
        output=draw(st.integers(0, 10**9)),
        total=draw(st.integers(0, 10**9)),
        cached_read=draw(COUNTS),
        cache_write=draw(COUNTS),
        reasoning=draw(COUNTS),
    )


@st.composite
def calls(draw: st.DrawFn) -> list[CallPart]:
    """Whole calls with ids of their own, or the one old call that has none."""
    names = draw(st.lists(TEXTS, max_size=3))
    if len(names) == 1 and draw(st.booleans()):
        return [CallPart(call_id="", name=names[0], arguments=draw(OBJECTS))]
    kinds = [draw(st.sampled_from(CallKind)) for _ in names]
    return [
        CallPart(
            call_id=f"call_{n}", name=name, kind=kind, arguments=draw(FREE if kind is CallKind.CUSTOM else OBJECTS)
        )
        for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]


@st.composite
def responses(draw: st.DrawFn) -> ModelResponse:
    """A response that ended as the protocol's words can say it."""
    made = draw(calls())
    texts: list[Part] = [kind(text=draw(TEXTS)) for kind in (ReasoningPart, TextPart) if draw(st.booleans())]
    whole = (
        (End.TOOL_CALLS, draw(st.sampled_from(["stop", "tool_calls", "function_call"])))
        if made
        else (End.NORMAL, "stop")
    )
    end, reason = draw(st.sampled_from([whole, *CUT.items(), (End.TRANSPORT, None)]))
    if draw(st.booleans()) and end is whole[0]:
        texts.append(RefusalPart(text=draw(TEXTS.filter(str.strip))))
        end, reason = End.REFUSAL, "stop"
    if made and end not in {End.TOOL_CALLS, End.REFUSAL}:
        last = made.pop()
        made.append(CallPart(call_id=last.call_id, name=last.name, kind=last.kind, arguments=draw(FREE), closed=False))
    return ModelResponse(
        api=Api.OPENAI_CHAT,
        end=end,
        raw_reason=reason,
        saw_reason=reason is not None,
        saw_terminal=reason is not None,
        streamed=True,
        parts=(*texts, *made),
        usage=draw(st.none() | usages()) if reason is not None else None,
        response_id=draw(TEXTS),
        model=draw(TEXTS),
        envelope='{"created":7,"system_fingerprint":"fp"}',
    )
