"""Help fits one screen and shows an example; what was mistyped is answered with the nearest name, and nothing runs."""

import re
import shlex
from pathlib import Path

import pytest

from signoff.cli.main import COMMANDS
from tests.cli.door import run_signoff, write_contract

SCREEN = {"COLUMNS": "80"}


@pytest.mark.scenario("CL-002")
@pytest.mark.parametrize("command", ["", *COMMANDS, "receipt verify"])
def test_help_fits_a_screen_and_shows_one_example(command: str, work: Path) -> None:
    """At most 24 lines of 80 columns, the last of them one example of this very command."""
    done = run_signoff(*command.split(), "--help", cwd=work, env=SCREEN)
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert len(lines) <= 24
    assert [line for line in lines if len(line) > 80] == []
    assert (lines.count("Example:"), lines[-2]) == (1, "Example:")
    assert f"signoff {command}".strip() in lines[-1]


@pytest.mark.scenario("CL-002")
def test_the_first_help_lists_what_works(work: Path) -> None:
    """Every command that `signoff --help` lists has help of its own, and no other is there."""
    out = run_signoff("--help", cwd=work, env=SCREEN).out
    listed = re.findall(r"^  ([a-z]+) {2,}\S", out.partition("Commands:")[2], re.MULTILINE)
    assert listed == list(COMMANDS)


@pytest.mark.scenario("CL-002")
def test_help_all_adds_the_long_options(work: Path) -> None:
    """What stays out of the short help is in the long one, which holds all of the short one."""
    short, long = (run_signoff("run", flag, cwd=work, env=SCREEN).out for flag in ("--help", "--help-all"))
    options = {line.split()[0] for line in short.splitlines() if line.startswith("  -")}
    every = {line.split()[0] for line in long.splitlines() if line.startswith("  -")}
    assert options < every
    assert {"--goal-file", "--strict-exit", "--no-progress", "--config"} <= every - options


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_knows_the_program(name: str, work: Path) -> None:
    """The script for a shell asks the installed program for what may follow."""
    done = run_signoff("completion", name, cwd=work)
    assert (done.code, "_SIGNOFF_COMPLETE" in done.out, done.err) == (0, True, "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [("signoff ru", ["run", "runs"]), ("signoff run --ver", ["--verify"]), ("signoff receipt v", ["verify"])],
)
def test_completion_offers_what_exists(words: str, offered: list[str], work: Path) -> None:
    """Asked by the shell, the program answers with the commands and options that begin so."""
    env = {"_SIGNOFF_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = run_signoff(cwd=work, env=env)
    assert (done.code, done.out.split(), done.err) == (0, [f"plain,{each}" for each in offered], "")


@pytest.mark.scenario("CL-014")
@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("runn --verify true -- touch started", "'run'"),
        ("chekc", "'check'"),
        ("recipt verify x", "'receipt'"),
        ("receipt verfy x", "'verify'"),
        ("--versoin", "--version"),
        ("run --verfy true -- touch started", "--verify"),
        ("run --max-repair 3 --verify true -- touch started", "--max-repairs"),
        ("check --artefact x", "--artifact"),
        ("check --verify true --report junti", "junit"),
        ("completion bsh", "'bash'"),
    ],
)
def test_the_nearest_name_is_named(typed: str, nearest: str, work: Path) -> None:
    """A mistyped command, option or value ends with 2, names the nearest valid one, and starts nothing."""
    done = run_signoff(*shlex.split(typed), cwd=work)
    assert (done.code, done.out, nearest in done.err.splitlines()[-1]) == (2, "", True), done.err
    assert list(work.iterdir()) == []


@pytest.mark.scenario("CL-014")
@pytest.mark.parametrize(
    ("text", "place", "nearest"),
    [
        ("[contract]\nmax_repair = 3\n", "signoff.toml:2: contract.max_repair:", "'max_repairs'"),
        ("\n[[contract.comand]]\nargv = ['true']\n", "signoff.toml:2: contract.comand:", "'command'"),
        ("[contract]\n[[contract.command]]\nargv = ['true']\ntimeout = 3\n", "signoff.toml:4:", "'timeout_seconds'"),
        ("[agnet]\n", "signoff.toml:1: agnet:", "'agent'"),
        ("[contract]\nmode = 'enforced'\n", "signoff.toml:2: contract.mode:", "enforce"),
    ],
)
def test_the_nearest_key_is_named(text: str, place: str, nearest: str, work: Path) -> None:
    """A mistyped key or value of signoff.toml is named by file, line and key with the nearest valid one."""
    write_contract(work, text)
    done = run_signoff("run", "--", "touch", "started", cwd=work)
    assert (done.code, place in done.err, nearest in done.err) == (2, True, True), done.err
    assert not (work / "started").exists()


@pytest.mark.scenario("CL-014")
def test_a_mistyped_variable_is_noted(work: Path) -> None:
    """A variable that is almost one of signoff's is told at the start, and the check is taken all the same."""
    done = run_signoff("check", "--verify", "true", cwd=work, env={"SIGNOFF_COMPLETION_MOED": "off"})
    assert (done.code, "did you mean SIGNOFF_COMPLETION_MODE?" in done.err) == (0, True), done.err


@pytest.mark.scenario("CL-015")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[contract\n", "signoff.toml:1:10:"),
        ("[contract]\nmode = = 'off'\n", "signoff.toml:2:8:"),
        ("[contract]\nignore = ['a'\n\nmode = 'off'\n", "signoff.toml:4:1:"),
        ("[contract]\nmode = 'off'\nmode = 'off'\n", "signoff.toml:3:"),
    ],
)
@pytest.mark.parametrize("command", [("check",), ("run", "--", "touch", "started"), ("doctor",)])
def test_a_syntax_error_is_placed(command: tuple[str, ...], text: str, place: str, work: Path) -> None:
    """The message names file, line and column, and nothing is started."""
    path = write_contract(work, text)
    done = run_signoff(*command, cwd=work)
    assert (done.code, place in done.out + done.err) == (1 if command == ("doctor",) else 2, True), done.err
    assert list(work.iterdir()) == [path]


@pytest.mark.scenario("CL-016")
@pytest.mark.parametrize("more", [(), ("--",), ("Do it",), ("--verify", "true", "Do it", "--")])
def test_without_an_agent_the_three_ways_are_named(more: tuple[str, ...], work: Path) -> None:
    """A run that names no agent ends with 2 and says how one is named."""
    done = run_signoff("run", *more, cwd=work)
    assert (done.code, done.out) == (2, "")
    assert [way for way in ("`--`", "[agent]", "--model") if way not in done.err] == []
    assert not (work.parent / "state").exists()
