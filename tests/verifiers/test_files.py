"""Reading files: kind and digest, without waiting and in constant memory."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.verifiers.files import LARGE, Entry, EntryKind, Interrupted, Reader, Work, statuses
from tests.verifiers.looking import PATIENCE


def read(path: Path, *, whole: bool = True) -> Entry:
    """Return the entry of one path."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        item = Reader(Work()).entry(path.name, folder, status=path.lstat(), whole=whole)
    finally:
        os.close(folder)
    assert item is not None
    return item[0]


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 1024 * 1024, 3 * 1024 * 1024 + 1])
def test_a_file_is_known_by_all_of_its_bytes(size: int, tmp_path: Path) -> None:
    """The digest is that of the bytes, whatever the size."""
    content = os.urandom(size)
    (tmp_path / "x").write_bytes(content)
    assert read(tmp_path / "x") == Entry(EntryKind.FILE, hashlib.sha256(content).digest())


def test_a_file_that_grew_since_its_size_was_read_is_read_to_its_end(tmp_path: Path) -> None:
    """The size that was known says how to read, never how much."""
    (tmp_path / "x").write_bytes(b"0123456789")
    with (tmp_path / "x").open("rb") as file:
        assert Reader(Work()).digest(file.fileno(), 3) == hashlib.sha256(b"0123456789").digest()


def test_the_right_to_execute_counts(tmp_path: Path) -> None:
    """A file that its owner may execute is another thing than one with the same bytes that it may not."""
    path = tmp_path / "x"
    path.write_text("#!/bin/sh\n")
    plain = read(path)
    path.chmod(0o755)
    assert (plain.kind, read(path).kind, read(path).sha256) == (EntryKind.FILE, EntryKind.EXECUTABLE, plain.sha256)


def test_a_link_is_known_by_its_text(tmp_path: Path) -> None:
    """What a link leads to is not read: only its text counts."""
    (tmp_path / "target").write_text("one")
    link = tmp_path / "link"
    link.symlink_to("target")
    before = read(link)
    (tmp_path / "target").write_text("two")
    assert read(link) == before == Entry(EntryKind.LINK, hashlib.sha256(b"target").digest())


def test_a_fifo_is_not_opened(tmp_path: Path) -> None:
    """A FIFO is known by its kind; nobody waits for its other end."""
    os.mkfifo(tmp_path / "fifo")
    assert read(tmp_path / "fifo") == Entry(EntryKind.FIFO)


def test_a_fifo_put_in_a_files_place_is_not_waited_for(tmp_path: Path) -> None:
    """When what was a file a moment ago is a FIFO by now, it is taken for unreadable at once."""
    path = tmp_path / "x"
    path.touch()
    status = path.lstat()
    path.unlink()
    os.mkfifo(path)
    folder = os.open(tmp_path, os.O_RDONLY)
    item = Reader(Work()).entry("x", folder, status=status, whole=True)
    os.close(folder)
    assert item is not None
    assert item[0].kind is EntryKind.UNREADABLE


def test_what_is_gone_is_nothing(tmp_path: Path) -> None:
    """A file or link that was deleted since its name was read has no entry."""
    folder = os.open(tmp_path, os.O_RDONLY)
    path = tmp_path / "gone"
    for target in ("", "x"):
        if target:
            path.symlink_to(target)
        else:
            path.touch()
        status = path.lstat()
        path.unlink()
        assert Reader(Work()).entry("gone", folder, status=status, whole=True) is None
    os.close(folder)


def test_a_large_file_is_read_whole_only_where_it_matters(tmp_path: Path) -> None:
    """Elsewhere a change at either end, of the size or of the time of writing is seen; reading stays short."""
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(LARGE + 1)
    os.utime(path, ns=(0, 0))
    whole, brief = read(path), read(path, whole=False)
    assert (whole.kind, brief.kind) == (EntryKind.FILE, EntryKind.LARGE)
    with path.open("r+b") as file:
        file.seek(LARGE // 2)
        file.write(b"x")
    os.utime(path, ns=(0, 0))
    assert read(path) != whole
    assert read(path, whole=False) == brief  # the middle, with the time of writing put back: the price of not reading
    os.utime(path, ns=(0, 1))
    assert read(path, whole=False) != brief
    for place in (0, LARGE):
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"x")
        os.utime(path, ns=(0, 0))
        assert read(path, whole=False) != brief
        brief = read(path, whole=False)
    assert LARGE == 64 * 1024 * 1024


MEASURED = """
import os, resource, sys
from signoff.verifiers.files import Reader, Work
folder = os.open(sys.argv[1], os.O_RDONLY)
reader = Reader(Work())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
item = reader.entry("x", folder, status=os.lstat(sys.argv[1] + "/x"), whole=True)
assert item is not None
print(item[0].sha256.hex(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_size(tmp_path: Path) -> None:
    """A file of 256 MiB is read whole with a few MiB of memory."""
    size = 256 * 1024 * 1024
    with (tmp_path / "x").open("wb") as file:
        file.truncate(size)
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    digest, grown = ended.stdout.split()
    assert digest == hashlib.sha256(bytes(size)).hexdigest()
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(grown) * unit < 16 * 1024 * 1024


def test_a_folder_that_cannot_be_entered_is_a_fact(tmp_path: Path) -> None:
    """What the host may not read is known by its status, so that a change of that is seen; it is no error."""
    closed = tmp_path / "closed"
    closed.mkdir()
    reader = Reader(Work())
    before = reader.entry("closed", -1, status=closed.lstat(), whole=True)
    os.utime(closed, ns=(0, 0))
    after = reader.entry("closed", -1, status=closed.lstat(), whole=True)
    assert before is not None
    assert after is not None
    assert before[0].kind is after[0].kind is EntryKind.UNREADABLE
    assert before[0] != after[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may read everything")
def test_an_unreadable_file_is_a_fact(tmp_path: Path) -> None:
    """A file without the right to read it has an entry, and no error is raised."""
    (tmp_path / "x").write_text("secret")
    (tmp_path / "x").chmod(0)
    assert read(tmp_path / "x").kind is EntryKind.UNREADABLE


def test_a_tree_and_its_statuses_name_the_same_files(tmp_path: Path) -> None:
    """Reading all files below a folder, and only looking at them, yields the same paths."""
    for name in ("a", "b/c", "__pycache__/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    read_whole = {path: entry.kind for path, entry, _ in Reader(Work()).tree(str(tmp_path))}
    assert read_whole == {"a": EntryKind.FILE, "b/c": EntryKind.FILE}
    assert sorted(path for path, _ in statuses(str(tmp_path))) == ["a", "b/c"]


def test_work_that_was_asked_to_end_ends_within_a_file(tmp_path: Path) -> None:
    """A request to end is heeded between two blocks of one file, and between two files."""
    with (tmp_path / "x").open("wb") as file:
        file.truncate(8 * 1024 * 1024)
    work = Work()
    blocks = []

    def told(block: memoryview) -> None:
        blocks.append(len(block))
        work.end()

    with (tmp_path / "x").open("rb") as opened, pytest.raises(Interrupted):
        Reader(work).digest(opened.fileno(), 8 * 1024 * 1024, told=told)
    assert len(blocks) == 1
    with pytest.raises(Interrupted):
        work.next_file()


def test_progress_is_told_at_each_thousandth() -> None:
    """Whoever waits hears how many files were looked at, without hearing of every one."""
    heard: list[int] = []
    work = Work(heard.append)
    for _ in range(2500):
        work.next_file()
    assert heard == [1000, 2000]
