"""Recognises what a project is tested with, from the files that its tools keep there.

One function a kind of project. Every file is read within a bound and without following a link, and only for words that
are known here: no text of the project is passed on.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from signoff.config.toml_file import read_bounded
from signoff.config.toml_lines import TooDeep, lines_of

_MOST_TEST_FILES = 100
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_MAKE_TARGET = re.compile(rb"^(test|check)[ \t]*:(?![:=])", re.MULTILINE)
_NO_TEST = "no test specified"
_JUNIT = "--junitxml={report}"
_PYTHON_RUNNERS = (
    ("uv.lock", ("uv", "run", "pytest")),
    ("poetry.lock", ("poetry", "run", "pytest")),
    ("pdm.lock", ("pdm", "run", "pytest")),
    ("Pipfile.lock", ("pipenv", "run", "pytest")),
    (".venv/bin/pytest", (".venv/bin/pytest",)),
    ("venv/bin/pytest", ("venv/bin/pytest",)),
)
"""A check does not look for programs in the workspace, so an environment in it is named by its path."""
_NODE_RUNNERS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """One check that fits a project."""

    id: str
    argv: tuple[str, ...] = ()
    script: str = ""
    """A shell string, instead of argv."""
    report: bool = False
    active: bool = True
    """Whether it can stand in the contract as it is; otherwise it is shown as a comment."""
    tests: str = ""
    """A pattern for the tests that it runs, when that is known."""
    why: tuple[str, ...] = ()
    """Lines that explain it."""


class _Project:
    """A folder, and the names of its files that could not be read."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        self.unread: list[str] = []

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        try:
            return (self.root / name).is_file()
        except OSError:
            return False

    def listing(self, name: str) -> list[Path]:
        """What is in a folder, in order; empty when there is no such folder."""
        try:
            return sorted((self.root / name).iterdir())
        except OSError:
            return []

    def bytes_of(self, name: str) -> bytes:
        """The content of a file; empty when there is none."""
        data = read_bounded(str(self.root / name))
        if data is None and os.path.lexists(self.root / name):
            self.unread.append(name)
        return data or b""

    def toml(self, name: str) -> dict[str, Any]:
        """A file of TOML; empty when there is none or it is broken."""
        try:
            text = self.bytes_of(name).decode().replace("\r\n", "\n")
            lines_of(text)
            return tomllib.loads(text)
        except (ValueError, RecursionError, TooDeep):
            self.unread.append(name)
            return {}


class _Package(msgspec.Struct, frozen=True):
    """What counts in a package.json."""

    scripts: dict[str, Any] = {}
    dependencies: dict[str, Any] = {}
    devDependencies: dict[str, Any] = {}  # noqa: N815 - the file's own name


def suggestions(root: str) -> tuple[tuple[Suggestion, ...], tuple[str, ...]]:
    """Return the checks that fit a project, and a sentence for each file of its that could not be used."""
    project = _Project(root)
    found = [each for look in _KINDS for each in look(project)]
    if not found:
        found = list(_make(project, active=True))
    else:
        found += _make(project, active=False)
    notes = [f"{name} could not be read, so nothing was taken from it" for name in dict.fromkeys(project.unread)]
    return tuple(found), tuple(notes)


def _python(project: _Project) -> Iterator[Suggestion]:
    folder = next((name for name in ("tests", "test") if project.listing(name)), "")
    files = _test_files(project, folder)
    if not _names_pytest(project):
        texts = [read_bounded(str(path)) or b"" for path in files]
        if not texts:
            return
        if any(b"unittest" in text for text in texts) and not any(b"pytest" in text for text in texts):
            argv = ("python3", "-m", "unittest", "discover", *(("-s", folder) if folder else ()))
            why = ("The tests use unittest. With pytest they could be counted: see `report`.",)
            yield Suggestion(id="unittest", argv=argv, tests=f"{folder}/" if folder else "test_*.py", why=why)
            return
    runner = next((argv for name, argv in _PYTHON_RUNNERS if os.path.lexists(project.root / name)), ("pytest",))
    tests = f"{folder}/" if folder else "test_*.py"
    yield Suggestion(id="pytest", argv=(*runner, "-q", _JUNIT), report=True, tests=tests)


def _names_pytest(project: _Project) -> bool:
    """Whether the project configures pytest or lists it among what it needs."""
    settings = project.toml("pyproject.toml")
    tool = settings.get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return True
    if project.has("pytest.ini") or project.has("conftest.py"):
        return True
    if b"[tool:pytest]" in project.bytes_of("setup.cfg") or b"[pytest]" in project.bytes_of("tox.ini"):
        return True
    named = rb"(?m)(?:^|[\"'\s])pytest(?:$|[\"'\s<>=~!\[;,])"
    files = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "requirements-dev.txt", "Pipfile")
    return any(re.search(named, project.bytes_of(name)) for name in files)


def _test_files(project: _Project, folder: str) -> list[Path]:
    """Some test files of the usual names, in the folder of tests and right below it, or else in the root."""
    paths = project.listing(folder)
    if folder:
        paths += [each for path in paths[:_MOST_TEST_FILES] for each in project.listing(f"{folder}/{path.name}")]
    return [path for path in paths if _TEST_FILE.fullmatch(path.name)][:_MOST_TEST_FILES]


def _node(project: _Project) -> Iterator[Suggestion]:
    data = project.bytes_of("package.json")
    if not data:
        return
    try:
        package = msgspec.json.decode(data, type=_Package)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        project.unread.append("package.json")
        return
    script = package.scripts.get("test")
    if not isinstance(script, str) or not script.strip() or _NO_TEST in script:
        return
    needs = package.dependencies | package.devDependencies
    words = script.split()
    if "vitest" in needs and words[0] == "vitest":
        argv = ("npx", "--no-install", "vitest", "run", "--reporter=default", "--reporter=junit")
        yield Suggestion(id="vitest", argv=(*argv, "--outputFile.junit={report}"), report=True)
        return
    if "jest" in needs and "jest-junit" in needs and words[0] == "jest":
        run = "npx --no-install jest --ci --reporters=default --reporters=jest-junit"
        yield Suggestion(id="jest", script=f'JEST_JUNIT_OUTPUT_FILE="$SIGNOFF_REPORT_FILE" {run}', report=True)
        return
    runner = next((name for lock, name in _NODE_RUNNERS if project.has(lock)), "npm")
    yield Suggestion(id=f"{runner}-test", argv=(runner, "run", "test"))


def _rust(project: _Project) -> Iterator[Suggestion]:
    if project.has("Cargo.toml"):
        yield Suggestion(id="cargo-test", argv=("cargo", "test"))


def _go(project: _Project) -> Iterator[Suggestion]:
    if project.has("go.mod"):
        why = ("-count=1: results that were kept from before do not count.",)
        yield Suggestion(id="go-test", argv=("go", "test", "-count=1", "./..."), why=why)


def _make(project: _Project, *, active: bool) -> Iterator[Suggestion]:
    name = next((each for each in ("GNUmakefile", "makefile", "Makefile") if project.has(each)), None)
    targets = {found.decode() for found in _MAKE_TARGET.findall(project.bytes_of(name))} if name else set()
    target = next((each for each in ("test", "check") if each in targets), None)
    if target is not None:
        why = () if active else ("There is a target for make, too.",)
        yield Suggestion(id=f"make-{target}", argv=("make", target), active=active, why=why)


_KINDS: tuple[Callable[[_Project], Iterator[Suggestion]], ...] = (_python, _node, _rust, _go)
