"""`signoff init` proposes what a project really has, runs nothing of it, and overwrites nothing."""

import os
import shlex
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from tests.cli.door import SIGNOFF, run_signoff

MARKS = '#!/bin/sh\necho "${0##*/} $*" >>"${0%/*}/../started"\n'
"""A program that notes that it was started, and with which words."""

RUNNERS = ("pytest", "python3", "npm", "npx", "yarn", "pnpm", "cargo", "go", "make", "uv")
NODE = '{"scripts": {"test": "node test.js"}}'


class Project(msgspec.Struct, frozen=True):
    """Files of a project, and the checks that are to be proposed."""

    files: Mapping[str, str]
    checks: tuple[str, ...]


PROJECTS = {
    "python": Project(
        {"pyproject.toml": "[tool.pytest]\n", "tests/test_it.py": "def test_it(): pass\n"},
        ("pytest -q --junitxml={report}",),
    ),
    "python unittest": Project({"tests/test_it.py": "import unittest\n"}, ("python3 -m unittest discover -s tests",)),
    "python uv": Project(
        {"pyproject.toml": "[tool.pytest]\n", "uv.lock": "", "conftest.py": ""},
        ("uv run pytest -q --junitxml={report}",),
    ),
    "node": Project({"package.json": NODE}, ("npm run test",)),
    "node yarn": Project({"package.json": NODE, "yarn.lock": ""}, ("yarn run test",)),
    "node without tests": Project(
        {"package.json": '{"scripts": {"test": "echo Error: no test specified; exit 1"}}'}, ()
    ),
    "rust": Project({"Cargo.toml": "[package]\n"}, ("cargo test",)),
    "go": Project({"go.mod": "module m\n"}, ("go test -count=1 ./...",)),
    "make": Project({"Makefile": "all:\n\ntest: all\n\t./run-tests\n"}, ("make test",)),
    "make without tests": Project({"Makefile": "TEST := x\ntest := y\nall:\n"}, ()),
    "empty": Project({}, ()),
    "two": Project({"Cargo.toml": "", "package.json": NODE}, ("npm run test", "cargo test")),
    "broken": Project({"package.json": "{", "pyproject.toml": "[", "Makefile": "\x00\xff"}, ()),
}


@pytest.fixture
def marked(work: Path) -> Mapping[str, str]:
    """An environment in which every test runner is a program that notes its start beside the workspace."""
    folder = work.parent / "bin"
    folder.mkdir()
    for name in RUNNERS:
        (folder / name).write_text(MARKS)
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def lay_out(work: Path, files: Mapping[str, str]) -> None:
    """Write the files of a project."""
    for name, text in files.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text, encoding="latin-1")


@pytest.mark.scenario("CL-013")
@pytest.mark.parametrize("name", PROJECTS)
def test_the_proposed_checks_exist_and_nothing_is_run(name: str, work: Path, marked: Mapping[str, str]) -> None:
    """Each project gets its own runner's checks; `init` starts no program, and `check` then starts just these."""
    project = PROJECTS[name]
    lay_out(work, project.files)
    done = run_signoff("init", cwd=work, env=marked)
    assert (done.code, [line[2:] for line in done.out.splitlines() if line.startswith("  ")]) == (0, [*project.checks])
    assert not (work.parent / "started").exists()
    contract = tomllib.loads((work / "signoff.toml").read_text(encoding="utf-8")).get("contract", {})
    assert [shlex.join(each["argv"]).replace("'", "") for each in contract.get("command", ())] == [*project.checks]
    checked = run_signoff("check", "--json", cwd=work, env=marked)
    assert (checked.json["status"] == "unverified") is (project.checks == ())
    started = (work.parent / "started").read_text().splitlines() if project.checks else []
    assert [line.partition("=/")[0] for line in started] == [each.partition("={")[0] for each in project.checks]


@pytest.mark.scenario("CL-013")
def test_the_proposal_for_pytest_holds_as_it_stands(work: Path) -> None:
    """In a project with one passing test, what `init` wrote counts that test."""
    lay_out(work, {"tests/test_it.py": "import pytest\n\ndef test_it():\n    assert pytest\n"})
    path = {"PATH": f"{Path(SIGNOFF).parent}{os.pathsep}{os.environ['PATH']}"}
    assert run_signoff("init", cwd=work, env=path).code == 0
    done = run_signoff("check", "--json", cwd=work, env=path)
    assert (done.code, done.json["status"], done.json["checks"][0]["tests"]) == (0, "completed", 1), done.err


@pytest.mark.scenario("CL-013")
def test_a_dry_run_writes_nothing(work: Path) -> None:
    """`--dry-run` prints exactly what would be written, and leaves the folder as it was."""
    lay_out(work, PROJECTS["rust"].files)
    done = run_signoff("init", "--dry-run", cwd=work)
    assert (done.code, sorted(path.name for path in work.iterdir())) == (0, ["Cargo.toml"])
    run_signoff("init", cwd=work)
    assert (work / "signoff.toml").read_text(encoding="utf-8") == done.out


def a_file(path: Path) -> None:
    """A contract that is there already."""
    path.write_text("# mine\n", encoding="utf-8")


def a_folder(path: Path) -> None:
    """A folder of that name."""
    path.mkdir()


def a_link(path: Path) -> None:
    """A link to a file elsewhere."""
    (path.parent.parent / "elsewhere").write_text("# mine\n", encoding="utf-8")
    path.symlink_to("../elsewhere")


def a_dangling_link(path: Path) -> None:
    """A link to where nothing is."""
    path.symlink_to("../nowhere")


def a_fifo(path: Path) -> None:
    """A pipe of that name, which nobody reads."""
    os.mkfifo(path)


@pytest.mark.scenario("CL-013")
@pytest.mark.parametrize("make", [a_file, a_folder, a_link, a_dangling_link, a_fifo])
def test_what_is_there_is_never_overwritten(make: Callable[[Path], None], work: Path) -> None:
    """Whatever has the name signoff.toml stays as it is, and the message says so."""
    path = work / "signoff.toml"
    make(path)
    before = path.lstat()
    done = run_signoff("init", cwd=work)
    assert (done.code, done.out, "nothing was overwritten" in done.err) == (2, "", True), done.err
    after = path.lstat()
    assert (stat.S_IFMT(after.st_mode), after.st_ino, after.st_mtime_ns) == (
        stat.S_IFMT(before.st_mode),
        before.st_ino,
        before.st_mtime_ns,
    )
    assert not (work.parent / "nowhere").exists()
    if make in {a_file, a_link}:
        assert path.read_text(encoding="utf-8") == "# mine\n"


def test_init_needs_a_folder_that_is_there(work: Path) -> None:
    """A folder that does not exist, or is a file, is named, and nothing is written."""
    (work / "file").touch()
    for name in ("none", "file"):
        done = run_signoff("init", "--cwd", name, cwd=work)
        assert (done.code, f"--cwd {name} is not a folder" in done.err) == (2, True), done.err
    assert [path.name for path in work.iterdir()] == ["file"]
