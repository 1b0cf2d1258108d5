"""What a scripted server answers one request with: a response, raw bytes or an error, and what goes wrong with it.

A play is a value; here it becomes a status, headers and pieces of a body. Nothing here touches a socket.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from itertools import pairwise
from typing import NamedTuple, Protocol

import msgspec

from signoff.core.model.parts import Api, OpaquePart
from signoff.core.model.response import Failure, FailureKind, ModelResponse
from signoff.errors import PolicyError
from signoff.wire.codecs import codec_of

BEFORE_HEAD = -1
"""In place of a number of bytes: before even the status line."""

EVENT_STREAM = "text/event-stream"
_JSON = "application/json"

_STATUS = {
    FailureKind.AUTHENTICATION: HTTPStatus.UNAUTHORIZED,
    FailureKind.PERMISSION: HTTPStatus.FORBIDDEN,
    FailureKind.NOT_FOUND: HTTPStatus.NOT_FOUND,
    FailureKind.INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    FailureKind.CONTEXT_FULL: HTTPStatus.BAD_REQUEST,
    FailureKind.CONTENT_FILTER: HTTPStatus.BAD_REQUEST,
    FailureKind.QUOTA: HTTPStatus.TOO_MANY_REQUESTS,
    FailureKind.RATE_LIMITED: HTTPStatus.TOO_MANY_REQUESTS,
    FailureKind.OVERLOADED: HTTPStatus.SERVICE_UNAVAILABLE,
    FailureKind.PROVIDER_TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    FailureKind.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}
# What stands in the first frame that belongs to a stream's end. Inside a JSON string its quotes would be escaped.
_END_MARKS: Mapping[Api, tuple[bytes, ...]] = {
    Api.OPENAI_CHAT: (b'"finish_reason":"', b"data: [DONE]"),
    Api.OPENAI_RESPONSES: (b"event: response.completed", b"event: response.incomplete", b"event: response.failed"),
    Api.ANTHROPIC_MESSAGES: (b"event: message_delta", b"event: message_stop"),
    Api.GEMINI: (b'"finishReason":',),
}


class Fault(StrEnum):
    """What happens where a body stops being sent."""

    NONE = "none"
    CLOSE = "close"
    """The body ends there, properly framed, as if it were whole: what a proxy makes of a lost upstream."""
    CUT = "cut"
    """The connection is closed, and the framing shows that more was to come."""
    RESET = "reset"
    """The connection is reset."""
    STALL = "stall"
    """Nothing more is sent, and the connection stays open until the client leaves."""


class Framing(StrEnum):
    """How a client learns where a body ends."""

    CHUNKED = "chunked"
    LENGTH = "length"
    UNTIL_CLOSE = "until_close"


class Gate(Protocol):
    """What a body waits for: an `anyio.Event` or an `asyncio.Event` is one."""

    async def wait(self) -> object:
        """Return when the gate is open."""
        ...


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request: a response, a body or a failure (all absent: an empty body), and its fault."""

    response: ModelResponse | None = None
    """Written by the codec of the protocol that the request speaks, streamed if it asks so. Whatever its `api`, it is
    taken as one of that protocol, unless it has opaque parts, which only their own protocol can say."""
    body: bytes | None = None
    """Sent as it is, instead of a response."""
    failure: Failure | None = None
    """An error in the protocol's form; its kind chooses the HTTP status unless it has one."""
    in_stream: bool = False
    """The failure stands inside a 200: in a stream, after the frames of `response` and in place of its end."""
    status: int | None = None
    headers: Mapping[str, str] = {}
    content_type: str = ""
    """Empty: an event stream if the request asks for one and the status is 200, else JSON."""
    fault: Fault = Fault.NONE
    cut_after: int | None = None
    """How many bytes of the body are sent before the fault; None sends all of it, `BEFORE_HEAD` not even a status."""
    corrupt_at: int | None = None
    """The byte of the body whose lowest bit is flipped."""
    piece: int | None = None
    """Bytes a write, each its own segment and chunk; None writes a stream frame by frame and other bodies at once."""
    framing: Framing | None = None
    """None: a stream in chunks, other bodies with their length."""
    gate: Gate | None = None
    """What the server waits for before it goes on."""
    gate_at: int = 0
    """How many bytes of the body are sent before the gate; `BEFORE_HEAD` holds back the status too."""

    def __post_init__(self) -> None:
        if self.body is not None and (self.response is not None or self.failure is not None):
            raise PolicyError("a play has a body and a response or failure; it was not made. Give one of them.")
        if self.cut_after is not None and self.fault is Fault.NONE:
            raise PolicyError("a play has `cut_after` and no fault; it was not made. Say which fault happens there.")
        if self.fault is Fault.CUT and self.framing is Framing.UNTIL_CLOSE:
            raise PolicyError("a body framed by its close cannot show a cut; the play was not made. Take Fault.RESET.")
        if self.piece is not None and self.piece < 1:
            raise PolicyError(f"a play's piece is {self.piece}; it was not made. Give at least one byte.")


class Answer(NamedTuple):
    """A play, written out for one request."""

    status: int
    headers: dict[str, str]
    pieces: tuple[bytes, ...]
    """What of the body is sent, write by write."""
    framing: Framing


def answer_of(play: Play, api: Api, *, stream: bool) -> Answer:
    """Write a play out for a request. Raises `PolicyError` for a response that the protocol cannot say."""
    status = play.status or _status(play)
    frames = _frames(play, api, stream=stream)
    whole = _corrupted(b"".join(frames), play.corrupt_at)
    sent = whole[: max(play.cut_after, 0)] if play.cut_after is not None else whole
    framing = play.framing or (Framing.CHUNKED if stream and status == HTTPStatus.OK else Framing.LENGTH)
    kind = play.content_type or (EVENT_STREAM if stream and status == HTTPStatus.OK else _JSON)
    headers = {"content-type": kind}
    if play.failure is not None and play.failure.retry_after is not None:
        headers["retry-after"] = f"{play.failure.retry_after:g}"
    headers.update((name.lower(), value) for name, value in play.headers.items())
    match framing:
        case Framing.CHUNKED:
            headers["transfer-encoding"] = "chunked"
        case Framing.LENGTH:
            headers["content-length"] = str(_announced(play.fault, whole=len(whole), sent=len(sent)))
        case Framing.UNTIL_CLOSE:
            headers["connection"] = "close"
    return Answer(status, headers, tuple(_split(sent, frames, play)), framing)


def asks_for_stream(path: str, body: bytes) -> bool:
    """Whether a request wants its response streamed: by its path (Gemini) or by the field `stream`."""
    if ":streamGenerateContent" in path:
        return True
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(fields, dict) and fields.get("stream") is True


def _status(play: Play) -> int:
    if play.failure is None or play.in_stream:
        return HTTPStatus.OK
    return play.failure.status or _STATUS.get(play.failure.kind, HTTPStatus.INTERNAL_SERVER_ERROR)


def _frames(play: Play, api: Api, *, stream: bool) -> list[bytes]:
    """The body, frame by frame where it is a stream."""
    if play.body is not None:
        return [play.body]
    if play.response is None and play.failure is None:
        return []
    codec = codec_of(api)
    response = None if play.response is None else _labelled(play.response, api)
    streamed = stream and (play.failure is None or play.in_stream)
    frames: list[bytes] = []
    if response is not None and streamed:
        frames = list(codec.build_stream(response))
    elif response is not None and play.failure is None:
        frames = [codec.build_response(response)]
    if play.failure is not None:
        frames = _without_end(frames, api)
        frames.append(codec.build_error(play.failure, message="written in the script", in_stream=streamed))
    return frames


def _labelled(response: ModelResponse, api: Api) -> ModelResponse:
    """The response as one of this protocol; one that holds something of its own protocol stays what it is."""
    if any(isinstance(part, OpaquePart) for part in response.parts):
        return response
    return msgspec.structs.replace(response, api=api)


def _without_end(frames: list[bytes], api: Api) -> list[bytes]:
    """The frames before the first that belongs to the end of the stream."""
    for place, frame in enumerate(frames):
        if any(mark in frame for mark in _END_MARKS[api]):
            return frames[:place]
    return frames


def _corrupted(body: bytes, at: int | None) -> bytes:
    if at is None:
        return body
    if not 0 <= at < len(body):
        raise PolicyError(f"byte {at} of a body of {len(body)} was to be corrupted; nothing was. Name one inside it.")
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


def _announced(fault: Fault, *, whole: int, sent: int) -> int:
    """The content length: what is sent, unless the fault is to show in the framing."""
    if fault is Fault.NONE or fault is Fault.CLOSE:
        return sent
    return max(whole, sent + 1)


def _split(sent: bytes, frames: list[bytes], play: Play) -> list[bytes]:
    """What is sent, cut into writes: by size or by frame, and at the gate."""
    ends: set[int] = set()
    if play.piece is not None:
        ends.update(range(play.piece, len(sent), play.piece))
    else:
        end = 0
        for frame in frames:
            end += len(frame)
            ends.add(end)
    if play.gate is not None:
        ends.add(play.gate_at)
    marks = [0, *sorted(end for end in ends if 0 < end < len(sent)), len(sent)]
    return [sent[start:end] for start, end in pairwise(marks) if start < end]
