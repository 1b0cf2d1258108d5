"""Requirements of several sources: they add up, doubles are one, and nobody can replace a check by taking its id."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config import CommandLine
from signoff.config.requirements import Declared, Origin, Wanted, join
from signoff.core.completion.contract import ImmutableInput, ValidationCommand
from signoff.errors import ConfigError
from tests.config.resolving import COMMANDS, DIGEST, MODE, OTHER_DIGEST, any_speed, refusal, resolved


def checks(folder: Path, line: CommandLine, *, toml: str, env: str | None = None) -> dict[str, str]:
    """Return the checks of a configuration, each id with its command in words."""
    environment = {MODE: "enforce", COMMANDS: env} if env else {}
    contract = resolved(folder, line, toml=toml, env=environment).contract
    return {check.id: check.words for check in contract.commands}


def test_the_sources_add_up_in_order(tmp_path: Path) -> None:
    """The file's checks come first, then the environment's, then those that were typed."""
    toml = "[[contract.command]]\nargv = ['a']\n[[contract.command]]\nid = 'named'\nargv = ['b']"
    env = '[{"command_id": "c", "argv": ["c"]}]'
    found = checks(tmp_path, CommandLine(verify=("d", "e")), toml=toml, env=env)
    assert list(found.items()) == [("command-1", "a"), ("named", "b"), ("c", "c"), ("verify-1", "d"), ("verify-2", "e")]


def test_a_taken_id_gets_a_number(tmp_path: Path) -> None:
    """A later source that uses an id keeps its check, and the earlier one keeps its id."""
    toml = "[[contract.command]]\nid = 'tests'\nargv = ['real']\n[[contract.artifact]]\nid = 'verify-1'\npath = 'a'"
    env = '[{"command_id": "tests", "argv": ["true"]}, {"command_id": "tests-2", "argv": ["x"]}]'
    found = checks(tmp_path, CommandLine(verify=("typed",)), toml=toml, env=env)
    assert found == {"tests": "real", "tests-3": "true", "tests-2": "x", "verify-1-2": "typed"}


def test_a_number_fits_into_the_longest_id(tmp_path: Path) -> None:
    """An id of the greatest length is cut so that its number fits."""
    longest = "x" * 128
    toml = f"[[contract.command]]\nid = '{longest}'\nargv = ['a']"
    found = checks(tmp_path, CommandLine(), toml=toml, env=f'[{{"command_id": "{longest}", "argv": ["b"]}}]')
    assert found == {longest: "a", "x" * 126 + "-2": "b"}


@pytest.mark.parametrize(
    "toml",
    [
        "[[contract.command]]\nid = 'a'\nargv = ['x']\n[[contract.command]]\nid = 'a'\nargv = ['y']",
        "[[contract.command]]\nid = 'a'\nargv = ['x']\n[[contract.command]]\nid = 'a'\nargv = ['x']",
        "[[contract.command]]\nid = 'a'\nargv = ['x']\n\n[[contract.artifact]]\nid = 'a'\npath = 'x'",
    ],
)
def test_a_file_that_uses_an_id_twice_is_refused(toml: str, tmp_path: Path) -> None:
    """Two requirements of one file with one id are an error that names both lines."""
    message = refusal(lambda: resolved(tmp_path, toml=toml))
    assert "signoff.toml:1: contract.command" in message
    assert "signoff.toml:4" in message or "signoff.toml:5" in message
    assert "share the id 'a'" in message


def test_one_command_is_one_check(tmp_path: Path) -> None:
    """The same command from two sources runs once, under the id that somebody chose; two chosen ids are two checks."""
    toml = "[[contract.command]]\nargv = ['a']\n[[contract.command]]\nargv = ['a']\n[[contract.command]]\nshell = 'b'"
    env = '[{"command_id": "mine", "argv": ["a"]}, {"command_id": "again", "argv": ["a"]}]'
    found = checks(tmp_path, CommandLine(verify=("b", "b", "c")), toml=toml, env=env)
    assert found == {"mine": "a", "again": "a", "command-1": "b", "verify-1": "c"}


def test_the_same_named_check_twice_is_one(tmp_path: Path) -> None:
    """File and environment that name and say the same are one check."""
    toml = "[[contract.command]]\nid = 'a'\nargv = ['x']"
    assert checks(tmp_path, CommandLine(), toml=toml, env='[{"command_id": "a", "argv": ["x"]}]') == {"a": "x"}


def test_checks_that_differ_in_anything_are_two(tmp_path: Path) -> None:
    """The same words with another time, folder or variable are another check."""
    toml = "".join(
        f"[[contract.command]]\nargv = ['a']\n{rest}\n"
        for rest in ("", "timeout_seconds = 5", "cwd = 'x'", "env = {A = '1'}", "env = {A = '2'}", "before = 'failed'")
    )
    assert len(checks(tmp_path, CommandLine(), toml=toml)) == 6


def test_the_typed_digest_wins_and_nothing_else_is_lost(tmp_path: Path) -> None:
    """An artifact that is typed keeps what the file says of it, is required, and has the typed digest."""
    toml = f"[[contract.artifact]]\npath = 'a'\nsha256 = '{DIGEST}'\nmin_bytes = 3\nrequired = false"
    for typed, digest in (("a", DIGEST), (f"a={OTHER_DIGEST}", OTHER_DIGEST)):
        (item,) = resolved(tmp_path, CommandLine(artifacts=(typed,)), toml=toml).contract.artifacts
        assert (item.sha256, item.min_bytes, item.required) == (digest, 3, True)


@pytest.mark.parametrize(
    ("second", "fits"),
    [("", True), ("id = 'x'", True), ("min_bytes = 1", False), ("required = false", False), ("glob = true", True)],
)
def test_one_path_twice_in_a_file(second: str, fits: bool, tmp_path: Path) -> None:  # noqa: FBT001 - pytest passes it by name
    """Said twice the same it is one requirement, said in two ways it is an error; a pattern is no path."""
    toml = f"[[contract.artifact]]\npath = 'a'\n[[contract.artifact]]\npath = './a'\n{second}"
    if fits:
        found = resolved(tmp_path, toml=toml).contract.artifacts
        assert [item.id for item in found] == {
            "id = 'x'": ["x"], "glob = true": ["artifact-1", "artifact-2"]
        }.get(second, ["artifact-1"])  # fmt: skip
    else:
        assert "say two things of 'a'" in refusal(lambda: resolved(tmp_path, toml=toml))


def test_two_typed_digests_contradict(tmp_path: Path) -> None:
    """Two digests for one path cannot both hold."""
    line = CommandLine(artifacts=(f"a={DIGEST}", "a", f"./a={OTHER_DIGEST}"))
    assert "say two things of 'a'" in refusal(lambda: resolved(tmp_path, line))


def test_an_input_may_be_absent_only_if_all_agree(tmp_path: Path) -> None:
    """The same pattern twice is one input, and it must match unless every source allows that it does not."""
    toml = "[[contract.artifact]]\npath = 'a'\n[[contract.immutable]]\nglob = 't/'\nid = 'i'\nallow_no_match = true"
    alone = resolved(tmp_path, toml=toml).contract.immutable
    both = resolved(tmp_path, CommandLine(immutable=("./t/", "t/", "u/")), toml=toml).contract.immutable
    assert alone == (ImmutableInput(id="i", glob="t/", allow_no_match=True),)
    assert both == (ImmutableInput(id="i", glob="t/"), ImmutableInput(id="immutable-1", glob="u/"))


IDS = st.sampled_from(["a", "a-2", "a-3", "verify-1", "verify-2", "command-1", "x" * 128])


def wanted(origin: Origin, named: bool, name: str, number: int) -> Wanted[ValidationCommand]:  # noqa: FBT001
    """Return a check of its own."""
    item = ValidationCommand(id=name, argv=(f"{origin}-{number}",))
    prefix = "verify" if origin is Origin.COMMAND_LINE else "command"
    return Wanted(item=item, origin=origin, where=f"{origin}:{number}", prefix=prefix, named=named)


@any_speed
@given(
    st.lists(st.tuples(IDS, st.booleans()), max_size=5, unique_by=lambda each: each[0]),
    st.lists(IDS, max_size=5, unique=True),
    st.integers(0, 4),
)
def test_no_check_is_ever_lost(file: list[tuple[str, bool]], environment: list[str], typed: int) -> None:
    """Whatever ids are chosen, every check is there with an id of its own, and the file's have theirs."""
    of_file = tuple(wanted(Origin.FILE, named, name, number) for number, (name, named) in enumerate(file))
    of_environment = tuple(wanted(Origin.ENVIRONMENT, True, name, number) for number, name in enumerate(environment))
    of_line = tuple(wanted(Origin.COMMAND_LINE, False, "verify", number) for number in range(typed))
    found = join([Declared(commands=each) for each in (of_file, of_environment, of_line)]).commands
    assert [check.argv for check in found] == [each.item.argv for each in (*of_file, *of_environment, *of_line)]
    assert len({check.id for check in found}) == len(found)
    assert all(check.id == each.item.id for check, each in zip(found, of_file, strict=False) if each.named)


def test_a_contradiction_is_an_error_of_the_configuration() -> None:
    """Two named checks of one file with one id are refused by the join itself."""
    twice = tuple(wanted(Origin.FILE, True, "a", number) for number in range(2))
    with pytest.raises(ConfigError, match="file:0 and file:1 share the id 'a'"):
        join([Declared(commands=twice)])
