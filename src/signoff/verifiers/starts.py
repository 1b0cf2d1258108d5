"""Follows the checks to the files of the workspace that they start, step by step: a script, and what that one starts.

Text is matched and nothing is run, so this knows too much rather than too little. It is bounded in rounds, files, bytes
and looks, and reads the files as they are when it is asked: before the agent, that is. What steers is for `control`.
"""

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from signoff.config.toml_lines import TooDeep
from signoff.core.completion.contract import ValidationCommand
from signoff.verifiers.runners import DEPENDENCY_FOLDERS, Part, Runner, named_in
from signoff.verifiers.settings import included_in, named_settings
from signoff.verifiers.steering import steering_part
from signoff.verifiers.walk import OPEN_FLAGS

MOST_FILES = 200
MOST_FOLDERS = 32
MOST_LOOKS = 20_000
MOST_BYTES = 4 * 1024 * 1024
_LONGEST = 1024 * 1024
_ROUNDS = 8
_MOST_NAMES = 100

_SOURCES = (".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")
_DOCUMENTS = (
    ".adoc",
    ".csv",
    ".html",
    ".json",
    ".jsonl",
    ".lock",
    ".log",
    ".md",
    ".rst",
    ".svg",
    ".tsv",
    ".txt",
    ".xml",
)
"""Endings of what is read and not started: followed only when a contract's own command names it."""
_MAKEFILES = ("akefile", ".mk", ".make", "ustfile", ".just")
"""Endings of files that can include others."""
_PROJECT_FILES = {"package.json": Part.PACKAGE_JSON, "pyproject.toml": Part.PYPROJECT, "setup.cfg": Part.SETUP_CFG}

_WORD = re.compile(r"[^\s'\"`();|&<>=,]+")
_BEFORE = r"(?:[\"']?\$\([^()\n]{0,200}\)[\"']?/?|\$\{?\w+\}?/)?"
"""A folder that only the shell knows, such as `$(dirname "$0")/`: what follows it is looked for everywhere."""

_ENTERED = re.compile(
    r"(?:\b(?:cd|pushd)|(?<![\w-])-C|--(?:prefix|directory|cwd|dir|chdir|rootdir|root|project)|(?i:\bpythonpath)|\bcwd)"
    rf"[\s=,\"'\[]+{_BEFORE}([^\s'\"`();|&<>=,\]]+)"
)
_MODULE = re.compile(r"(?<![\w-])-m[\s,\"']*([\w.]+)")
_COMMENT = re.compile(r"^[ \t]*#(?!!).*$", re.MULTILINE)
_LEADING = re.compile(r"^[@+:-]*(?:\$\{?\w+\}?|\{\w+\})?/*")


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks start in a workspace, by paths relative to it."""

    files: tuple[str, ...]
    """Programs, in the order in which they were found."""
    folders: frozenset[str]
    """Folders from which Python would import: each ends in `/`, and the workspace itself is nothing."""
    runners: tuple[Runner, ...]
    settings: frozenset[str]
    """Files that a runner is told by name to read its settings from, also those that do not exist."""


class _Text(msgspec.Struct, frozen=True):
    text: str
    words: tuple[str, ...]
    path: str = ""
    """Of the file that holds it; empty for a command of the contract."""


def follow(commands: Iterable[ValidationCommand], root: str) -> Started:
    """Return what these commands start in a workspace; writes nothing, and never reads outside of it."""
    trail = _Trail(root)
    for command in commands:
        trail.enter("", command.cwd)
        trail.hear(command)
    for _ in range(_ROUNDS):
        before = trail.size
        trail.step()
        if trail.size == before:
            break
    return trail.found()


class _Trail:
    """What was found so far."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._texts: list[_Text] = []
        self._folders = {"": None}
        self._seen: set[str] = set()
        self._programs: dict[str, None] = {}
        self._runners: dict[str, Runner] = {}
        self._looked: set[tuple[str, str]] = set()
        self._bytes = 0

    @property
    def size(self) -> tuple[int, ...]:
        """What grows while there is anything new."""
        return len(self._texts), len(self._folders), len(self._runners), len(self._programs)

    def hear(self, command: ValidationCommand) -> None:
        """Take the words of a command, and the variables that it sets."""
        text = "\n".join((command.words, *(f"{name}={value}" for name, value in command.env.items())))
        self._take_text(text, more=command.argv)

    def step(self) -> None:
        """Follow every text in every folder that is known by now."""
        for text in tuple(self._texts):
            for folder in (part for found in _ENTERED.findall(text.text) for part in found.split(":")):
                self._enter_anywhere(folder)
            for word in text.words:
                self._look_anywhere(word, by_hand=not text.path)
        for runner in tuple(self._runners.values()):
            for name in (pattern for pattern, _ in runner.files if runner.wrapper and not pattern.endswith("*")):
                self._look_anywhere(name, by_hand=True)

    def found(self) -> Started:
        """Return all of it."""
        paths: set[str] = set()
        for text in self._texts:
            paths |= self._everywhere(named_settings(text.text))
        for _ in range(_ROUNDS):
            for text in self._texts:
                if text.path in paths or text.path.rpartition("/")[2].endswith(_MAKEFILES):
                    paths |= self._everywhere(included_in(text.text))
        return Started(
            files=tuple(self._programs),
            folders=frozenset(self._folders),
            runners=tuple(self._runners[name] for name in sorted(self._runners)),
            settings=frozenset(paths),
        )

    def _everywhere(self, names: Iterable[str]) -> set[str]:
        """The paths that these names may mean, as they are written and as links lead."""
        some = sorted(names)[:_MOST_NAMES]
        paths = {os.path.normpath(f"{folder}{name}") for folder in self._folders for name in some}
        return paths | {self._inside(f"{self._root}/{path}") or path for path in paths}

    def enter(self, above: str, name: str) -> None:
        """Take a folder of the workspace for one from which files are named."""
        path = self._inside(os.path.join(self._root, above, name))  # noqa: PTH118 - an absolute name stays what it is
        if path is not None and len(self._folders) < MOST_FOLDERS and os.path.isdir(f"{self._root}/{path}"):  # noqa: PTH112
            self._folders.setdefault(f"{path}/" if path else "")

    def _enter_anywhere(self, name: str) -> None:
        for above in tuple(self._folders):
            if self._is_new(above, f"{name}/"):
                self.enter(above, name)

    def _look_anywhere(self, word: str, *, by_hand: bool) -> None:
        bare = _LEADING.sub("", word)
        for above in tuple(self._folders):
            for name in {word, bare} - {""}:
                if self._is_new(above, name):
                    self._look(os.path.join(self._root, above, name), word, by_hand=by_hand)  # noqa: PTH118

    def _is_new(self, above: str, name: str) -> bool:
        if (above, name) in self._looked or len(self._looked) >= MOST_LOOKS:
            return False
        self._looked.add((above, name))
        return True

    def _look(self, path: str, word: str, *, by_hand: bool) -> None:
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - any text may come as a path
                return
        except (OSError, ValueError):
            return
        found = self._inside(path)
        if found is None or found in self._seen or len(self._seen) >= MOST_FILES:
            return
        if not by_hand and (
            found.endswith(_DOCUMENTS) or not frozenset(DEPENDENCY_FOLDERS).isdisjoint(found.split("/"))
        ):
            return
        self._seen.add(found)
        self._take(found, named_by_path="/" in word)

    def _take(self, path: str, *, named_by_path: bool) -> None:
        data, executable = _read(f"{self._root}/{path}")
        if path.endswith(_SOURCES) or (executable and named_by_path) or data.startswith(b"#!"):
            self._programs.setdefault(path)
            self.enter("", os.path.dirname(path))  # noqa: PTH120 - a text
        self._bytes += len(data)
        if data and b"\0" not in data and self._bytes <= MOST_BYTES:
            self._take_text(_COMMENT.sub("", _text(path, data)), path=path)

    def _take_text(self, text: str, *, more: tuple[str, ...] = (), path: str = "") -> None:
        modules = (name.replace(".", "/") for name in _MODULE.findall(text))
        words = (
            *more,
            *_WORD.findall(text),
            *(end for name in modules for end in (f"{name}.py", f"{name}/__main__.py")),
        )
        self._texts.append(_Text(text, tuple(dict.fromkeys(words)), path))
        self._runners.update((runner.name, runner) for runner in named_in(text))

    def _inside(self, path: str) -> str | None:
        """Where a path leads, relative to the workspace; None when it leads out or cannot be resolved."""
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return None
        if real == self._root:
            return ""
        return real.removeprefix(f"{self._root}/") if real.startswith(f"{self._root}/") else None


def _text(path: str, data: bytes) -> str:
    """The text of a file; of a project's file only what steers, since it names many a program that is not started."""
    part = _PROJECT_FILES.get(path.rpartition("/")[2])
    if part is not None:
        with suppress(ValueError, TypeError, RecursionError, TooDeep):
            return _flat(steering_part(part, data))
    return data.decode("utf-8", "replace")


def _flat(value: object) -> str:
    match value:
        case dict():
            return "\n".join(f"{key} = {_flat(each)}" for key, each in value.items())
        case list():
            return "\n".join(_flat(each) for each in value)
        case _:
            return str(value)


def _read(path: str) -> tuple[bytes, bool]:
    """Return the bytes of a regular file, nothing of one that is too long, and whether its owner may execute it."""
    try:
        with open(os.open(path, OPEN_FLAGS), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return b"", False
            data = file.read(_LONGEST + 1)
    except OSError:
        return b"", False
    return data if len(data) <= _LONGEST else b"", bool(status.st_mode & stat.S_IXUSR)
