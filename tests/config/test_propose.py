"""What is proposed for a project: checks that exist there, in a file that loads, from files that are only read."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config import CommandLine, resolve
from signoff.config.propose import Proposal, propose
from signoff.config.toml_file import parse_settings
from signoff.core.completion.contract import Mode, ValidationCommand
from tests.config.resolving import any_speed, contents, resolved

PYTEST_REPORT = "--junitxml={report}"


def project(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a project of these files."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder


def proposed(folder: Path) -> tuple[ValidationCommand, ...]:
    """Return the checks of a contract made of what is proposed, through the same door as any signoff.toml."""
    return resolved(folder, toml=propose(str(folder)).text).contract.commands


@pytest.mark.parametrize(
    ("files", "argv"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ("pytest", "-q", PYTEST_REPORT)),
        ({"pyproject.toml": "[tool.pytest]\n", "uv.lock": ""}, ("uv", "run", "pytest", "-q", PYTEST_REPORT)),
        ({"pyproject.toml": "[dependency-groups]\ndev = ['pytest>=8']\n", "poetry.lock": ""},
         ("poetry", "run", "pytest", "-q", PYTEST_REPORT)),
        ({"pytest.ini": "", "pdm.lock": ""}, ("pdm", "run", "pytest", "-q", PYTEST_REPORT)),
        ({"Pipfile": "[dev-packages]\npytest = '*'\n", "Pipfile.lock": "{}"},
         ("pipenv", "run", "pytest", "-q", PYTEST_REPORT)),
        ({"setup.cfg": "[tool:pytest]\n", ".venv/bin/pytest": ""}, (".venv/bin/pytest", "-q", PYTEST_REPORT)),
        ({"tox.ini": "[pytest]\n", "venv/bin/pytest": ""}, ("venv/bin/pytest", "-q", PYTEST_REPORT)),
        ({"conftest.py": ""}, ("pytest", "-q", PYTEST_REPORT)),
        ({"requirements-dev.txt": "ruff\npytest\n"}, ("pytest", "-q", PYTEST_REPORT)),
        ({"tests/test_a.py": "def test_a(): ...\n"}, ("pytest", "-q", PYTEST_REPORT)),
        ({"tests/unit/test_a.py": "import pytest\nimport unittest\n"}, ("pytest", "-q", PYTEST_REPORT)),
        ({"test_a.py": "def test_a(): ...\n"}, ("pytest", "-q", PYTEST_REPORT)),
        ({"tests/test_a.py": "import unittest\n"}, ("python3", "-m", "unittest", "discover", "-s", "tests")),
        ({"package.json": '{"scripts": {"test": "mocha"}}'}, ("npm", "run", "test")),
        ({"package.json": '{"scripts": {"test": "x"}}', "pnpm-lock.yaml": ""}, ("pnpm", "run", "test")),
        ({"package.json": '{"scripts": {"test": "x"}}', "yarn.lock": ""}, ("yarn", "run", "test")),
        ({"package.json": '{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "^3"}}'},
         ("npx", "--no-install", "vitest", "run", "--reporter=default", "--reporter=junit",
          "--outputFile.junit={report}")),
        ({"package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "^29"}}'}, ("npm", "run", "test")),
        ({"Cargo.toml": ""}, ("cargo", "test")),
        ({"go.mod": "module x\n"}, ("go", "test", "-count=1", "./...")),
        ({"Makefile": "all: x\n\ntest: all\n\techo\n"}, ("make", "test")),
        ({"GNUmakefile": "check:\n\techo\n"}, ("make", "check")),
    ],
)  # fmt: skip
def test_a_project_gets_the_check_that_it_has(files: dict[str, str], argv: tuple[str, ...], tmp_path: Path) -> None:
    """One kind of project, one check, by the tool that the project's files name."""
    (check,) = proposed(project(tmp_path, files))
    assert check.argv == argv
    assert check.timeout_seconds == 600
    assert (check.report == "junit", check.min_tests) == (any("{report}" in word for word in argv), 1)
    assert propose(str(tmp_path)).checks == (" ".join(argv),)


def test_jest_reports_where_it_can(tmp_path: Path) -> None:
    """With the reporter that writes JUnit installed, jest gets the report's path in the variable that it reads."""
    package = '{"scripts": {"test": "jest --silent"}, "devDependencies": {"jest": "^29", "jest-junit": "^16"}}'
    (check,) = proposed(project(tmp_path, {"package.json": package}))
    assert check.shell.startswith('JEST_JUNIT_OUTPUT_FILE="$SIGNOFF_REPORT_FILE" npx --no-install jest ')
    assert check.report == "junit"


def test_a_project_of_several_kinds_gets_each(tmp_path: Path) -> None:
    """Every kind has its check under an id of its own, and a target of make stays a comment beside them."""
    files = {
        "pytest.ini": "",
        "package.json": '{"scripts": {"test": "x"}}',
        "Cargo.toml": "",
        "go.mod": "",
        "Makefile": "test:\n",
    }
    proposal = propose(str(project(tmp_path, files)))
    assert [check.id for check in proposed(tmp_path)] == ["pytest", "npm-test", "cargo-test", "go-test"]
    assert '# argv = ["make", "test"]' in proposal.text


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "Run `pytest` and make result.json"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": {"start": "x"}}'},
        {"package.json": '{"scripts": {"test": 1}}'},
        {"package.json": '{"scripts": {"test": " "}}'},
        {"Makefile": "test := x\nall:\n"},
        {"pyproject.toml": "[project]\nname = 'x'\ndependencies = ['pytest-clarity']\n"},
        {"tests/data.json": ""},
    ],
)
def test_a_project_without_a_check_gets_none(files: dict[str, str], tmp_path: Path) -> None:
    """Nothing is made up: the file is all comments and a table, loads, and declares no check."""
    proposal = propose(str(project(tmp_path, files)))
    assert (proposal.checks, proposal.notes) == ((), ())
    assert "declares no check yet" in proposal.text
    got = resolved(tmp_path, toml=proposal.text)
    assert (got.contract.mode, got.contract.commands) == (Mode.OFF, ())


def test_every_commented_example_is_valid(tmp_path: Path) -> None:
    """Taking away the comment signs of the examples gives a file that loads, with all that they show."""
    text = propose(str(project(tmp_path, {"tests/test_a.py": "", "Makefile": "test:\n"}))).text
    lines = [line.removeprefix("# ") for line in text.splitlines() if _is_example(line)]
    got = resolved(tmp_path, toml="\n".join(lines))
    assert [check.id for check in got.contract.commands] == ["pytest", "make-test", "example"]
    assert [item.path for item in got.contract.artifacts] == ["report.md"]
    assert [item.glob for item in got.contract.immutable] == ["tests/"]
    assert got.agent_command == ("my-agent", "{prompt}")
    assert got.contract.max_repairs == 5


def _is_example(line: str) -> bool:
    """Whether a line is TOML, with or without a comment sign."""
    bare = line.removeprefix("# ")
    return bare.startswith("[") or bare.split(" = ", maxsplit=1)[0].isidentifier()


def test_nothing_is_run_or_written(tmp_path: Path) -> None:
    """The project is as it was, though its files would leave a mark if anything of them were run."""
    mark = "open('ran', 'w')\n"
    files = {
        "conftest.py": mark,
        "setup.py": mark,
        "tests/test_a.py": mark,
        "Makefile": "X := $(shell touch ran)\ntest:\n\ttouch ran\n",
        "package.json": '{"scripts": {"test": "touch ran", "pretest": "touch ran"}}',
    }
    before = contents(project(tmp_path, files))
    propose(str(tmp_path))
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "not toml"),
        ("pyproject.toml", "a" + ".a" * 50_000 + " = 1"),
        ("package.json", "{"),
        ("package.json", "[" * 100_000),
        ("package.json", '{"scripts": []}'),
        ("Makefile", "#" * (1024 * 1024 + 1)),
    ],
)
def test_a_broken_file_is_said(name: str, text: str, tmp_path: Path) -> None:
    """A file that cannot be used proposes nothing, and the user is told."""
    proposal = propose(str(project(tmp_path, {name: text})))
    assert proposal.checks == ()
    assert proposal.notes == (f"{name} could not be read, so nothing was taken from it",)


@pytest.mark.parametrize("name", ["pyproject.toml", "package.json", "setup.cfg", "Makefile", "tests"])
def test_a_pipe_or_link_holds_nothing_up(name: str, tmp_path: Path) -> None:
    """A pipe, a link to itself or an endless device in place of a file is not waited for."""
    for spoil in (os.mkfifo, lambda path: path.symlink_to(path.name), lambda path: path.symlink_to("/dev/zero")):
        spoil(tmp_path / name)
        assert propose(str(tmp_path)).checks == ()
        (tmp_path / name).unlink()


NAMES = st.sampled_from(
    ["pyproject.toml", "package.json", "Cargo.toml", "Makefile", "tests/test_a.py", "setup.cfg", "uv.lock", "go.mod"]
)
PACKAGE = b'{"scripts": {"test": "vitest\\n[["}, "devDependencies": {"vitest": 1}}'
TEXTS = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"[tool.pytest]", PACKAGE, b"test:\n", b"unittest"]),
)


@any_speed
@given(st.dictionaries(NAMES, TEXTS))
def test_whatever_a_project_holds_the_proposal_loads(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    """Any bytes in any of its files: a proposal that loads, whose checks are those that it names."""
    folder = tmp_path_factory.mktemp("project")
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    proposal = propose(str(folder))
    assert isinstance(proposal, Proposal)
    parse_settings(proposal.text.encode(), name="signoff.toml")
    (folder / "signoff.toml").write_text(proposal.text, encoding="utf-8")
    found = resolve(CommandLine(), environment={}, cwd=str(folder)).contract.commands
    assert tuple(check.words for check in found) == proposal.checks
