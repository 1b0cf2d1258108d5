"""Anthropic Messages: requests, responses and streams. The package is the codec; see `signoff.wire.codec`.

request     a request's body, by turns and offers   received    a client's request body
stream      the decoder, over content and blocks    response    a body that is not streamed
build       responses and errors, over frames       words, tokens, slices    tables, usage, exact pieces of JSON
"""

from signoff.wire.anthropic_messages.build import build_error, build_response, build_stream
from signoff.wire.anthropic_messages.received import parse_request
from signoff.wire.anthropic_messages.request import build_request, headers, path
from signoff.wire.anthropic_messages.response import parse_response
from signoff.wire.anthropic_messages.stream import Decoder as decoder  # noqa: N813 - the codec's function that makes one
from signoff.wire.anthropic_messages.words import API

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
