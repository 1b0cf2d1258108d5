"""The contract's own file: any change of it is noticed, however it is made."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.core.canonical import digest_bytes
from signoff.errors import ConfigError
from signoff.verifiers.files import Reader, Work
from signoff.verifiers.sealed import SealedFile

SEALED = b"[contract]\n"


def replaced_by_a_link(path: Path) -> None:
    """Put a link to a file with the same bytes in its place."""
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def replaced_by_a_fifo(path: Path) -> None:
    """Put a FIFO in its place."""
    path.unlink()
    os.mkfifo(path)


def replaced_by_a_folder(path: Path) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def edited_with_its_time_kept(path: Path) -> None:
    """Change a byte and put size and time back."""
    status = path.stat()
    path.write_bytes(SEALED.replace(b"c", b"k", 1))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


ACTS: list[Callable[[Path], None]] = [
    Path.unlink,
    edited_with_its_time_kept,
    replaced_by_a_fifo,
    replaced_by_a_folder,
    replaced_by_a_link,
]


@pytest.mark.parametrize("act", ACTS)
def test_every_change_is_noticed(act: Callable[[Path], None], tmp_path: Path) -> None:
    """Edited, deleted or replaced by anything else, the file is another one."""
    path = tmp_path / "signoff.toml"
    path.write_bytes(SEALED)
    sealed, reader = SealedFile(str(path), digest_bytes(SEALED)), Reader(Work())
    assert not sealed.changed(reader)
    act(path)
    assert sealed.changed(reader)


def test_a_file_that_was_a_link_may_stay_one(tmp_path: Path) -> None:
    """A link from the start is no change; another target or other bytes behind it are."""
    (tmp_path / "real").write_bytes(SEALED)
    (tmp_path / "copy").write_bytes(SEALED)
    path = tmp_path / "signoff.toml"
    path.symlink_to("real")
    sealed, reader = SealedFile(str(path), digest_bytes(SEALED)), Reader(Work())
    assert not sealed.changed(reader)
    (tmp_path / "real").write_bytes(b"other")
    assert sealed.changed(reader)
    (tmp_path / "real").write_bytes(SEALED)
    path.unlink()
    path.symlink_to("copy")
    assert sealed.changed(reader)


def test_a_change_before_the_first_look_is_noticed(tmp_path: Path) -> None:
    """What was sealed is the digest, not what is found at first."""
    (tmp_path / "signoff.toml").write_bytes(b"other")
    assert SealedFile(str(tmp_path / "signoff.toml"), digest_bytes(SEALED)).changed(Reader(Work()))


def test_without_a_file_nothing_can_change() -> None:
    """A contract that came from elsewhere has no file to watch; a file without its digest is refused."""
    assert not SealedFile(None, None).changed(Reader(Work()))
    with pytest.raises(ConfigError, match="give both"):
        SealedFile("signoff.toml", None)
