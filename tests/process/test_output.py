"""Draining: every byte is counted and hashed, the two ends are kept, and memory stays constant."""

import hashlib
import os
import tracemalloc
from collections.abc import Iterator

import pytest

from signoff.process.output import KEPT, Drain, Output
from tests.process.running import PYTHON, check

HALF = KEPT // 2


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Give a pipe that is read without waiting, and close its reading end."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    yield read_end, write_end
    os.close(read_end)


def drained(pipe: tuple[int, int], parts: list[bytes]) -> Output:
    """Write the parts one after the other, reading in between, and return the result."""
    read_end, write_end = pipe
    drain = Drain(read_end, None)
    for part in parts:
        for start in range(0, len(part), 4096):
            os.write(write_end, part[start : start + 4096])
            drain.take()
    os.close(write_end)
    drain.take_rest(1)
    assert not drain.open
    return drain.result()


def numbered(size: int) -> bytes:
    """Return bytes in which every place differs from its neighbours."""
    return b"".join(b"%07d\n" % number for number in range(size // 8 + 1))[:size]


@pytest.mark.parametrize("size", [0, 1, HALF - 1, HALF, HALF + 1, KEPT - 1, KEPT])
def test_short_output_is_kept_whole(pipe: tuple[int, int], size: int) -> None:
    """Up to 64 KiB, head holds everything and tail nothing."""
    text = numbered(size)
    digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
    assert drained(pipe, [text]) == Output(sha256=digest, size=size, head=text, tail=b"", truncated=False)


@pytest.mark.parametrize("size", [KEPT + 1, KEPT + HALF, 3 * KEPT + 17])
def test_long_output_keeps_its_two_ends(pipe: tuple[int, int], size: int) -> None:
    """Beyond 64 KiB, the first and the last 32 KiB are kept, and the digest covers what lies between."""
    text = numbered(size)
    digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
    expected = Output(sha256=digest, size=size, head=text[:HALF], tail=text[-HALF:], truncated=True)
    assert drained(pipe, [text]) == expected


def test_the_division_into_reads_changes_nothing(pipe: tuple[int, int]) -> None:
    """Many small writes give the same value as few large ones."""
    text = numbered(KEPT + 1000)
    parts = [text[start : start + 777] for start in range(0, len(text), 777)]
    output = drained(pipe, parts)
    assert (output.head, output.tail) == (text[:HALF], text[-HALF:])


def test_the_rest_is_read_up_to_a_bound(pipe: tuple[int, int]) -> None:
    """Reading the rest of a pipe that stays open ends when nothing is there, and does not wait."""
    read_end, write_end = pipe
    drain = Drain(read_end, None)
    os.write(write_end, b"x" * 5000)
    drain.take_rest(1_000_000)
    assert (drain.result().size, drain.open, drain.held()) == (5000, True, True)
    os.write(write_end, b"unread")
    os.close(write_end)
    assert not drain.held()


def test_a_pipe_that_refills_is_not_read_for_ever(pipe: tuple[int, int]) -> None:
    """The bound on the rest holds although somebody writes more after every read."""
    read_end, write_end = pipe
    drain = Drain(read_end, lambda chunk: os.write(write_end, chunk))
    os.write(write_end, b"x" * 1000)
    drain.take_rest(10_000)
    assert 10_000 <= drain.result().size <= 12_000
    os.close(write_end)


def test_256_mib_take_no_more_memory_than_a_little() -> None:
    """Memory does not grow with the output, and the digest covers every byte of it."""
    block = bytes(range(256)) * 256
    program = (
        "import os\nblock = bytes(range(256)) * 256\n"
        "for _ in range(4096):\n    rest = block\n    while rest: rest = rest[os.write(1, rest):]"
    )
    expected = hashlib.sha256()
    for _ in range(4096):
        expected.update(block)
    tracemalloc.start()
    try:
        ended = check(*PYTHON, program, timeout=120)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ended.output is not None
    assert ended.output.size == 256 * 1024 * 1024
    assert ended.output.sha256 == f"sha256:{expected.hexdigest()}"
    assert peak < 2 * 1024 * 1024


@pytest.mark.parametrize("text", [b"", b"no newline", bytes(range(256)), b"\xff\xfe\0\0", b"\r\x1b[2J"])
def test_any_bytes_are_kept_as_they_are(text: bytes) -> None:
    """Binary output, output without a newline and no output at all arrive unchanged."""
    ended = check(*PYTHON, f"import os; os.write(1, {text!r})")
    assert ended.output is not None
    assert (ended.output.head, ended.output.size, ended.exit_code) == (text, len(text), 0)


def test_a_listener_is_told_everything_in_bounded_chunks() -> None:
    """`on_output` gets every byte in order, in chunks of at most 64 KiB."""
    chunks: list[bytes] = []
    ended = check(*PYTHON, "import sys; sys.stdout.write('0123456789' * 100000)", on_output=chunks.append)
    assert b"".join(chunks) == b"0123456789" * 100000
    assert max(map(len, chunks)) <= 64 * 1024
    assert ended.listener_failures == 0


def test_a_failing_listener_does_not_stop_the_draining() -> None:
    """What a listener raises is counted and its first reason kept; the output is complete all the same."""

    def fail(chunk: bytes) -> None:
        raise BrokenPipeError(f"nobody wants {len(chunk)} bytes")

    ended = check("sh", "-c", "echo one", on_output=fail)
    assert ended.output is not None
    assert (ended.output.head, ended.exit_code) == (b"one\n", 0)
    assert ended.listener_failures == 1
    assert ended.listener_error == "BrokenPipeError: nobody wants 4 bytes"
