"""A recorded stream of each protocol, cut after every byte and corrupted in every byte: never whole, never run.

All bytes go through the reader alone; a sample of the cuts is played over real sockets, where a body can also end
properly in the middle, break off, or be reset. A letter that is flipped inside a string leaves valid JSON, which nobody
can tell from another letter: such a call is taken, and this is no fault of a reader.
"""

from collections.abc import Sequence
from itertools import product

import anyio
import pytest

from signoff.core.boundary import Accepted, StrictFinish, worth
from signoff.core.canonical import parse
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, TextPart
from signoff.core.model.request import ModelRequest, Tool, UserMessage
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse
from signoff.models import open_model
from signoff.testing import Fault, Play, ScriptedServer
from signoff.wire.codecs import codec_of
from signoff.wire.reader import ResponseReader
from tests.streaming import streamed
from tests.wire.matrix.recorded import ARGUMENTS, RECORDED, Recorded
from tests.wire.test_matrix import NAMES

pytestmark = pytest.mark.slow

PATH = '{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'
REQUEST = ModelRequest(
    messages=(UserMessage(parts=(TextPart(text="Write a and read b."),)),),
    tools=(Tool(name="write", parameters=PATH), Tool(name="read", parameters=PATH)),
)
CUT = Failure(kind=FailureKind.CUT, where="transport")
SOCKET_CUTS = 60
EVENT_STREAM, JSON = "text/event-stream", "application/json"


def read(api: Api, body: bytes, body_end: BodyEnd = BodyEnd.CLEAN, *, stream: bool = True) -> ModelResponse:
    """What the reader makes of a body that came so far and ended so."""
    exchange = Exchange(content_type=EVENT_STREAM if stream else JSON)
    reader = ResponseReader(codec_of(api), exchange, streamed=stream)
    reader.feed(body)
    if reader.finished:
        return reader.end(BodyEnd.CLEAN)
    return reader.end(body_end, None if body_end is BodyEnd.CLEAN else CUT)


def calls_of(response: ModelResponse, strict_finish: StrictFinish = "on") -> list[str]:
    """The arguments of the calls that may run."""
    found = worth(response, REQUEST, strict_finish=strict_finish)
    return [call.arguments.decode() for call in found.calls] if isinstance(found, Accepted) else []


def is_proven(recorded: Recorded, sent: int, body_end: BodyEnd) -> bool:
    """Whether so many bytes of the stream, and its end, prove it whole."""
    return sent >= recorded.proof and not (recorded.proven_by_close and body_end is BodyEnd.CUT)


def check(response: ModelResponse, *, proven: bool, where: object) -> None:
    """Nothing is whole or run before it is proven; what there is of a call is the beginning of it."""
    assert proven or not response.complete, where
    assert proven or not isinstance(worth(response, REQUEST), Accepted), where
    assert proven or response.end is End.TRANSPORT, where
    for call, whole in zip(response.calls, ARGUMENTS, strict=False):
        assert whole.startswith(call.arguments), where
    # Also a host that excuses a missing reason never gets a call that differs from what was sent.
    excused = calls_of(response, "off")
    assert excused == list(ARGUMENTS)[: len(excused)], where


@pytest.mark.parametrize("body_end", BodyEnd)
@pytest.mark.parametrize("api", RECORDED)
def test_a_stream_cut_after_any_byte_is_not_whole(api: Api, body_end: BodyEnd) -> None:
    """Each beginning of a stream is a transport end without a call that may run, until the protocol's own proof."""
    recorded = RECORDED[api]
    for sent in range(len(recorded.stream) + 1):
        proven = is_proven(recorded, sent, body_end)
        check(read(api, recorded.stream[:sent], body_end), proven=proven, where=sent)


@pytest.mark.parametrize("api", RECORDED)
def test_a_whole_stream_is_whole(api: Api) -> None:
    """The same stream with all its bytes is complete, and both of its calls may run."""
    response = read(api, RECORDED[api].stream)
    assert (response.complete, response.text, response.reasoning) == (True, "Hello, world.", "Let me think.")
    assert calls_of(response) == list(ARGUMENTS)
    assert response.usage is not None
    assert response.oddities == ()


@pytest.mark.parametrize("api", RECORDED)
def test_a_stream_may_come_in_any_pieces(api: Api) -> None:
    """Byte by byte the record is the same as at once."""
    reader = ResponseReader(codec_of(api), Exchange(content_type=EVENT_STREAM), streamed=True)
    for at in range(len(RECORDED[api].stream)):
        reader.feed(RECORDED[api].stream[at : at + 1])
    assert reader.end(BodyEnd.CLEAN) == read(api, RECORDED[api].stream)


@pytest.mark.parametrize("api", RECORDED)
def test_a_body_cut_after_any_byte_is_not_whole(api: Api) -> None:
    """A body that is not streamed is complete with its last byte and not before, however it ended."""
    whole = RECORDED[api].whole
    assert calls_of(read(api, whole, stream=False)) == list(ARGUMENTS)
    for sent, body_end in product(range(len(whole)), BodyEnd):
        response = read(api, whole[:sent], body_end, stream=False)
        assert not response.complete, sent
        assert (response.calls, calls_of(response)) == ((), []), sent


@pytest.mark.parametrize("flip", [0x01, 0x80], ids=hex)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("api", RECORDED)
def test_a_corrupted_byte_is_a_value_and_no_wild_call(api: Api, *, stream: bool, flip: int) -> None:
    """With any byte changed there is a record and no exception, and what may run has arguments in strict JSON."""
    body = RECORDED[api].stream if stream else RECORDED[api].whole
    for at, byte in enumerate(body):
        changed = body[:at] + bytes([byte ^ flip]) + body[at + 1 :]
        response = read(api, changed, stream=stream)
        assert isinstance(response, ModelResponse)
        for arguments in calls_of(response):
            assert isinstance(parse(arguments), dict), at


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.CUT, Fault.RESET])
@pytest.mark.parametrize("api", RECORDED)
def test_a_stream_cut_on_the_wire_is_not_whole(api: Api, fault: Fault) -> None:
    """Over real sockets too: a body that ends early, breaks off or is reset is complete only where it was proven."""
    recorded = RECORDED[api]
    cuts = sorted(
        {*range(0, len(recorded.stream), len(recorded.stream) // SOCKET_CUTS), recorded.proof - 1, len(recorded.stream)}
    )
    body_end = BodyEnd.CLEAN if fault is Fault.CLOSE else BodyEnd.CUT
    for sent, response in zip(cuts, anyio.run(_ask_all, api, fault, cuts), strict=True):
        check(response, proven=is_proven(recorded, sent, body_end), where=sent)


async def _ask_all(api: Api, fault: Fault, cuts: Sequence[int]) -> list[ModelResponse]:
    """Ask one model once for each cut."""
    name, path = NAMES[api]
    stream = RECORDED[api].stream
    plays = [Play(body=stream, fault=fault, cut_after=cut, piece=997) for cut in cuts]
    async with (
        ScriptedServer(plays) as server,
        open_model(name, key=lambda: "sk-test", base_url=f"{server.url}{path}") as model,
    ):
        return [await streamed(model, REQUEST) for _ in cuts]
