"""One response of each protocol, streamed and whole, that says everything: reasoning, text, two calls and usage."""

from collections.abc import Mapping

import msgspec

from signoff.core.model.parts import Api
from tests.wire.matrix import anthropic, chat, gemini, responses
from tests.wire.matrix.table import Fields, data, joined, json

ARGUMENTS = ('{"path":"a"}', '{"path":"b"}')
"""What the calls `write` and `read` of each response say."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One response."""

    stream: bytes
    proof: int
    """How many bytes of the stream hold its own proof of being whole; before them nothing may be complete."""
    proven_by_close: bool = False
    """Whether it takes the proper end of the body too."""
    whole: bytes


def _behind(event: Fields, *, places: int) -> Fields:
    return {**event, "output_index": event["output_index"] + places}


def _chat() -> Recorded:
    thoughts = [chat.delta(reasoning_content="Let me "), chat.delta(reasoning_content="think.")]
    proven = joined(chat.OPEN, thoughts, chat.TEXT, chat.CALLS, chat.delta("tool_calls"))
    return Recorded(
        stream=joined(proven, chat.COUNTED, chat.DONE),
        proof=len(proven.rstrip()),
        whole=chat.message(
            "tool_calls", content="Hello, world.", reasoning_content="Let me think.", tool_calls=chat.TWO_CALLS
        ),
    )


def _responses() -> Recorded:
    items = [responses.THOUGHT, responses.HELLO, responses.A, responses.B]
    spoken = [_behind(event, places=1) for event in responses.TEXT]
    called = [_behind(event, places=2) for event in responses.CALLS]
    stream = responses.stream(*responses.THINKING, *spoken, *called, responses.ended("completed", *items))
    return Recorded(stream=stream, proof=len(stream.rstrip()), whole=responses.body("completed", *items))


def _anthropic() -> Recorded:
    spoken = anthropic.block(
        1,
        anthropic.text(""),
        {"type": "text_delta", "text": "Hello"},
        {"type": "text_delta", "text": ", world."},
    )
    called = [
        *anthropic.called(0, '{"path":', '"a"}', index=2),
        *anthropic.called(1, '{"path":"b"}', index=3),
    ]
    stream = anthropic.ended(*anthropic.THINKING, *spoken, *called, reason="tool_use")
    content = [anthropic.THOUGHT, anthropic.HELLO, *anthropic.TWO_CALLS]
    return Recorded(stream=stream, proof=len(stream.rstrip()), whole=anthropic.body("tool_use", *content))


def _gemini() -> Recorded:
    parts: list[Fields] = [gemini.THOUGHT, *gemini.TEXT, *gemini.CALLS]
    stream = joined([data(gemini.said(part)) for part in parts], gemini.LAST)
    return Recorded(
        stream=stream,
        proof=len(stream.rstrip()),
        proven_by_close=True,
        whole=json(gemini.said(*parts, finish="STOP")),
    )


RECORDED: Mapping[Api, Recorded] = {
    Api.OPENAI_CHAT: _chat(),
    Api.OPENAI_RESPONSES: _responses(),
    Api.ANTHROPIC_MESSAGES: _anthropic(),
    Api.GEMINI: _gemini(),
}
