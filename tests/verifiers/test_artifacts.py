"""Artifacts: what stands at a path, read for what it is, without being led astray or made to wait."""

import hashlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.core.completion.contract import Artifact, Fresh
from signoff.core.completion.evidence import FileFacts, FileKind
from signoff.verifiers import inspect_one, unshown
from signoff.verifiers.artifacts import MOST_MATCHES, Place, look, look_at
from signoff.verifiers.files import Interrupted, Reader, Work
from signoff.verifiers.folders import MOST_LINKED
from tests.verifiers.looking import wait_for_the_next_tick


def sha256(content: bytes) -> str:
    """Return the digest of bytes, as evidence names it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def at(root: Path, path: str, *, outside: bool = False, directory: bool = False) -> FileFacts:
    """Return what stands at one path of a workspace."""
    return inspect_one(str(root), Artifact(id="a", path=path, allow_outside=outside, directory=directory))


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    """Kind, digest and size of a regular file are those of its bytes."""
    (tmp_path / "out.txt").write_bytes(b"result\n")
    facts = at(tmp_path, "./out.txt")
    assert facts == FileFacts(path="out.txt", kind=FileKind.FILE, sha256=sha256(b"result\n"), size=7)


@pytest.mark.parametrize("path", ["nothing", "folder/nothing", "file/below", "dangling", "round", "x" * 300])
def test_what_is_not_there_is_missing(path: str, tmp_path: Path) -> None:
    """A path without a file, below a file, by a dangling or circular link, or too long to exist is missing."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("folder/nothing")
    (tmp_path / "round").symlink_to("round")
    assert at(tmp_path, path).kind is FileKind.MISSING


@pytest.mark.parametrize("target", ["../secret", "../gone", "../folder", "/etc/passwd", "inner/up/secret"])
def test_a_link_out_of_the_workspace_is_not_followed(target: str, tmp_path: Path) -> None:
    """A path that leads out, at once or step by step, to something or nothing, is outside; nothing of it is read."""
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "up").symlink_to("../..")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder").mkdir()
    (root / "out").symlink_to(target)
    assert at(root, "out") == FileFacts(path="out", kind=FileKind.OUTSIDE)


def test_a_folder_that_only_begins_like_the_workspace_is_outside(tmp_path: Path) -> None:
    """`/w/root-2` is not in `/w/root`."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root-2" / "x").write_text("x")
    (tmp_path / "root" / "x").symlink_to("../root-2/x")
    assert at(tmp_path / "root", "x").kind is FileKind.OUTSIDE


def test_the_host_may_permit_a_path_outside(tmp_path: Path) -> None:
    """With the host's permission an absolute path, a link out and a path from the home are read."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "x").write_text("x")
    (root / "link").symlink_to("../x")
    assert at(root, str(tmp_path / "x"), outside=True).sha256 == sha256(b"x")
    assert at(root, "link", outside=True).sha256 == sha256(b"x")
    place = Place(str(root), str(tmp_path))
    artifact = Artifact(id="a", path="~/x", allow_outside=True)
    assert look("~/x", artifact, place=place, reader=Reader(Work())).facts.sha256 == sha256(b"x")


def test_a_link_inside_is_followed(tmp_path: Path) -> None:
    """A link to a file of the workspace is that file."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert at(tmp_path, "link/x").sha256 == sha256(b"x")


@pytest.mark.scenario("CC-116")
def test_what_is_no_file_is_refused_without_opening_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO, a socket and a device are told by their kind; a writer that waits for a reader goes on waiting."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    writer = threading.Thread(target=lambda: os.close(os.open("fifo", os.O_WRONLY)), daemon=True)
    writer.start()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = [at(tmp_path, name) for name in ("fifo", "socket")]
    found.append(at(tmp_path, "/dev/zero", outside=True))
    assert [(facts.kind, facts.sha256) for facts in found] == [(FileKind.OTHER, None)] * 3
    writer.join(0.2)
    assert writer.is_alive()
    os.close(os.open("fifo", os.O_RDONLY))
    writer.join()


@pytest.mark.parametrize(
    ("content", "blank"),
    [
        (b"", True),
        (b" \t\r\n\v\f", True),
        ("\u00a0\u3000\u2003\n".encode(), True),
        ("\ufeff\u200b\n".encode(), True),
        (b"\0", False),
        (b" x ", False),
        (b" \xff", False),
        (b" \xc2", False),
        (b" " * 3_000_000, True),
        (b" " * 3_000_000 + b".", False),
        (b" " * (1024 * 1024 - 1) + "\u00a0".encode(), True),
    ],
)
def test_white_space_alone_is_blank(content: bytes, blank: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Nothing, or nothing but white space in any form, is blank, however long, also where blocks part a character."""
    (tmp_path / "x").write_bytes(content)
    assert at(tmp_path, "x").blank is blank


def test_a_placeholder_is_told(tmp_path: Path) -> None:
    """A file that only says TODO is told from one with content."""
    (tmp_path / "x").write_text("# TODO\n")
    (tmp_path / "y").write_text("# TODO\nbut also this\n")
    assert (at(tmp_path, "x").placeholder, at(tmp_path, "y").placeholder) == (True, False)


class Meddling(Work):
    """Work during which something else happens: each time a block was read."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self._meddle = meddle

    def go_on(self) -> None:
        """Let it happen."""
        self._meddle()


def meddled(root: Path, path: str, meddle: Callable[[Path], object], *, directory: bool = False) -> FileFacts:
    """Look at a path while something is done to `x`."""
    reader = Reader(Meddling(lambda: meddle(root / "x")))
    artifact = Artifact(id="a", path=path, directory=directory)
    return look(path, artifact, place=Place(str(root)), reader=reader).facts


def append(path: Path) -> None:
    """Make the file longer, once."""
    if path.stat().st_size < 200_000:
        with path.open("ab") as file:
            file.write(b"more")


def replace(path: Path) -> None:
    """Put another file with the same bytes and times in its place."""
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def rewrite(path: Path) -> None:
    """Write over bytes that were read, keeping the size and putting the time of writing back."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"y")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.scenario("CC-207")
@pytest.mark.parametrize("meddle", [append, replace, rewrite, Path.unlink, lambda path: os.truncate(path, 10)])
def test_a_file_that_changes_while_it_is_read_is_unstable(meddle: Callable[[Path], object], tmp_path: Path) -> None:
    """Grown, cut, rewritten, replaced or deleted during the reading: what was read is nobody's file."""
    (tmp_path / "x").write_bytes(b"x" * 100_000)
    wait_for_the_next_tick(tmp_path / "x")
    assert not meddled(tmp_path, "x", lambda _: None).unstable
    done: list[object] = []

    def once(path: Path) -> None:
        if not done:
            done.append(True)
            meddle(path)

    assert meddled(tmp_path, "x", once).unstable


@pytest.mark.scenario("CC-207")
def test_a_file_that_is_being_written_is_unstable(tmp_path: Path) -> None:
    """A program that keeps writing to the file while it is hashed is noticed."""
    path = tmp_path / "x"
    path.write_bytes(b"x" * (64 * 1024 * 1024))
    going, over = threading.Event(), threading.Event()

    def keep_writing() -> None:
        with path.open("r+b") as file:
            while not over.is_set():
                file.write(b"y")
                file.flush()
                going.set()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    going.wait()
    facts = at(tmp_path, "x")
    over.set()
    writer.join()
    assert facts.unstable


def test_a_directory_is_read_only_when_it_is_declared(tmp_path: Path) -> None:
    """Otherwise it is a directory and nothing more; a file where a directory is declared is a file."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("content")
    (tmp_path / "file").write_text("content")
    assert at(tmp_path, "out") == FileFacts(path="out", kind=FileKind.DIRECTORY)
    declared = at(tmp_path, "out", directory=True)
    assert (declared.kind, declared.size, declared.blank) == (FileKind.DIRECTORY, 7, False)
    assert at(tmp_path, "file", directory=True).kind is FileKind.FILE


def test_the_digest_of_a_directory_covers_names_and_bytes(tmp_path: Path) -> None:
    """Another name, another content, another file or another link text is another digest; another cache is not."""
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (out / "sub" / "x").write_text("1")
    seen = [at(tmp_path, "out", directory=True).sha256]
    acts: list[Callable[[], object]] = [
        lambda: (out / "sub" / "x").write_text("2"),
        lambda: (out / "sub" / "x").rename(out / "sub" / "y"),
        (out / "z").touch,
        lambda: (out / "link").symlink_to("z"),
        lambda: (out / "link").rename(out / "link2"),
        lambda: (out / "z").chmod(0o755),
        (out / "__pycache__").mkdir,
        (out / "__pycache__" / "x.pyc").touch,
    ]
    for act in acts:
        act()
        seen.append(at(tmp_path, "out", directory=True).sha256)
    assert len(set(seen)) == len(seen) - 1  # an empty folder is nothing
    (out / ".pytest_cache").mkdir()
    (out / ".pytest_cache" / "x").touch()
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").touch()
    assert at(tmp_path, "out", directory=True).sha256 == seen[-1]


def test_a_directory_without_content_is_blank(tmp_path: Path) -> None:
    """Folders, caches, empty files, white space, FIFOs and links to nothing are no content, and have no size."""
    out = tmp_path / "out"
    (out / "sub" / ".pytest_cache").mkdir(parents=True)
    (out / "sub" / ".pytest_cache" / "x").write_text("content")
    os.mkfifo(out / "fifo")
    (out / "link-with-a-long-name").symlink_to("a-target-with-a-long-name")
    (out / "empty").touch()
    facts = at(tmp_path, "out", directory=True)
    assert (facts.kind, facts.blank, facts.size) == (FileKind.DIRECTORY, True, 0)
    (out / "white").write_text(" \n\ufeff" * 200_000)
    assert at(tmp_path, "out", directory=True).blank
    (out / "sub" / "x").write_text(" x")
    facts = at(tmp_path, "out", directory=True)
    assert (facts.blank, facts.size) == (False, (out / "white").stat().st_size + 2)


@pytest.mark.parametrize("target", ["../../secret", "../../folder", "/etc", "../../gone", "up/secret"])
def test_a_link_in_a_directory_that_leads_out_makes_it_outside(target: str, tmp_path: Path) -> None:
    """What is delivered by a link out of the workspace is not in it, unless the host permits that."""
    root = tmp_path / "root"
    (root / "out").mkdir(parents=True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "secret").write_text("secret")
    (root / "out" / "x").write_text("content")
    (root / "out" / "up").symlink_to("../..") if target.startswith("up") else None
    (root / "out" / "link").symlink_to(target)
    assert at(root, "out", directory=True) == FileFacts(path="out", kind=FileKind.OUTSIDE)


def test_the_host_may_permit_links_out_of_a_directory(tmp_path: Path) -> None:
    """With the host's permission what is outside is read, and covered by the digest."""
    root = tmp_path / "root"
    (root / "out").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "out" / "link").symlink_to("../../secret")
    before = at(root, "out", directory=True, outside=True)
    assert (before.kind, before.blank, before.size) == (FileKind.DIRECTORY, False, 6)
    (tmp_path / "secret").write_text("public")
    assert at(root, "out", directory=True, outside=True).sha256 != before.sha256


def test_the_digest_of_a_directory_covers_what_its_links_lead_to(tmp_path: Path) -> None:
    """A file, a folder, a folder behind it and a cache of its own: whoever edits those changes the directory."""
    for name in ("out/x", "file", "lib/a", "more/b", "out/.pytest_cache/c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    links = {"file": "../file", "lib": "../lib", "again": "../lib", "cache": ".pytest_cache", "self": "."}
    for name, target in links.items():
        (tmp_path / "out" / name).symlink_to(target)
    (tmp_path / "lib" / "more").symlink_to("../more")
    (tmp_path / "more" / "back").symlink_to("../out")
    seen = [at(tmp_path, "out", directory=True).sha256]
    for name in ("file", "lib/a", "more/b", "out/.pytest_cache/c"):
        (tmp_path / name).write_text("2")
        facts = at(tmp_path, "out", directory=True)
        assert not facts.unstable
        seen.append(facts.sha256)
    assert len(set(seen)) == len(seen)


def test_a_linked_file_that_changes_while_a_directory_is_read_is_noticed(tmp_path: Path) -> None:
    """The file behind a link is as much a part of it as one in it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_bytes(b"a" * 100_000)
    (tmp_path / "out" / "link").symlink_to("../b")
    (tmp_path / "b").write_text("b")
    assert meddled(tmp_path, "out", lambda _: append(tmp_path / "b"), directory=True).unstable


def test_a_directory_with_too_many_linked_folders_is_refused(tmp_path: Path) -> None:
    """Their number is bounded."""
    (tmp_path / "out").mkdir()
    for n in range(MOST_LINKED + 1):
        (tmp_path / "far" / str(n)).mkdir(parents=True)
        (tmp_path / "out" / str(n)).symlink_to(f"../far/{n}")
    assert at(tmp_path, "out", directory=True).kind is FileKind.OTHER


def test_a_directory_that_changes_while_it_is_read_is_unstable(tmp_path: Path) -> None:
    """A file that appears or is rewritten below it during the reading is noticed."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_bytes(b"a" * 100_000)
    assert not meddled(tmp_path, "out", lambda _: None, directory=True).unstable
    assert meddled(tmp_path, "out", lambda _: (tmp_path / "out" / "new").touch(), directory=True).unstable
    assert meddled(tmp_path, "out", lambda _: append(tmp_path / "out" / "a"), directory=True).unstable


def test_a_directory_outside_is_not_read(tmp_path: Path) -> None:
    """A declared directory that is a link out of the workspace is outside."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "out").symlink_to("..")
    assert at(tmp_path / "root", "out", directory=True).kind is FileKind.OUTSIDE


@pytest.mark.scenario("CC-115")
@pytest.mark.parametrize("name", ["ümlaut 文件.txt", " leading and trailing ", "new\nline", "tab\t", "'\"$(x)`", "-rf"])
def test_odd_names_work(name: str, tmp_path: Path) -> None:
    """Unicode, spaces, newlines and quotes in a name are read like any other, and the name can be read back."""
    (tmp_path / name).write_text("content")
    facts = at(tmp_path, name)
    assert (facts.kind, facts.sha256) == (FileKind.FILE, sha256(b"content"))
    assert unshown(facts.path) == name
    assert facts.path.isprintable()


def test_more_matches_than_are_looked_at(tmp_path: Path) -> None:
    """Of too many matches the first by name are looked at."""
    artifact = Artifact(id="a", path="*.txt", glob=True, fresh=Fresh.ANY)
    names = [f"f{n:05}.txt" for n in range(MOST_MATCHES + 5)]
    sights = look_at(artifact, names[::-1], place=Place(str(tmp_path)), reader=Reader(Work()))
    assert [sight.facts.path for sight in sights] == names[:MOST_MATCHES]
    assert MOST_MATCHES == 10_000


def test_looking_can_be_ended(tmp_path: Path) -> None:
    """A request to end is heeded at the next path."""
    work = Work()
    work.end()
    with pytest.raises(Interrupted):
        look("x", Artifact(id="a", path="x"), place=Place(str(tmp_path)), reader=Reader(work))
