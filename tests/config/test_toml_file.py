"""A contract file: every fault is named by file, line and key, and nothing but a plain file is read."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signoff.config.settings import Settings
from signoff.config.toml_file import MAX_FILE, parse_settings, read_bounded, read_contract_file
from signoff.core.canonical import digest_bytes
from tests.config.resolving import any_speed, complaint, refusal


def fault(text: str) -> str:
    """Return what is said of a contract file with a fault."""
    return refusal(lambda: parse_settings(text.encode(), name="signoff.toml"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[contract]\nmode = enforce\n", "2:8"),
        ("[contract\n", "1:10"),
        ("a = 1\na = 2\n", "2:6"),
        ("x = ", "1:5"),
        ('\r\n\r\na = "\\q"', "3:8"),
        ("a = '''\n\n", "1:8"),
    ],
)
def test_a_syntax_error_has_its_place(text: str, place: str) -> None:
    """What is not TOML is named with file, line and column."""
    message = fault(text)
    line, column = place.split(":")
    assert message.startswith(f"signoff.toml:{place}: this is not TOML: ")
    assert f"(line {line}, column {column})" in message
    assert "nothing was started" in message


CONTRACT_KEYS = (
    "mode, max_repairs, no_progress, max_age_seconds, allow_no_change, ignore, allow_change, parallel, artifact, "
    "command, immutable"
)
AGENT_KEYS = "command, goal, stdin, timeout, attempt_timeout, strict_exit"


@pytest.mark.scenario("CC-118")
@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("[contract]\n\nmoed = 'off'", "3: contract.moed", "Did you mean 'mode'?"),
        ("[contrcat]", "1: contrcat", "Did you mean 'contract'?"),
        (
            "[[contract.command]]\nid = 'a'\n[[contract.command]]\nargvs = []",
            "4: contract.command.argvs",
            "Did you mean 'argv'?",
        ),
        (
            "[contract]\nartifact = [{path = 'a'},\n {path = 'b', sha = 'x'}]",
            "3: contract.artifact.sha",
            "Did you mean 'sha256'?",
        ),
        ("contract.zzz = 1", "1: contract.zzz", f"Known here: {CONTRACT_KEYS}."),
        ("[agent]\n'a\\nb' = 1", '2: agent."a\\\\nb"', f"Known here: {AGENT_KEYS}."),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_one(text: str, place: str, remedy: str) -> None:
    """File, line and key of what no table knows, and the key that was likely meant."""
    assert fault(text) == f"signoff.toml:{place}: there is no such key; nothing was started. {remedy}"


@pytest.mark.parametrize(
    "key", ["policy", "gateway", "redact", "store", "contract.http", "contract.sql", "contract.isolate"]
)
def test_a_key_of_a_later_version_is_called_so(key: str) -> None:
    """A table that does nothing in this version is refused with that reason, not taken in silence."""
    assert f"signoff.toml:2: {key}: this key is not in this version" in fault(f"\n[{key}]")


@pytest.mark.scenario("CC-118")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contract = 1", "1: contract: expected a table, got a whole number"),
        ("[contract]\nmax_repairs = '3'", "2: contract.max_repairs: expected a whole number, got a string"),
        ("[contract]\nmax_repairs = 1.0", "2: contract.max_repairs: expected a whole number, got a number with a frac"),
        ("[contract]\nmax_repairs = true", "2: contract.max_repairs: expected a whole number, got true or false"),
        ("[contract]\nmax_repairs = -1", "2: contract.max_repairs: expected a whole number of at least 0"),
        ("[contract]\nparallel = 1", "2: contract.parallel: expected true or false, got a whole number"),
        ("[contract]\nmode = 'enforced'", '2: contract.mode: expected one of off, observe, enforce, got "enforced"'),
        ("[contract]\nmode = 1", "2: contract.mode: expected a string, got a whole number"),
        ("[contract.command]\nid = 'a'", "1: contract.command: expected an array, got a table"),
        ("[[contract.command]]\nargv = 'pytest -q'", "2: contract.command.argv: expected an array, got a string"),
        ("[[contract.command]]\nargv = []", "2: contract.command.argv: expected an array with at least 1 in it"),
        ("[[contract.command]]\nargv = [\n'a',\n2]", "4: contract.command.argv: expected a string, got a whole number"),
        ("[[contract.command]]\nshell = ['a']", "2: contract.command.shell: expected a string, got an array"),
        ("[[contract.command]]\ntimeout_seconds = 0", "2: contract.command.timeout_seconds: expected a whole number"),
        ("[[contract.command]]\nreport = 'tap'", '2: contract.command.report: expected one of junit, got "tap"'),
        (
            "[[contract.command]]\n[contract.command.env]\nA = '1'\nB = 2",
            "4: contract.command.env.B: expected a string",
        ),
        ("[[contract.artifact]]\nid = 'a'", "1: contract.artifact: the key 'path' is missing"),
        ("[[contract.artifact]]\npath = 1979-05-27", "2: contract.artifact.path: expected a string, got a date"),
        ("[agent]\ntimeout = 1.5", "2: agent.timeout: expected a whole number or a string, got a number"),
    ],
)
def test_a_wrong_type_is_named(text: str, said: str) -> None:
    """File, line and key of a value of another type or beyond its bound, what was expected and what came."""
    assert fault(text).startswith(f"signoff.toml:{said}")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("[contract.command]", "Write it as [[contract.command]], in double brackets."),
        ("[[contract.command]]\nargv = 'a'", 'Write words, such as ["pytest", "-q"]; the key for a string is shell.'),
        ("[contract]\nmode = 'enfroce'", "Did you mean 'enforce'?"),
    ],
)
def test_a_common_slip_has_its_remedy(text: str, remedy: str) -> None:
    """The message ends with what to write instead."""
    assert fault(text).endswith(remedy)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a = 1\nb = '\xff'", "signoff.toml:2:6: the byte there is not UTF-8"),
        (b"\xef\xbb\xbfa = 1", "signoff.toml:1:1: the file begins with a byte order mark"),
        (b"a = " + b"9" * 5000, "signoff.toml holds a value that no program could read"),
        (b"\na = " + b"[" * 5000, "signoff.toml:2: the key or value is nested too deep"),
        (b"a" + b".a" * 50_000 + b" = 1", "signoff.toml:1: the key or value is nested too deep"),
    ],
)
def test_bytes_that_no_parser_takes_are_named(data: bytes, said: str) -> None:
    """What is not UTF-8, too long a number or too deep is a fault like any other, and ends at once."""
    assert refusal(lambda: parse_settings(data, name="signoff.toml")).startswith(said)


def test_a_message_shows_no_control_characters_and_stays_short() -> None:
    """Names and values of a hostile file are escaped and cut."""
    for text in ('"\\u001b[31m" = 1', "[contract]\nmode = '''\n\n\n'''", f"{'k' * 100_000} = 1", "a = '\x1b'"):
        message = fault(text)
        assert message.isprintable()
        assert len(message) < 600


def test_the_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    """What is returned carries the real path and the digest of the very bytes that were read."""
    place = tmp_path / "real" / "signoff.toml"
    place.parent.mkdir()
    place.write_bytes(b"[agent]\r\ngoal = 'mend it'\r\n")
    (tmp_path / "link").symlink_to("real")
    file = read_contract_file(str(tmp_path / "link" / "signoff.toml"))
    assert file is not None
    assert (file.path, file.sha256) == (os.path.realpath(place), digest_bytes(place.read_bytes()))
    assert file.where(("agent", "goal")) == f"{file.path}:2: agent.goal"


def test_no_file_is_no_fault(tmp_path: Path) -> None:
    """A workspace without a contract file has none; that is not an error."""
    assert read_contract_file(str(tmp_path / "signoff.toml")) is None


def test_an_empty_file_declares_nothing() -> None:
    """An empty file, and one of comments, is valid."""
    assert parse_settings(b"", name="f")[0] == Settings()
    assert parse_settings(b"# nothing\n", name="f")[0] == Settings()


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "pipe", "socket", "too long", "device"])
def test_only_a_plain_file_is_read(kind: str, tmp_path: Path) -> None:
    """A link, folder, pipe, socket, device or huge file in its place is refused at once, and never opened for long."""
    place = tmp_path / "signoff.toml"
    match kind:
        case "link":
            (tmp_path / "real").write_bytes(b"")
            place.symlink_to("real")
        case "dangling link":
            place.symlink_to("nowhere")
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(os.path.relpath(place))
        case "too long":
            place.write_bytes(b"#" * (MAX_FILE + 1))
        case _:
            place = Path(os.devnull)
    assert f"{place} is no plain file" in refusal(lambda: read_contract_file(str(place)))
    assert read_bounded(str(place)) is None


def test_the_longest_file_is_read(tmp_path: Path) -> None:
    """A file of exactly the greatest length is read."""
    place = tmp_path / "signoff.toml"
    place.write_bytes(b"#" * MAX_FILE)
    assert read_contract_file(str(place)) is not None


def test_an_impossible_name_is_refused() -> None:
    """A name that no file can have is an error of the configuration."""
    assert "not a possible file name" in refusal(lambda: read_contract_file("a\0b"))
    assert "cannot be read" in refusal(lambda: read_contract_file("a" * 5000))


@any_speed
@given(st.binary() | st.text().map(str.encode))
@example(b"contract.command = [[[]]]")
@example(b"[contract]\ncommand = [{argv = {}}]")
@example(b'["contract"]\n"mode\\u0000" = 1')
def test_any_bytes_are_settings_or_a_fault(data: bytes) -> None:
    """Whatever the bytes, they are read or refused with a message that prints on one line."""
    message = complaint(lambda: parse_settings(data, name="signoff.toml"))
    assert message is None or (message.startswith("signoff.toml") and message.isprintable())


KEYS = st.sampled_from(
    ["contract", "agent", "mode", "command", "artifact", "immutable", "env", "argv", "path", "timeout", "zzz", "a.b"]
)
SCALARS = st.sampled_from(["1", "-1", "1.5", "true", "'x'", "'enforce'", "'2h'", "1979-05-27", "inf", "''"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key} = {value}" for key, value in items.items()) + "}"
        )
    ),
    max_leaves=6,
)
LINES = st.one_of(
    st.tuples(KEYS, VALUES).map(" = ".join),
    st.tuples(KEYS, KEYS).map("[{0[0]}.{0[1]}]".format),
    st.tuples(KEYS, KEYS).map("[[{0[0]}.{0[1]}]]".format),
)


@any_speed
@given(st.lists(LINES, max_size=6).map("\n".join))
def test_any_toml_is_settings_or_a_fault(text: str) -> None:
    """Whatever the names and types, they are read or refused by file and line."""
    message = complaint(lambda: parse_settings(text.encode(), name="signoff.toml"))
    assert message is None or message.startswith("signoff.toml:")
