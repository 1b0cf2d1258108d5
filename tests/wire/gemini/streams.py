"""Chunks, streams and readings that the tests of this codec share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallPart
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.wire import gemini
from signoff.wire.reader import ResponseReader

HEAD: Final = {"modelVersion": "m-1", "responseId": "r-1"}
SIGNED: Final = {"thoughtSignature": "c2lnbmVk"}
USAGE: Final = {"promptTokenCount": 12, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 19}
Chunk = Mapping[str, Any]


def chunk(*parts: Chunk, finish: str | None = None, **candidate: object) -> dict[str, Any]:
    """One chunk with the first candidate."""
    content = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    reason = {} if finish is None else {"finishReason": finish}
    usage = {} if finish is None else {"usageMetadata": USAGE}
    return {"candidates": [{**content, **reason, "index": 0, **candidate}], **usage, **HEAD}


def call(name: str, args: object = None, **fields: object) -> dict[str, Any]:
    """A part with a call; without arguments when they are None."""
    return {"functionCall": {"name": name, **({} if args is None else {"args": args}), **fields}}


def piece(**fields: object) -> dict[str, Any]:
    """A part with some of a call's arguments; `more` of the call follows unless it is said otherwise."""
    more = fields.pop("more", True)
    return {"functionCall": {"partialArgs": [fields], **({"willContinue": True} if more else {})}}


def data(value: object) -> bytes:
    """One frame."""
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def stream(*chunks: object) -> bytes:
    """A body of frames."""
    return b"".join(map(data, chunks))


def read(
    body: bytes, body_end: BodyEnd = BodyEnd.CLEAN, *, streamed: bool = True, cap: int | None = None
) -> ModelResponse:
    """The record of a body, read as it would come over the wire; `cap` is the number of tokens that was asked for."""
    kind = "text/event-stream" if streamed else "application/json"
    exchange = Exchange(content_type=kind, max_output_tokens=cap)
    reader = ResponseReader(gemini, exchange, streamed=streamed)
    reader.feed(body)
    return reader.end(body_end)


def seen(*chunks: object) -> ModelResponse:
    """The record of a stream that ended properly."""
    return read(stream(*chunks))


def calls_of(response: ModelResponse) -> list[tuple[str, str, bool]]:
    """Name, arguments and close of each call."""
    return [(one.name, one.arguments, one.closed) for one in response.parts if isinstance(one, CallPart)]


def native_parts(response: ModelResponse) -> list[Chunk]:
    """The parts in the native content."""
    parts: list[Chunk] = json.loads(response.native)["parts"]
    return parts


STREAMED_CALL: Final = (
    chunk({**call("light", willContinue=True), **SIGNED}),
    chunk(piece(jsonPath="$.brightness", numberValue=50)),
    chunk(piece(jsonPath="$.colour", stringValue="wa", willContinue=True)),
    chunk(piece(jsonPath="$.colour", stringValue="rm")),
    chunk({"functionCall": {}}),
)
LEGAL: Final[Mapping[str, Sequence[Chunk]]] = {
    "text": (chunk({"text": "Hel"}), chunk({"text": "lo 🎈\u2028"}), chunk({"text": ""}, finish="STOP")),
    "finish on the last text": (chunk({"text": "Hel"}), chunk({"text": "lo"}, finish="STOP")),
    "finish without content": (chunk({"text": "Hello"}), chunk(finish="STOP")),
    "thought and signed text": (
        chunk({"text": "Hm. ", "thought": True}),
        chunk({"text": "So.", "thought": True}, {"text": "Yes"}),
        chunk({"text": "", **SIGNED}, finish="STOP"),
    ),
    "calls": (
        chunk({"text": "I look."}),
        chunk({**call("read", {"path": "a"}, id="c1"), **SIGNED}, call("read", {"path": "b"}, id="c2")),
        chunk({"text": ""}, finish="STOP"),
    ),
    "calls with the finish": (chunk(call("read", {"path": "a"}), call("now"), finish="STOP"),),
    "call in pieces": (*STREAMED_CALL, chunk({"text": ""}, finish="STOP")),
    "hosted tools": (
        chunk({"executableCode": {"language": "PYTHON", "code": "1+1"}}),
        chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}, {"text": "Two."}),
        chunk({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, finish="STOP"),
    ),
    "usage last": (
        chunk({"text": "Hello"}, finish="STOP"),
        {"usageMetadata": USAGE, **HEAD},
    ),
}
