"""OpenAI's Responses protocol. The package itself is the codec; the parts of a stream are here for joining two of them.

words      which protocol, where it is spoken       slices     exact pieces of a JSON text
outcome    what a response says of its end          items      output items and their parts
request    writing a request                        client_request    reading one
response   reading a whole response                 stream     reading a streamed one, over streamed and slots
build      writing responses, streams and errors, over written (items) and frames (events)
"""

from signoff.wire.openai_responses.build import build_error, build_response, build_stream
from signoff.wire.openai_responses.client_request import parse_request
from signoff.wire.openai_responses.request import build_request
from signoff.wire.openai_responses.response import parse_response
from signoff.wire.openai_responses.stream import decoder
from signoff.wire.openai_responses.words import API, headers, path

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
