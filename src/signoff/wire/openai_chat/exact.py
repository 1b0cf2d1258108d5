"""The exact bytes of pieces of a body: what is evidence is never written anew from what was read of it."""

from typing import Any

import msgspec


class _Function(msgspec.Struct):
    arguments: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")


class _Entry(msgspec.Struct):
    function: _Function | None = None
    custom: _Function | None = None


class _Turn(msgspec.Struct):
    tool_calls: list[_Entry] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    delta: _Turn | None = None
    message: _Turn | None = None


class _Choices(msgspec.Struct):
    choices: list[msgspec.Raw]


class _Message(msgspec.Struct):
    message: msgspec.Raw


class _Messages(msgspec.Struct):
    messages: list[msgspec.Raw]


def arguments_in(body: str | bytes, choice: int, entry: int | None) -> str | None:
    """The text of arguments that are no string, in the entry at a place or in `function_call`; None if unreadable."""
    raw = _decoded(body, _Choices)
    found = None if raw is None else _decoded(raw.choices[choice], _Choice)
    turn = None if found is None else found.delta or found.message
    if turn is None:
        return None
    if entry is None:
        function = turn.function_call
    else:
        of_call = (turn.tool_calls or [])[entry]
        function = of_call.function or of_call.custom
    return None if function is None else bytes(function.arguments or function.input).decode() or None


def message_in(body: bytes, choice: int) -> str | None:
    """The text of a whole choice's message; None if it is unreadable."""
    raw = _decoded(body, _Choices)
    found = None if raw is None else _decoded(raw.choices[choice], _Message)
    return None if found is None else bytes(found.message).decode()


def messages_in(body: bytes) -> list[str] | None:
    """The text of each message of a request; None if it is unreadable."""
    found = _decoded(body, _Messages)
    return None if found is None else [bytes(raw).decode() for raw in found.messages]


def _decoded(body: Any, kind: Any) -> Any:  # noqa: ANN401 - one of the shapes above
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
