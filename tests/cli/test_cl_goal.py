"""The goal reaches the agent byte for byte, in its arguments and in its files, whatever it looks like."""

import sys
from pathlib import Path

import pytest

from tests.cli.door import Done, run_signoff, write_contract

RECORD = (
    "import os, sys\n"
    "for name, data in (('argument', os.fsencode(sys.argv[1])), *(\n"
    "    (name, open(os.environ[f'SIGNOFF_{name.upper()}_FILE'], 'rb').read()) for name in ('goal', 'prompt')\n"
    ")):\n"
    "    open(f'../{name}', 'wb').write(data)\n"
    "open('out.txt', 'w').write('done')\n"
)
"""An agent that keeps its argument and what its files held, and does its work."""

ODD = {
    "leading dash": "-v --verify 'rm -rf /' --",
    "a bare option": "--help",
    "quotes": """it's "quoted" and `ticked` and $HOME and $(id) \\ \\n""",
    "newlines": "one\n\ntwo\r\n\tthree\n",
    "placeholders": "{goal} {feedback} {prompt} {report} {}",
    "other scripts": "Erzähl 你好 🎉 \u202e\x1b[31m\x07",
    "blanks": "   ",
    "100 KiB": "x" * (100 * 1024),
}
AGENT = ("--artifact", "out.txt", "--", sys.executable, "-c", RECORD, "{goal}")


def arrived(work: Path, name: str) -> bytes:
    """Return what the agent kept."""
    return (work.parent / name).read_bytes()


def assert_unchanged(done: Done, work: Path, goal: bytes) -> None:
    """The run completed, and the agent's argument and file were the goal."""
    assert done.code == 0, done.err
    assert (arrived(work, "argument") == goal, arrived(work, "goal") == goal) == (True, True)
    assert arrived(work, "prompt") == goal


@pytest.mark.scenario("CL-017")
@pytest.mark.parametrize("name", ODD)
def test_a_goal_as_an_option_arrives_unchanged(name: str, work: Path) -> None:
    """`--goal TEXT` takes any text, also one that looks like options."""
    assert_unchanged(run_signoff("run", "--goal", ODD[name], *AGENT, cwd=work), work, ODD[name].encode())


@pytest.mark.scenario("CL-017")
def test_even_two_dashes_can_be_a_goal(work: Path) -> None:
    """Written as one word with its option, the goal may be what otherwise begins the agent's command."""
    assert_unchanged(run_signoff("run", "--goal=--", *AGENT, cwd=work), work, b"--")


@pytest.mark.scenario("CL-017")
@pytest.mark.parametrize("name", ["quotes", "newlines", "placeholders", "other scripts"])
def test_a_goal_as_an_argument_arrives_unchanged(name: str, work: Path) -> None:
    """So does GOAL, where no dash begins it."""
    assert_unchanged(run_signoff("run", ODD[name], *AGENT, cwd=work), work, ODD[name].encode())


@pytest.mark.scenario("CL-017")
@pytest.mark.parametrize("place", ["file", "standard input", "signoff.toml"])
def test_a_goal_from_elsewhere_arrives_unchanged(place: str, work: Path) -> None:
    """A file, standard input and the contract file carry it as well."""
    goal = '--- {goal}\n"it\'s"\r\n'
    given: tuple[str, ...] = ("--goal-file", "../given")
    (work.parent / "given").write_bytes(goal.encode())
    if place == "standard input":
        given = ("--goal-file", "-")
    elif place == "signoff.toml":
        given = ()
        write_contract(work, '[agent]\ngoal = "--- {goal}\\n\\"it\'s\\"\\r\\n"\n')
    assert_unchanged(run_signoff("run", *given, *AGENT, cwd=work, stdin=goal.encode()), work, goal.encode())


@pytest.mark.scenario("CL-017")
def test_a_goal_of_a_mebibyte_arrives_in_the_file(work: Path) -> None:
    """What no argument can carry is whole in the file, and the argument says where that is."""
    goal = ("A line of the goal, with 'quotes' and ümläuts.\n" * 30_000).encode()[: 1024 * 1024 - 1] + b"!"
    (work.parent / "given").write_bytes(goal)
    done = run_signoff("run", "--goal-file", "../given", *AGENT, cwd=work)
    assert (done.code, len(goal), arrived(work, "goal") == goal) == (0, 1024 * 1024, True), done.err
    argument = arrived(work, "argument").decode()
    assert ("goal.txt" in argument, len(argument) < 1000) == (True, True)
    shown = run_signoff("show", "latest", "--json", cwd=work).json
    assert shown["events"][0]["goal"].encode() == goal


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"a\0b", "not text"), (b"caf\xe9", "not valid Unicode"), (b"x" * (16 * 1024 * 1024 + 1), "more than 16 MiB")],
)
def test_a_goal_that_is_no_text_is_refused(data: bytes, words: str, work: Path) -> None:
    """What cannot reach the agent unchanged is refused before it starts."""
    (work.parent / "given").write_bytes(data)
    done = run_signoff("run", "--goal-file", "../given", *AGENT, cwd=work)
    assert (done.code, words in done.err, len(done.err) < 1000) == (2, True, True), done.err
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    "given",
    [("One", "--goal", "two"), ("One", "--goal-file", "-"), ("--goal", "One", "--goal-file", "-")],
)
def test_a_goal_given_twice_is_refused(given: tuple[str, ...], work: Path) -> None:
    """Of two goals none is chosen."""
    done = run_signoff("run", *given, *AGENT, cwd=work, stdin=b"two")
    assert (done.code, "the goal is given twice" in done.err, list(work.iterdir())) == (2, True, []), done.err


@pytest.mark.parametrize("path", ["none", ".", "none/none"])
def test_a_goal_file_that_cannot_be_read_is_named(path: str, work: Path) -> None:
    """The message names the file and why."""
    done = run_signoff("run", "--goal-file", path, *AGENT, cwd=work)
    assert (done.code, f"--goal-file {path}: " in done.err, "nothing was started" in done.err) == (2, True, True)


@pytest.mark.parametrize(
    "command",
    [
        ("sh", "-c", "do {goal}"),
        ("bash", "-ec", "{prompt}"),
        ("env", "-i", "sh", "-c", "{feedback}"),
        ("python3", "-c", "print('{goal}')"),
    ],
)
def test_a_placeholder_in_code_is_refused(command: tuple[str, ...], work: Path) -> None:
    """A goal or feedback never becomes part of a program."""
    done = run_signoff("run", "touch started", "--verify", "true", "--", *command, cwd=work)
    assert (done.code, "is code" in done.err, list(work.iterdir())) == (2, True, []), done.err
