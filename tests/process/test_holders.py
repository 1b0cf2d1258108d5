"""Who holds a pipe, in words that are safe to show."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signoff.process import holders


@contextmanager
def holding(pipe_end: int, *argv: str) -> Iterator[int]:
    """Run a program that holds the pipe, and kill it afterwards."""
    process = subprocess.Popen(argv, stdout=pipe_end, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Give a pipe, and close it."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_holders_are_named_and_this_process_is_not(pipe: tuple[int, int]) -> None:
    """Every other process that holds the pipe is named by number and command line."""
    with holding(pipe[1], "sleep", "3599") as first, holding(pipe[1], "sleep", "3598") as second:
        names = {f"pid {first} (sleep 3599)", f"pid {second} (sleep 3598)"}
        assert set(holders.holders_of(pipe[0])) == names


def test_a_long_command_line_is_cut(pipe: tuple[int, int]) -> None:
    """A name has 200 characters at most."""
    with holding(pipe[1], "sleep", "3597", *["0"] * 500):
        (name,) = holders.holders_of(pipe[0])
    assert len(name) == 200
    assert name.endswith("…)")


def test_a_command_line_cannot_draw(pipe: tuple[int, int]) -> None:
    """Control characters, direction marks and broken text in a command line are shown, not obeyed."""
    program = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)", "\x1b[2J\r\n\u202e \udcff"]
    process = subprocess.Popen(program, stdout=pipe[1])
    try:
        (name,) = holders.holders_of(pipe[0])
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert name.isprintable()
    assert "\\x1b[2J\\r\\n\\u202e \\xff" in name


def test_a_holder_that_cannot_be_seen_is_said_to_exist(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process may be looked into, or none is listed, the answer is a sentence."""
    assert holders.holders_of(pipe[0]) == ("a process that cannot be named: this account may not look into it",)
    monkeypatch.setattr(holders, "_PROC", Path("/nonexistent"))
    expected = ("a process that cannot be named: this system does not list its processes",)
    assert holders.holders_of(pipe[0]) == expected


def test_a_foreign_process_list_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A /proc that belongs to another process namespace would name and kill the wrong ones, so it counts as none."""
    (tmp_path / "self").symlink_to(str(os.getpid() + 1))
    monkeypatch.setattr(holders, "_PROC", tmp_path)
    assert not holders.listed()
    assert list(holders.members(os.getsid(0))) == []


def test_the_program_cannot_forge_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program named like the fields of the list is no member of another session, nor is a leader or a zombie."""
    (tmp_path / "self").symlink_to(str(os.getpid()))
    for pid, line in (
        (77, "77 (x) R 1 5 5) S 1 77 77 0 -1"),
        (78, "78 (y) S 1 78 5 0 -1"),
        (79, "79 (z) Z 1 5 5 0 -1"),
        (5, "5 (leader) S 1 5 5 0 -1"),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(line)
    monkeypatch.setattr(holders, "_PROC", tmp_path)
    assert list(holders.members(5)) == [holders.Process(78, "S", 78, 5)]
