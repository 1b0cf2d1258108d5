"""Where a key comes from, and where it never shows: representations, attributes, logs, errors, tracebacks, records."""

import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

import signoff
from signoff.errors import ConfigError
from signoff.models import Timeouts, open_model
from signoff.models.http import HttpModel
from signoff.models.http_stream import HttpStream
from signoff.testing import BEFORE_HEAD, Fault, Play, ScriptedServer, reply
from tests.models.asking import run

SECRET = "sk-secret-0123456789"
PACKAGE = str(Path(signoff.__file__).parent)
STALL = Play(body=b"", fault=Fault.STALL, cut_after=BEFORE_HEAD)


def sent_with(server: ScriptedServer) -> list[str]:
    """The authorization of each request."""
    return [seen.headers.get("authorization", "") for seen in server.requests]


def test_a_key_is_read_from_the_environment_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that changes while the model is open is read anew; one that is missing is an error at once."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        open_model("openai:demo")

    async def ask() -> None:
        async with ScriptedServer([reply("1"), reply("2")]) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "one")
            async with open_model("openai:demo", base_url=server.url) as model:
                await model.respond("Hi.")
                monkeypatch.setenv("OPENAI_API_KEY", "two")
                await model.respond("Hi.")
            assert sent_with(server) == ["Bearer one", "Bearer two"]

    run(ask)


def test_a_function_gives_a_key_for_each_request() -> None:
    """It may give another one each time, now or when it is awaited."""

    async def ask() -> None:
        keys = iter(["one", "two"])

        async def later() -> str:
            await anyio.lowlevel.checkpoint()
            return "three"

        async with ScriptedServer([reply("1"), reply("2"), reply("3")]) as server:
            async with open_model("openai:demo", base_url=server.url, key=lambda: next(keys)) as model:
                await model.respond("Hi.")
                await model.respond("Hi.")
            async with open_model("openai:demo", base_url=server.url, key=later) as model:
                await model.respond("Hi.")
            assert sent_with(server) == ["Bearer one", "Bearer two", "Bearer three"]

    run(ask)


def test_a_compatible_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key there is no header for it, and credentials in the user's netrc file are not taken instead."""
    monkeypatch.delenv("OPENAI_COMPATIBLE_API_KEY", raising=False)

    async def ask() -> None:
        async with ScriptedServer([reply("1"), reply("2")]) as server:
            async with open_model(f"openai-compatible:{server.url}#demo") as model:
                await model.respond("Hi.")
            monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "own")
            async with open_model(f"openai-compatible:{server.url}#demo") as model:
                await model.respond("Hi.")
            assert sent_with(server) == ["", "Bearer own"]

    run(ask)


def test_credentials_of_a_netrc_file_are_never_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither to the model's server nor to a proxy."""
    file = tmp_path / "netrc"
    file.write_text(f"machine 127.0.0.1 login me password {SECRET}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("NETRC", str(file))

    async def ask() -> None:
        async with ScriptedServer([reply("1"), reply("2")]) as server:
            async with open_model(f"openai-compatible:{server.url}#demo", key=lambda: "") as model:
                await model.respond("Hi.")
            monkeypatch.setenv("http_proxy", server.url)
            async with open_model("openai-compatible:http://far.invalid#demo", key=lambda: "") as model:
                assert (await model.respond("Hi.")).complete
            for seen in server.requests:
                assert {"authorization", "proxy-authorization"} & seen.headers.keys() == set()

    run(ask)


@pytest.mark.parametrize("key", [f"{SECRET}\n", f"{SECRET}\r\nX-Evil: 1", f"{SECRET} ", f"{SECRET}\x00", f"{SECRET}é"])
def test_a_key_cannot_add_a_header(key: str) -> None:
    """A key with a line break or another strange character is refused before anything is sent, and not shown."""

    async def ask() -> None:
        async with ScriptedServer() as server, open_model("openai:demo", base_url=server.url, key=lambda: key) as model:
            with pytest.raises(ConfigError) as caught:
                await model.respond("Hi.")
            assert server.requests == []
            assert SECRET not in _told(caught.value, of=PACKAGE)

    run(ask)


def test_a_function_that_fails_is_heard() -> None:
    """What it raises reaches the caller, and nothing is sent."""

    def fail() -> str:
        raise LookupError("the vault is closed")

    async def ask() -> None:
        async with ScriptedServer() as server, open_model("openai:demo", base_url=server.url, key=fail) as model:
            with pytest.raises(LookupError, match="vault"):
                await model.respond("Hi.")
            assert server.requests == []

    run(ask)


def _told(error: BaseException, *, of: str = "") -> str:
    """A traceback as the most talkative reporter prints it, local variables included, of files whose path has `of`."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    lines = [str(told), repr(error)]
    chain: list[traceback.TracebackException | None] = [told, told.__cause__, told.__context__]
    for one in chain:
        frames = one.stack if one is not None else ()
        lines.extend(f"{frame.filename} {frame.locals}" for frame in frames if of in frame.filename)
    return "\n".join(lines)


def _held(*things: object) -> str:
    """What the things, and everything of ours and the HTTP client's below them, show of themselves."""
    seen: dict[int, object] = {}
    waiting: list[object] = list(things)
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        attributes = [*vars(one).values()] if hasattr(one, "__dict__") and not isinstance(one, type) else []
        if isinstance(one, tuple):
            attributes.extend(one)
        own = ("signoff", "aiohttp")
        waiting.extend(each for each in attributes if type(each).__module__.startswith(own))
    return "\n".join(f"{one!r} {vars(one) if hasattr(one, '__dict__') else ''}" for one in seen.values())


async def _every_way(server: ScriptedServer, watch: Callable[[HttpModel, HttpStream], None]) -> list[BaseException]:
    """Use a model with the key in many ways that go wrong; return what was raised."""
    raised: list[BaseException] = []
    hasty = Timeouts(idle=0.1, connect=0.1)
    for url in (server.url, "http://127.0.0.1:1", f"http://{'a' * 70}.invalid"):
        model = open_model("openai:demo", base_url=url, key=lambda: SECRET, timeouts=hasty)
        assert isinstance(model, HttpModel)
        async with model, model.stream("Hi.") as stream:
            watch(model, stream)
            async for _ in stream:
                watch(model, stream)
            watch(model, stream)
            assert SECRET not in repr(stream.response)
    async with (
        open_model("openai:demo", base_url=server.url, key=lambda: SECRET) as model,
        anyio.create_task_group() as group,
    ):

        async def read() -> None:
            try:
                await model.respond("Hi.")
            except BaseException as error:
                raised.append(error)
                raise

        asked = len(server.requests)
        group.start_soon(read)
        while len(server.requests) == asked:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    return raised


@pytest.mark.parametrize(
    "act",
    [
        reply("Hi."),
        Play(body=b"", fault=Fault.RESET, cut_after=BEFORE_HEAD),
        Play(body=b"data: {", fault=Fault.CUT),
        Play(body=b"no http", headers={"x": "a" * 40_000}),
        Play(status=302, headers={"location": "http://127.0.0.1:1/"}, body=b""),
        STALL,
    ],
)
def test_a_key_shows_nowhere(act: Play, caplog: pytest.LogCaptureFixture) -> None:
    """Not in what objects show of themselves, in any log, in a record, or in the traceback of a cancellation."""
    caplog.set_level(logging.DEBUG)
    for name in ("asyncio", "aiohttp", "aiohttp.client", "aiohttp.internal"):
        caplog.set_level(logging.DEBUG, logger=name)
    watched: list[str] = []

    async def ask() -> None:
        async with ScriptedServer([act, STALL]) as server:
            raised = await _every_way(server, lambda *things: watched.append(_held(*things)))
            assert SECRET in sent_with(server)[0]
            assert len(raised) == 1
            told = _told(raised[0])
            assert "http_stream.py" in told
            assert SECRET not in told

    async def bounded() -> None:
        with anyio.fail_after(30):
            await ask()

    anyio.run(bounded, backend_options={"debug": True})
    assert "HttpModel" in watched[0]
    assert "ClientSession" in watched[0]
    assert [text for text in watched if SECRET in text] == []
    assert SECRET not in caplog.text


def test_the_test_would_see_a_key(caplog: pytest.LogCaptureFixture) -> None:
    """A key in an attribute, in a local variable or in a log is found by the searches above."""

    def leak(key: str) -> None:
        raise LookupError(len(key))

    with pytest.raises(LookupError) as caught:
        leak(SECRET)
    assert SECRET in _told(caught.value)
    stream = HttpStream.__new__(HttpStream)
    stream._prepare = SECRET  # type: ignore[assignment]
    assert SECRET in _held(stream)
    logging.getLogger("aiohttp.client").error(SECRET)
    assert SECRET in caplog.text
