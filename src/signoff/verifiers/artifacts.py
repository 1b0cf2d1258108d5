"""Looks at what stands where an artifact is expected: inside the workspace or not, what kind, what bytes.

Facts only: whether they satisfy an artifact is for the core to judge. Every byte is read at every look; nothing is
remembered from one to the next. A FIFO, socket or device is never opened.

A directory is looked at in `folders`.
"""

import os
import stat
from collections.abc import Callable, Sequence

import msgspec

from signoff.core.completion.contract import Artifact
from signoff.core.completion.evidence import FileFacts, FileKind
from signoff.verifiers.content import Content
from signoff.verifiers.files import Reader, Work
from signoff.verifiers.folders import Outside, survey
from signoff.verifiers.names import shown
from signoff.verifiers.pictures import in_order
from signoff.verifiers.walk import OPEN_FLAGS

MOST_MATCHES = 10_000
"""How many files a glob may match; of more, the first are looked at and the rest is said to be too much."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """One path of an artifact as it was just seen, before anything is said about when it was written."""

    facts: FileFacts
    stamp: tuple[object, ...] = ()
    """Time of writing, number and size; another stamp means that it was written."""


class Place:
    """The workspace as a place that paths may lead out of."""

    def __init__(self, root: str, home: str | None = None) -> None:
        self.root = root
        self._home = home

    def resolve(self, path: str) -> str:
        """Return where a path of the contract leads, all links followed; a leading `~` is the host's home."""
        if self._home is not None and (path == "~" or path.startswith("~/")):
            path = self._home + path[1:]
        return os.path.realpath(os.path.join(self.root, path))  # noqa: PTH118 - links are followed as the system does

    def holds(self, real: str) -> bool:
        """Return whether a resolved path is the workspace or in it."""
        return real == self.root or real.startswith(self.root.rstrip("/") + "/")


def look_at(artifact: Artifact, matches: Sequence[str], *, place: Place, reader: Reader) -> tuple[Sight, ...]:
    """Return what stands at an artifact's path, or at each of the paths that its glob matches, in order."""
    paths = in_order(matches)[:MOST_MATCHES] if artifact.glob else [artifact.path]
    return tuple(look(path, artifact, place=place, reader=reader) for path in paths)


def inspect_one(root: str, artifact: Artifact) -> FileFacts:
    """Return what stands now at the single path of an artifact, in the calling thread, for whoever verifies a receipt.

    The name of a subject in a receipt is as `shown`: give its `unshown` form as the artifact's path.
    """
    return look(artifact.path, artifact, place=Place(os.path.realpath(root)), reader=Reader(Work())).facts


def look(path: str, artifact: Artifact, *, place: Place, reader: Reader) -> Sight:
    """Return what stands at one path."""
    reader.work.next_file()
    name = shown(path if ".." in path.split("/") else os.path.normpath(path))  # a folder before .. may be a link
    kind, real = _kind_at(path, place, anywhere=artifact.allow_outside)
    if kind is FileKind.DIRECTORY and artifact.directory:
        return _folder(name, real, reader, inside=_anywhere if artifact.allow_outside else place.holds)
    if kind is not FileKind.FILE:
        return _nothing(name, kind)
    try:
        file = os.open(real, OPEN_FLAGS)
    except FileNotFoundError:
        return _nothing(name, FileKind.MISSING)
    except OSError:
        return _nothing(name, FileKind.OTHER)
    try:
        return _file(name, real, file=file, reader=reader)
    except OSError:
        return _nothing(name, FileKind.OTHER)
    finally:
        os.close(file)


def _anywhere(_real: str) -> bool:
    return True


def _kind_at(path: str, place: Place, *, anywhere: bool) -> tuple[FileKind, str]:
    """Return what stands at a path, without opening it, and where that is once all links are followed."""
    try:
        real = place.resolve(path)
        if not anywhere and not place.holds(real):
            return FileKind.OUTSIDE, ""
        mode = os.lstat(real).st_mode
    except PermissionError:
        return FileKind.OTHER, ""
    except (OSError, ValueError):
        return FileKind.MISSING, ""
    return _KINDS.get(stat.S_IFMT(mode), FileKind.OTHER), real


_KINDS = {
    stat.S_IFREG: FileKind.FILE,
    stat.S_IFDIR: FileKind.DIRECTORY,
    stat.S_IFLNK: FileKind.MISSING,  # resolved and still a link: it leads round in a circle
}


def _nothing(name: str, kind: FileKind) -> Sight:
    return Sight(facts=FileFacts(path=name, kind=kind))


def _file(name: str, real: str, *, file: int, reader: Reader) -> Sight:
    before = os.fstat(file)
    if not stat.S_ISREG(before.st_mode):
        return _nothing(name, FileKind.OTHER)
    content = Content()
    digest = reader.digest(file, before.st_size, told=content.take)
    after = os.fstat(file)
    stable = _state(before) == _state(after) == _state_at(real) and content.size == before.st_size
    facts = FileFacts(
        path=name,
        kind=FileKind.FILE,
        sha256=f"sha256:{digest.hex()}",
        size=content.size,
        blank=content.blank,
        placeholder=content.placeholder,
        unstable=not stable,
    )
    return Sight(facts=facts, stamp=(before.st_mtime_ns, before.st_ino, before.st_size))


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _state_at(path: str) -> tuple[int, ...]:
    try:
        return _state(os.lstat(path))
    except OSError:
        return ()


def _folder(name: str, real: str, reader: Reader, *, inside: Callable[[str], bool]) -> Sight:
    try:
        found = survey(real, reader, inside=inside)
    except Outside:
        return _nothing(name, FileKind.OUTSIDE)
    except OSError:
        return _nothing(name, FileKind.OTHER)
    facts = FileFacts(
        path=name,
        kind=FileKind.DIRECTORY,
        sha256=found.sha256,
        size=found.size,
        blank=found.blank,
        unstable=not found.stable,
    )
    return Sight(facts=facts, stamp=found.stamp)
