"""OpenAI Chat Completions, and the many servers that speak it in their own way.

words      finish reasons, errors, usage            turn       one turn of the assistant, from deltas or whole
calls      calls, from their fragments              facts      what stands beside the turn
stream     the decoder                              response   a whole body
request    a request's body                         received   a client's request, read
build      responses, streams, errors               exact      pieces of a body, byte for byte
"""

from signoff.core.model.ending import Exchange
from signoff.wire.codec import StreamDecoder
from signoff.wire.openai_chat.build import build_error, build_response, build_stream
from signoff.wire.openai_chat.received import parse_request
from signoff.wire.openai_chat.request import build_request, headers, path
from signoff.wire.openai_chat.response import parse_response
from signoff.wire.openai_chat.stream import ChatDecoder
from signoff.wire.openai_chat.words import API

__all__ = [
    "API",
    "build_error",
    "build_request",
    "build_response",
    "build_stream",
    "decoder",
    "headers",
    "parse_request",
    "parse_response",
    "path",
]


def decoder(exchange: Exchange) -> StreamDecoder:
    """A decoder for one streamed response with status 200."""
    return ChatDecoder(exchange)
