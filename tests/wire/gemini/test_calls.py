"""Calls: whole ones with their exact text, and those that come in pieces."""

import json

import pytest

from signoff.core.model.deltas import CallDelta, CallStarted
from signoff.core.model.ending import Exchange
from signoff.core.model.response import End, ModelResponse
from signoff.wire import gemini
from signoff.wire.gemini.partial import assembled, steps_of
from signoff.wire.sse import Frame
from tests.wire.gemini.streams import (
    SIGNED,
    STREAMED_CALL,
    call,
    calls_of,
    chunk,
    native_parts,
    piece,
    read,
    seen,
)

STOP = chunk(finish="STOP")
OPEN = call("f", willContinue=True)
CLOSE: dict[str, object] = {"functionCall": {}}


def with_args(args: str) -> ModelResponse:
    """The record of a body with one call that has these arguments."""
    body = json.dumps(chunk(call("f", "ARGS"), finish="STOP")).replace('"ARGS"', args)
    return read(body.encode(), streamed=False)


@pytest.mark.parametrize(
    ("args", "end"),
    [
        ('{"a": 1.0, "b":"\\u00e9é\\/"}', End.TOOL_CALLS),
        ('{"n":12345678901234567890123}', End.TOOL_CALLS),
        ("{}", End.TOOL_CALLS),
        ("null", End.TOOL_CALLS),
        ('{"a":1,"a":2}', End.MALFORMED_CALL),
        ('{"a":{"b":1,"b":1}}', End.MALFORMED_CALL),
        ('{"a":"\\ud800"}', End.MALFORMED_CALL),
        ('"{\\"a\\":1}"', End.MALFORMED_CALL),
        ("[]", End.MALFORMED_CALL),
        ("7", End.MALFORMED_CALL),
    ],
)
def test_arguments_are_the_exact_text(args: str, end: End) -> None:
    """What was received is the argument text, with its spaces, digits and repeated keys; the strict reading decides."""
    response = with_args(args)
    assert calls_of(response) == [("f", args, True)]
    assert response.end is end


def test_a_call_without_arguments_or_id_has_none() -> None:
    """What the provider did not give stays empty."""
    response = seen(chunk(call("f"), call("g", id="c1"), finish="STOP"))
    assert [(one.call_id, one.arguments) for one in response.calls] == [("", ""), ("c1", "")]
    assert response.end is End.TOOL_CALLS


def test_a_call_in_pieces_is_put_together() -> None:
    """The pieces make one object and one part of the history, which keeps the signature."""
    response = seen(*STREAMED_CALL, STOP)
    assert calls_of(response) == [("light", '{"brightness":50,"colour":"warm"}', True)]
    assert response.end is End.TOOL_CALLS
    args = {"brightness": 50, "colour": "warm"}
    assert native_parts(response) == [{"functionCall": {"name": "light", "args": args}, **SIGNED}]


def test_a_call_in_pieces_is_shown_when_it_is_whole() -> None:
    """It is announced with its first piece; its arguments are told once, at its close."""
    decoder = gemini.decoder(Exchange())
    shown = [decoder.feed(Frame(data=json.dumps(one))) for one in STREAMED_CALL]
    assert shown[0] == (CallStarted(0, "", "light"),)
    assert shown[1:-1] == [()] * (len(shown) - 2)
    assert shown[-1] == (CallDelta(0, '{"brightness":50,"colour":"warm"}'),)


def test_calls_in_pieces_follow_each_other() -> None:
    """A name begins the next call; each has its own pieces and its own place."""
    response = seen(
        chunk(OPEN),
        chunk(piece(jsonPath="$.a", boolValue=True, more=False)),
        chunk(call("g", willContinue=True, id="c2")),
        chunk({"functionCall": {"id": "c2", "name": "g", "willContinue": True}}),
        chunk(CLOSE),
        STOP,
    )
    assert calls_of(response) == [("f", '{"a":true}', True), ("g", "", True)]
    assert response.oddities == ()


@pytest.mark.parametrize("pieces", range(1, len(STREAMED_CALL)))
def test_a_call_whose_end_never_came_is_open(pieces: int) -> None:
    """With any piece missing at its end a call is not closed, has no object for arguments, and makes nothing whole."""
    response = seen(*STREAMED_CALL[:pieces], STOP)
    ((name, arguments, closed),) = calls_of(response)
    assert (name, closed, response.end) == ("light", False, End.MALFORMED_CALL)
    assert not arguments.startswith("{")
    assert len(native_parts(response)) == pieces


def test_a_call_that_is_left_open_stays_open() -> None:
    """When the next call begins first, the one before it never ended."""
    response = seen(chunk(OPEN), chunk(call("g", {"a": 1})), STOP)
    assert calls_of(response) == [("f", "", False), ("g", '{"a": 1}', True)]
    assert (response.end, response.oddities) == (End.MALFORMED_CALL, ("call_left_open",))


def test_arguments_whole_and_in_pieces_are_in_doubt() -> None:
    """A call that gives its arguments twice is not closed, and all that it gave is kept."""
    response = seen(
        chunk(call("f", {"a": 1}, willContinue=True)), chunk(piece(jsonPath="$.a", numberValue=2, more=False)), STOP
    )
    ((_, arguments, closed),) = calls_of(response)
    assert (arguments, closed) == ('[{"a": 1},{"jsonPath": "$.a", "numberValue": 2}]', False)
    assert (response.end, response.oddities) == (End.MALFORMED_CALL, ("partial_args_in_doubt",))


def test_whole_arguments_may_be_followed_by_a_close() -> None:
    """Arguments at once and the close apart are one whole call."""
    response = seen(chunk(call("f", {"a": 1}, willContinue=True)), chunk(CLOSE), STOP)
    assert calls_of(response) == [("f", '{"a": 1}', True)]


def test_signatures_that_disagree_are_not_merged() -> None:
    """Pieces that carry different signatures stay as they came."""
    parts = [{**OPEN, **SIGNED}, {**CLOSE, "thoughtSignature": "b3RoZXI="}]
    assert native_parts(seen(*map(chunk, parts), STOP)) == parts


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.a", ("a",)),
        ("$.a.b_1", ("a", "b_1")),
        ("$.a[0].b", ("a", 0, "b")),
        ('$[\'a b\']["c\\"d"]', ("a b", 'c"d')),
        ("$['it\\'s \"x\"']", ('it\'s "x"',)),
        ("$.é", ("é",)),
        ("$", None),
        ("$.", None),
        ("a.b", None),
        ("$[0]", None),
        ("$.a[*]", None),
        ("$..a", None),
        ("$.a[-1]", None),
        ("$.a[01]", None),
        ("$.a[?(@.b)]", None),
        ("$.a b", None),
        ("$['a", None),
        ("$['\\q']", None),
        ("$" + ".a" * 65, None),
        (None, None),
        (7, None),
    ],
)
def test_a_path_names_one_place_or_nothing(path: str | int | None, steps: tuple[str | int, ...] | None) -> None:
    """Names, quoted names and places are read; every other notation is left alone."""
    assert steps_of(path) == steps


A, B = '{"jsonPath":"$.a",%s}', '{"jsonPath":"$.b[%d]",%s}'


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        ([], "{}"),
        ([A % '"numberValue":1.50'], '{"a":1.50}'),
        ([A % '"nullValue":"NULL_VALUE"'], '{"a":null}'),
        ([A % '"nullValue":null'], '{"a":null}'),
        ([A % '"stringValue":"\\ud83c","willContinue":true', A % '"stringValue":"\\udf88"'], '{"a":"\\ud83c\\udf88"}'),
        ([A % '"stringValue":"x","willContinue":true', '{"jsonPath":"$.a"}'], '{"a":"x"}'),
        ([B % (0, '"boolValue":false'), B % (1, '"stringValue":"y"')], '{"b":[false,"y"]}'),
        (
            ['{"jsonPath":"$.c[0].d","numberValue":1}', '{"jsonPath":"$.c[0].e","numberValue":2}'],
            '{"c":[{"d":1,"e":2}]}',
        ),
        ([A % '"stringValue":"x","willContinue":true'], None),
        ([A % '"stringValue":"x"', A % '"stringValue":"y"'], None),
        ([A % '"numberValue":1', A % '"numberValue":2'], None),
        ([A % '"numberValue":1,"willContinue":true'], None),
        ([A % '"numberValue":"NaN"'], None),
        ([A % '"numberValue":true'], None),
        ([A % '"boolValue":"true"'], None),
        ([A % '"stringValue":7'], None),
        ([A % '"nullValue":"null"'], None),
        ([A % '"stringValue":"x","numberValue":1'], None),
        ([A % '"willContinue":true'], None),
        ([A % '"structValue":{}'], None),
        ([A % '"stringValue":"x","willContinue":1'], None),
        ([A % '"stringValue":"x","willContinue":true', A % '"numberValue":1'], None),
        ([A % '"numberValue":1', '{"jsonPath":"$.a.b","numberValue":1}'], None),
        ([B % (1, '"numberValue":1')], None),
        ([B % (999_999_999, '"numberValue":1')], None),
        ([B % (0, '"numberValue":1'), '{"jsonPath":"$.b.c","numberValue":1}'], None),
        (['{"numberValue":1}'], None),
        (['{"jsonPath":"$.b[1].c","numberValue":1}'], None),
        (["7"], None),
    ],
)
def test_pieces_make_an_object_or_nothing(pieces: list[str], arguments: str | None) -> None:
    """Pieces that say without doubt what they make are put together; of all others nothing is guessed."""
    assert assembled(pieces) == arguments


def test_pieces_in_doubt_leave_the_call_open() -> None:
    """A path in another notation makes a call that may not run, with its pieces as evidence."""
    response = seen(chunk(OPEN), chunk(piece(jsonPath="$.a[*]", numberValue=1)), chunk(CLOSE), STOP)
    assert calls_of(response) == [("f", '[{"jsonPath": "$.a[*]", "numberValue": 1}]', False)]
    assert (response.end, response.oddities) == (End.MALFORMED_CALL, ("partial_args_in_doubt",))
