"""What a contract may say: bad numbers, paths, ids and commands are refused when they are written down."""

from collections.abc import Callable

import msgspec
import pytest

from signoff.core.completion.contract import (
    Artifact,
    Contract,
    ImmutableInput,
    Mode,
    ReportFormat,
    ValidationCommand,
    leads_outside,
)
from signoff.errors import PolicyError
from signoff.testing import digest_of

OUT = Artifact(id="out", path="out.txt")
TESTS = ValidationCommand(id="tests", argv=("pytest", "-q"))
SRC = ImmutableInput(id="src", glob="src/**")
PIPE = "false | cat"

REFUSED: list[tuple[Callable[..., object], dict[str, object], str]] = [
    (Artifact, {"id": "", "path": "a"}, "artifact id"),
    (Artifact, {"id": "a b", "path": "a"}, "artifact id"),
    (Artifact, {"id": "a", "path": ""}, "path of artifact a"),
    (Artifact, {"id": "a", "path": "  "}, "path of artifact a"),
    (Artifact, {"id": "a", "path": "a\0b"}, "NUL"),
    (Artifact, {"id": "a", "path": "/etc/passwd"}, "leads out of the workspace"),
    (Artifact, {"id": "a", "path": "../a"}, "leads out of the workspace"),
    (Artifact, {"id": "a", "path": "~/a"}, "leads out of the workspace"),
    (Artifact, {"id": "a", "path": "a", "min_bytes": -1}, "min_bytes of artifact a"),
    (Artifact, {"id": "a", "path": "a", "min_bytes": 1.5}, "min_bytes of artifact a"),
    (Artifact, {"id": "a", "path": "a", "min_count": 0}, "min_count of artifact a"),
    (Artifact, {"id": "a", "path": "a", "min_count": 2}, "without glob"),
    (Artifact, {"id": "a", "path": "a", "sha256": "abc"}, "sha256 of artifact a"),
    (Artifact, {"id": "a", "path": "*", "glob": True, "sha256": digest_of("a")}, "is a glob"),
    (Artifact, {"id": "a", "path": "*", "glob": True, "directory": True}, "is a glob"),
    (Artifact, {"id": "a", "path": "*", "glob": True, "allow_outside": True}, "is a glob"),
    (ValidationCommand, {"id": "", "argv": ("a",)}, "check id"),
    (ValidationCommand, {"id": "a"}, "exactly one of argv"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "shell": "a"}, "exactly one of argv"),
    (ValidationCommand, {"id": "a", "shell": "  "}, "exactly one of argv"),
    (ValidationCommand, {"id": "a", "argv": ("",)}, "empty program name"),
    (ValidationCommand, {"id": "a", "argv": (" ", "b")}, "empty program name"),
    (ValidationCommand, {"id": "a", "argv": ("a", "b\0")}, "NUL"),
    (ValidationCommand, {"id": "a", "shell": "a\0"}, "NUL"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "cwd": "a\0"}, "NUL"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "env": {"A": "\0"}}, "NUL"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "env": {"\0": "a"}}, "NUL"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "cwd": " "}, "cwd of check a"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "cwd": ".."}, "cwd '..' leads out"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "cwd": "/tmp"}, "cwd '/tmp' leads out"),  # noqa: S108 - refused
    (ValidationCommand, {"id": "a", "argv": ("a",), "timeout_seconds": 0}, "timeout_seconds of check a"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "timeout_seconds": 1.5}, "timeout_seconds of check a"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "timeout_seconds": True}, "timeout_seconds of check a"),
    (ValidationCommand, {"id": "a", "argv": ("a",), "min_tests": 0}, "min_tests of check a"),
    (ImmutableInput, {"id": "", "glob": "a"}, "immutable input id"),
    (ImmutableInput, {"id": "a", "glob": "\t"}, "glob of immutable input a"),
    (ImmutableInput, {"id": "a", "glob": "a\0"}, "NUL"),
    (Contract, {"max_repairs": -1}, "max_repairs"),
    (Contract, {"max_repairs": 1.5}, "max_repairs"),
    (Contract, {"max_age_seconds": -1}, "max_age_seconds"),
    (Contract, {"artifacts": (OUT, OUT)}, "share the id 'out'"),
    (Contract, {"commands": (msgspec.structs.replace(TESTS, id="run"),)}, "stands for the run as a whole"),
    (Contract, {"commands": (TESTS, TESTS)}, "share the id 'tests'"),
    (Contract, {"commands": (TESTS,), "immutable": (ImmutableInput(id="tests", glob="a"),)}, "share the id 'tests'"),
]


@pytest.mark.parametrize(("made", "fields", "words"), REFUSED)
def test_what_is_refused(made: Callable[..., object], fields: dict[str, object], words: str) -> None:
    """A requirement that cannot be meant as it stands is not constructed, and the message names it."""
    with pytest.raises(PolicyError, match=words):
        made(**fields)


ACCEPTED: list[tuple[Callable[..., object], dict[str, object]]] = [
    (Artifact, {"id": "a", "path": "a b/é\n.txt"}),
    (Artifact, {"id": "a", "path": "/etc/passwd", "allow_outside": True}),
    (Artifact, {"id": "a", "path": "a/../b"}),
    (Artifact, {"id": "a", "path": "dist", "directory": True, "sha256": digest_of("a"), "min_bytes": 0}),
    (Artifact, {"id": "a", "path": "*.txt", "glob": True, "min_count": 3}),
    (ValidationCommand, {"id": "a", "shell": PIPE, "cwd": "sub/folder"}),
    (ValidationCommand, {"id": "a", "argv": ("a", "", " "), "env": {"A": ""}}),
    (ValidationCommand, {"id": "a", "argv": ("a",), "cwd": "..", "allow_outside": True, "timeout_seconds": 1}),
    (ValidationCommand, {"id": "a", "argv": ("a", "{report}"), "report": ReportFormat.JUNIT, "min_tests": 5}),
    (ImmutableInput, {"id": "a", "glob": "src/**/*.py", "allow_no_match": True}),
    (Contract, {"max_repairs": 0, "max_age_seconds": 0}),
    (Contract, {"max_repairs": None, "artifacts": (OUT,), "commands": (TESTS,), "immutable": (SRC,)}),
]


@pytest.mark.parametrize(("made", "fields"), ACCEPTED)
def test_what_is_accepted(made: Callable[..., object], fields: dict[str, object]) -> None:
    """Odd but meaningful requirements can be written down, and keep what was given."""
    value = made(**fields)
    assert {name: getattr(value, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", False),
        (".", False),
        ("./a", False),
        ("a/..", False),
        ("a/../b", False),
        ("..a", False),
        ("a/~", False),
        ("..", True),
        ("../", True),
        ("a/../..", True),
        ("a/../../b", True),
        ("./../a", True),
        ("/", True),
        ("//a", True),
        ("~", True),
        ("~root/a", True),
    ],
)
def test_which_paths_lead_outside(path: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A path is judged as text: absolute ones, homes, and those that climb out lead outside."""
    assert leads_outside(path) is expected


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        (Contract(commands=(TESTS,)), True),
        (Contract(artifacts=(OUT,)), True),
        (Contract(mode=Mode.OBSERVE, commands=(TESTS,)), True),
        (Contract(mode=Mode.OFF, commands=(TESTS,), artifacts=(OUT,)), False),
        (Contract(), False),
        (Contract(immutable=(SRC,)), False),
        (Contract(artifacts=(msgspec.structs.replace(OUT, required=False),)), False),
    ],
)
def test_when_a_contract_decides(contract: Contract, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """There is something to decide by when a command or a required artifact is looked at."""
    assert contract.decides is expected


def test_how_a_command_is_shown() -> None:
    """A command is shown as a person would type it."""
    assert TESTS.words == "pytest -q"
    assert ValidationCommand(id="a", shell=PIPE).words == PIPE


OTHERS = [
    {"mode": Mode.OBSERVE},
    {"commands": (msgspec.structs.replace(TESTS, env={"A": "1"}),)},
    {"commands": (msgspec.structs.replace(TESTS, timeout_seconds=1),)},
    {"artifacts": (msgspec.structs.replace(OUT, min_bytes=1),)},
    {"immutable": (SRC,)},
    {"max_repairs": 1},
    {"ignore": ("*.log",)},
    {"parallel": True},
]


@pytest.mark.parametrize("changed", OTHERS)
def test_every_field_is_part_of_the_identity(changed: dict[str, object]) -> None:
    """Two contracts have one digest when they are equal, and only then; no value of an environment shows in it."""
    contract = Contract(commands=(TESTS,), artifacts=(OUT,))
    same = Contract(commands=(ValidationCommand(id="tests", argv=("pytest", "-q")),), artifacts=(OUT,))
    assert contract.digest() == same.digest()
    assert msgspec.structs.replace(contract, **changed).digest() != contract.digest()


def test_the_order_of_an_environment_means_nothing() -> None:
    """The names of an environment have no order, so neither has the digest."""
    digests = {
        Contract(commands=(msgspec.structs.replace(TESTS, env=dict(pairs)),)).digest()
        for pairs in ([("A", "1"), ("B", "2")], [("B", "2"), ("A", "1")])
    }
    assert len(digests) == 1
