"""Calls as compatible servers send them: keyed, repeated and split in their own ways, and never taken for more."""

import pytest

from signoff.core.model.response import End
from tests.wire.openai_chat.chunks import CALL_A, CALL_B, DONE, START, delta, fragment, read, read_whole, whole


def calls(*fragments: bytes, reason: str = "tool_calls") -> tuple[End, list[tuple[str, str, str]], tuple[str, ...]]:
    """The end, the calls and the oddities of a stream of these fragments."""
    response = read(START, *fragments, delta(reason), DONE)
    return response.end, [(call.call_id, call.name, call.arguments) for call in response.calls], response.oddities


TWO = [("a", "f", "{}"), ("b", "g", '{"x":1}')]


def test_every_call_under_index_0() -> None:
    """Ollama: a new id with a name on a used index begins another call."""
    fragments = [fragment(0, "{}", call_id="a", name="f"), fragment(0, '{"x":1}', call_id="b", name="g")]
    assert calls(*fragments) == (End.TOOL_CALLS, TWO, ("index_reused",))


def test_calls_without_index() -> None:
    """Each id is a call, and a fragment without one goes on with the last."""
    fragments = [
        fragment(None, "", call_id="a", name="f"),
        fragment(None, "{}"),
        fragment(None, '{"x"', call_id="b", name="g"),
        fragment(None, ":1}", call_id="b"),
    ]
    assert calls(*fragments) == (End.TOOL_CALLS, TWO, ("call_head_repeated", "call_without_index"))


def test_id_and_name_on_every_fragment() -> None:
    """A repeated id and name are not put together, as the official client would."""
    fragments = [fragment(0, piece, call_id="a", name="f") for piece in ("{", "}")]
    assert calls(*fragments) == (End.TOOL_CALLS, [("a", "f", "{}")], ("call_head_repeated",))


def test_an_id_inside_the_function() -> None:
    """llama.cpp once put the id there."""
    entry = {"index": 0, "function": {"id": "a", "name": "f", "arguments": "{}"}}
    assert calls(delta(tool_calls=[entry]))[1] == [("a", "f", "{}")]


def test_the_first_index_is_1_or_huge() -> None:
    """An index is a key: gaps and large ones cost nothing."""
    fragments = [fragment(1, "{}", call_id="a", name="f"), fragment(10**9, '{"x":1}', call_id="b", name="g")]
    assert calls(*fragments) == (End.TOOL_CALLS, TWO, ())


def test_a_new_id_without_a_name_tears_the_call() -> None:
    """Whose arguments they are cannot be told: the first id stays, and the call does not run."""
    fragments = [fragment(0, "{", call_id="a", name="f"), fragment(0, "}", call_id="z")]
    assert calls(*fragments) == (End.MALFORMED_CALL, [("a", "f", "{}")], ("call_id_changed",))


def test_another_name_without_an_id() -> None:
    """It tears the call: the first name stays, and nothing runs, with arguments before it or without."""
    for first, text in (("{}", '{}{"x":1}'), (None, '{"x":1}')):
        fragments = [fragment(0, first, name="f"), fragment(0, '{"x":1}', name="g")]
        oddities = ("call_head_repeated", "call_name_changed")
        assert calls(*fragments) == (End.MALFORMED_CALL, [("", "f", text)], oddities)


def test_two_calls_that_cannot_be_told_apart_do_not_run() -> None:
    """The same name again, without any id, on a used index: the texts stand together and are no object."""
    fragments = [fragment(0, "{}", name="f"), fragment(0, "{}", name="f")]
    assert calls(*fragments)[:2] == (End.MALFORMED_CALL, [("", "f", "{}{}")])


def test_an_earlier_call_goes_on() -> None:
    """A call that another followed and that goes on all the same is open again."""
    fragments = [*CALL_A[:2], *CALL_B, CALL_A[2]]
    assert calls(*fragments)[2] == ("call_reopened",)
    response = read(START, *fragments, delta("length"), DONE)
    assert [call.closed for call in response.calls] == [False, True]


@pytest.mark.parametrize("arguments", [{"x": 1}, [], 7, True])
def test_arguments_that_are_no_text(arguments: object) -> None:
    """They are taken as they stand in the bytes; only an object is a call that may run."""
    response = read(START, fragment(0, arguments, call_id="a", name="f"), delta("tool_calls"), DONE)
    assert response.end is (End.TOOL_CALLS if isinstance(arguments, dict) else End.MALFORMED_CALL)
    assert response.oddities == ("arguments_not_text",)


def test_arguments_that_are_no_text_keep_their_bytes() -> None:
    """A repeated key in an object stays visible, streamed, whole and in the old form, so that the call is malformed."""
    entry = b'{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":{"x":1, "x":2}}}'
    stream = delta(tool_calls=["ENTRY"]).replace(b'"ENTRY"', entry)
    body = whole({"role": "assistant", "tool_calls": ["ENTRY"]}, "tool_calls").replace(b'"ENTRY"', entry)
    old = delta(function_call="ENTRY").replace(b'"ENTRY"', entry[entry.index(b'{"name"') : -1])
    for response in (read(START, stream, delta("tool_calls")), read_whole(body), read(old, delta("function_call"))):
        assert (response.end, response.calls[0].arguments) == (End.MALFORMED_CALL, '{"x":1, "x":2}')


def test_wrong_types_in_calls() -> None:
    """What is no call is noted, and the rest is read."""
    junk = delta(
        tool_calls=[7, None, {"index": 0, "function": "f"}, {"index": "0", "id": ["a"], "function": {"name": 1}}]
    )
    response = read(START, junk, *CALL_B, delta(tool_calls="none"), delta(tool_calls={}), delta("tool_calls"), DONE)
    assert response.calls[-1].arguments == '{"path":"b"}'
    assert {"unread_call", "call_without_index"} <= set(response.oddities)


def test_very_many_calls_take_linear_time() -> None:
    """Many calls in one frame and over many frames are read one after the other."""
    entries = [{"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(20_000)]
    assert len(read(delta(tool_calls=entries), delta("tool_calls"), DONE).calls) == 20_000
