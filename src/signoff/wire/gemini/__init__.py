"""Gemini generateContent and streamGenerateContent.

address   where requests go            turn · content · calls · partial   one response, from its chunks
request   building one                 stream · response                  frames and bodies
received  reading a client's           build                              responses, streams and errors
reasons · tokens · declared            words, counts and tools            exact    texts cut out as they came
"""

from signoff.core.model.parts import Api
from signoff.wire.gemini.address import headers, path
from signoff.wire.gemini.build import build_error, build_response, build_stream
from signoff.wire.gemini.received import parse_request
from signoff.wire.gemini.request import build_request
from signoff.wire.gemini.response import parse_response
from signoff.wire.gemini.stream import decoder

API = Api.GEMINI

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
