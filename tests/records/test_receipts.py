"""Receipts on disk: whole or not at all, never over something else, and read as hostile input."""

import base64
import json
import os
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.canonical import digest_bytes
from signoff.errors import ConfigError, ReceiptError
from signoff.records.envelope import MAX_BYTES, enveloped, opened
from signoff.records.receipt_file import ReceiptFile, read_receipt, require_writable_place


def written(path: Path, statement: bytes = b'{"a":1}') -> tuple[str, str]:
    """Write a receipt."""

    async def main() -> tuple[str, str]:
        return await ReceiptFile(str(path)).write(statement)

    return anyio.run(main)


def test_an_envelope_gives_back_its_statement_unsigned() -> None:
    """What was put in comes out, and an unsigned envelope has no signature."""
    assert opened(enveloped(b'{"b":2}')) == (b'{"b":2}', ())


@given(st.binary(max_size=300))
def test_anything_else_is_a_typed_error(data: bytes) -> None:
    """Whatever bytes are read as a receipt, the outcome is a statement or a `ReceiptError`."""
    try:
        opened(data)
    except ReceiptError:
        return
    raise AssertionError(data)


@pytest.mark.parametrize(
    "envelope",
    [
        {"payload": "!!", "payloadType": "application/vnd.in-toto+json", "signatures": []},
        {"payload": base64.b64encode(b"{}").decode(), "payloadType": "text/plain", "signatures": []},
        {"payload": "", "payloadType": "application/vnd.in-toto+json", "signatures": [], "more": 1},
        {"payload": 5, "payloadType": "application/vnd.in-toto+json"},
    ],
)
def test_an_envelope_of_another_form_is_refused(envelope: dict[str, object]) -> None:
    """Broken base64, another type, an unknown field, a wrong type: nothing is verified."""
    with pytest.raises(ReceiptError, match="nothing was verified"):
        opened(json.dumps(envelope).encode())


def test_a_key_that_is_there_twice_is_refused() -> None:
    """What one reader takes for the value another does not; such an envelope is none."""
    payload = base64.b64encode(b"{}").decode()
    text = f'{{"payload": "", "payload": "{payload}", "payloadType": "application/vnd.in-toto+json", "signatures": []}}'
    with pytest.raises(ReceiptError, match="more than once"):
        opened(text.encode())


def test_a_receipt_that_is_too_large_is_refused() -> None:
    """Reading is bounded."""
    with pytest.raises(ReceiptError, match="more than"):
        opened(b" " * (MAX_BYTES + 1))


def test_a_receipt_is_put_whole_and_leaves_no_other_file(tmp_path: Path) -> None:
    """The writer returns the path and the digest of the file's bytes, and no temporary file stays."""
    path, digest = written(tmp_path / "r.json")

    assert digest == digest_bytes(Path(path).read_bytes())
    assert [each.name for each in tmp_path.iterdir()] == ["r.json"]


def test_a_receipt_is_withdrawn_by_who_put_it_there_only(tmp_path: Path) -> None:
    """A writer takes back what it wrote, and nothing that it did not write."""
    path = tmp_path / "r.json"
    written(path)

    async def main() -> None:
        await ReceiptFile(str(path)).withdraw()
        assert path.exists()
        writer = ReceiptFile(str(path))
        await writer.write(b"{}")
        await writer.withdraw()
        await writer.withdraw()

    anyio.run(main)
    assert not path.exists()


def test_a_receipt_may_replace_a_receipt_and_nothing_else(tmp_path: Path) -> None:
    """An earlier receipt may be replaced; a file of the user's, a link, a folder or a FIFO is refused beforehand."""
    written(tmp_path / "r.json")
    require_writable_place(str(tmp_path / "r.json"))
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "r.json")
    os.mkfifo(tmp_path / "fifo")
    for name in ("mine.txt", "link", "fifo", "."):
        with pytest.raises(ConfigError, match="nothing was started"):
            require_writable_place(str(tmp_path / name))
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    """A folder that does not exist is said before anything starts."""
    with pytest.raises(ConfigError, match="does not exist"):
        require_writable_place(str(tmp_path / "no" / "r.json"))


def test_a_write_that_fails_leaves_the_old_receipt(tmp_path: Path) -> None:
    """When the new receipt cannot be put there, the old one is as it was."""
    path = tmp_path / "r.json"
    written(path)
    before = path.read_bytes()
    (tmp_path / f"r.json.{os.getpid()}.new").mkdir()
    with pytest.raises(ReceiptError, match="the verdict stands without it"):
        written(path, b'{"other":1}')

    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["fifo", "folder", "missing", "nul"])
def test_reading_never_waits_and_never_follows_what_is_no_file(tmp_path: Path, kind: str) -> None:
    """A FIFO, a folder or nothing at all is a clear error at once."""
    path = tmp_path / ("a\0b" if kind == "nul" else kind)
    if kind == "fifo":
        os.mkfifo(path)
    if kind == "folder":
        path.mkdir()
    with pytest.raises(ReceiptError, match="nothing was verified"):
        read_receipt(str(path))
