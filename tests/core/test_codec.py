"""Values and bytes: what is written is read back, broken and newer records are told apart, and no record crashes."""

import json

import msgspec
import pytest

from signoff.core.canonical import canonical
from signoff.core.codec import FORMAT, decode_event, decode_state, encode
from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.goal.advance import advance
from signoff.core.goal.events import CancelRequested, Event
from signoff.core.goal.state import GoalState
from signoff.core.values import Moment
from signoff.errors import CanonicalError, JournalCorrupt, PolicyError, UnknownFormat
from signoff.testing import Scene
from tests.core.test_table import EVENTS, STATES

CANCELLED = CancelRequested(at=Moment(elapsed=1.5, wall="2030-01-01T00:00:01.500Z"), by="SIGINT")


@pytest.mark.parametrize("event", EVENTS.values(), ids=list(EVENTS))
def test_every_event_is_read_back(event: Event) -> None:
    """Each type of event comes back from its bytes as it was."""
    assert decode_event(encode(event)) == event


@pytest.mark.parametrize("state", STATES.values(), ids=list(STATES))
def test_every_state_is_read_back(state: GoalState) -> None:
    """A checkpoint of each phase comes back from its bytes as it was, and goes on as the live run would."""
    assert decode_state(encode(state)) == state


def test_a_record_is_plain_canonical_json() -> None:
    """A record can be read by any program: its format, and the event with its type and named fields."""
    assert json.loads(encode(CANCELLED)) == {
        "format": FORMAT,
        "value": {
            "type": "CancelRequested",
            "at": {"elapsed": 1.5, "wall": "2030-01-01T00:00:01.500Z"},
            "by": "SIGINT",
        },
    }
    assert encode(CANCELLED) == canonical(json.loads(encode(CANCELLED)))


def test_a_record_of_format_1_stays_readable() -> None:
    """What an earlier version of this format wrote is read: fields that came later take their defaults."""
    at = b'{"elapsed":0,"wall":"2030-01-01T00:00:00Z"}'
    old = b'{"format":1,"value":{"at":' + at + b',"by":"caller","type":"CancelRequested"}}'
    assert decode_event(old) == CancelRequested(at=Moment(elapsed=0, wall="2030-01-01T00:00:00Z"), by="caller")


def altered(**changes: object) -> bytes:
    """The record of a cancellation with some of its fields replaced."""
    value = msgspec.to_builtins(CANCELLED)
    return canonical({"format": FORMAT, "value": {**value, **changes}})


BROKEN = [
    b"",
    b"\x00",
    b"null",
    b"[]",
    b"{}",
    b'{"format":1}',
    b'{"value":{}}',
    b'{"format":"1","value":{}}',
    b'{"format":true,"value":{}}',
    b'{"format":1.5,"value":{}}',
    b'{"format":1,"value":{}}',
    b'{"format":1,"value":null}',
    b'{"format":1,"value":{"type":"CancelRequested"}}',
    encode(CANCELLED)[:-1],
    encode(CANCELLED) + b"x",
    encode(CANCELLED).replace(b"SIGINT", b"\xff\xfe"),
    altered(type="Invented"),
    altered(by="SIGKILL"),
    altered(at={"elapsed": "soon", "wall": "2030-01-01T00:00:00Z"}),
    altered(at={"elapsed": 0, "wall": "2030-01-01T00:00:00"}),
    b'{"format":1,"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    altered(unknown=0).replace(b'"unknown":0', b'"unknown":' + b"[" * 100_000 + b"]" * 100_000),
]


@pytest.mark.parametrize("body", BROKEN)
def test_broken_bytes_are_no_event(body: bytes) -> None:
    """Whatever is no record is refused as such, with what to do; nothing else is raised."""
    with pytest.raises(JournalCorrupt, match="not used"):
        decode_event(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"format":1,"value":[]}',
        b'{"format":1,"value":{"phase":"asleep"}}',
        b'{"format":1,"value":{"attempt":"1"}}',
        b'{"format":1,"value":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
)
def test_broken_bytes_are_no_state(body: bytes) -> None:
    """Whatever is no checkpoint is refused as such."""
    with pytest.raises(JournalCorrupt, match="not used"):
        decode_state(body)


@pytest.mark.parametrize("number", [2, 99, 0, -1])
def test_another_format_is_named(number: int) -> None:
    """A record of another format is not guessed at: the message names both formats."""
    body = canonical({"format": number, "value": {"whatever": "it is"}})
    for decode in (decode_event, decode_state):
        with pytest.raises(UnknownFormat, match=f"format {number} and this version reads format {FORMAT}"):
            decode(body)


def test_bad_values_in_a_record_are_found() -> None:
    """What could not be constructed cannot be read either."""
    contract = Contract(commands=(ValidationCommand(id="tests", argv=("a",)),))
    body = encode(Scene().started(contract)).replace(b'"id":"tests"', b'"id":"../.."')
    with pytest.raises(JournalCorrupt, match="not a usable id"):
        decode_event(body)


@pytest.mark.parametrize("text", ["\ud800", "a\udcff"])
def test_text_that_is_no_unicode_is_not_written(text: str) -> None:
    """Half a character has no bytes: it is refused when the record is made, not when it is read."""
    with pytest.raises(CanonicalError):
        encode(Scene().started(Contract(), goal=text))


def test_a_checkpoint_goes_on_like_the_run() -> None:
    """A state that was read back takes the next event as the live one does."""
    scene = Scene()
    state = advance(GoalState(), scene.started(Contract())).state
    event = scene.cancelled()
    assert advance(decode_state(encode(state)), event) == advance(state, event)


def test_what_is_refused_is_an_error_of_a_policy_too() -> None:
    """A timestamp without a zone is refused in a record for the same reason as anywhere."""
    with pytest.raises(PolicyError):
        Moment(elapsed=0, wall="2030-01-01T00:00:00")
