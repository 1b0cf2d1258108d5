"""What cannot be used is named and refused: exit 2, nothing started, nothing overwritten."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.door import SIGNOFF, Done, agent, environment, run_signoff

STARTS = ("--", "touch", "started")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--cwd", "none"), '--cwd "none"'),
        (("--cwd", "file"), '--cwd "file"'),
        (("--cwd", " "), "--cwd is blank"),
        (("--config", "none.toml"), "none.toml"),
        (("--config", "."), "is no plain file"),
        (("--timeout", "5y"), '--timeout is "5y"'),
        (("--timeout", "0"), '--timeout is "0"'),
        (("--timeout", "-3"), '--timeout is "-3"'),
        (("--timeout", ""), "--timeout"),
        (("--timeout", "nan"), "--timeout"),
        (("--timeout", "1e3s"), "--timeout"),
        (("--timeout", "9" * 400), "--timeout"),
        (("--attempt-timeout", "soon"), "--attempt-timeout"),
        (("--max-repairs", "-1"), "--max-repairs"),
        (("--max-repairs", "1.5"), "--max-repairs"),
        (("--no-progress", "0"), "--no-progress"),
        (("--verify", ""), "--verify"),
        (("--artifact", ""), "--artifact"),
        (("--artifact", "../elsewhere"), "../elsewhere"),
        (("--artifact", "a=sha256:12"), "sha256"),
        (("--immutable", "no-such-file"), "no-such-file"),
        (("--report", "tap"), "--report tap"),
        (("--model", "provider:name"), "--model"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(args: tuple[str, ...], words: str, work: Path) -> None:
    """The message names the option and what is wrong with it, within bounds."""
    (work / "file").touch()
    done = run_signoff("run", "--verify", "true", *args, *STARTS, cwd=work)
    assert (done.code, done.out, words in done.err, "Traceback" in done.err) == (2, "", True, False), done.err
    assert (list(work.iterdir()), len(done.err) < 2_000) == ([work / "file"], True)


def a_folder(path: Path) -> None:
    """A folder stands there."""
    path.mkdir()


def a_fifo(path: Path) -> None:
    """A pipe stands there, which nobody writes."""
    os.mkfifo(path)


def a_text(path: Path) -> None:
    """A file that is no receipt stands there."""
    path.write_text("precious", encoding="utf-8")


def a_link_to_a_text(path: Path) -> None:
    """A link to a file that is no receipt stands there."""
    (path.parent / "text").write_text("precious", encoding="utf-8")
    path.symlink_to("text")


def a_dangling_link(path: Path) -> None:
    """A link to nothing stands there."""
    path.symlink_to("none")


@pytest.mark.parametrize("make", [a_folder, a_fifo, a_text, a_link_to_a_text, a_dangling_link])
def test_a_receipt_is_put_over_nothing_else(make: Callable[[Path], None], work: Path) -> None:
    """A place where something other than a receipt stands is refused before the agent starts, and stays as it is."""
    path = work.parent / "receipt.json"
    make(path)
    before = path.lstat()
    done = run_signoff("run", "--verify", "true", "--receipt", str(path), *STARTS, cwd=work)
    assert (done.code, done.out, str(path) in done.err, "Traceback" in done.err) == (2, "", True, False), done.err
    assert (path.lstat().st_ino, path.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(work.iterdir()) == []
    if make in {a_text, a_link_to_a_text}:
        assert path.read_text(encoding="utf-8") == "precious"
    assert not (path.parent / "none").exists()


@pytest.mark.parametrize("place", ["none/receipt.json", "file/receipt.json"])
def test_a_receipt_needs_a_folder(place: str, work: Path) -> None:
    """A place in a folder that is not there, or is a file, is refused before the agent starts."""
    (work.parent / "file").touch()
    done = run_signoff("run", "--verify", "true", "--receipt", f"../{place}", *STARTS, cwd=work)
    assert (done.code, done.out, "receipt's folder" in done.err, list(work.iterdir())) == (2, "", True, []), done.err


def test_a_receipt_that_cannot_be_put_is_said_beside_the_verdict(work: Path) -> None:
    """An agent that puts something in the receipt's place loses the receipt; the verdict stands, with a warning."""
    args = ("run", "--json", "--artifact", "a", "--receipt", "../kept/receipt.json")
    (work.parent / "kept").mkdir()
    done = run_signoff(*args, *agent(work, "echo 1 >a; mkdir -p ../kept/receipt.json/in"), cwd=work)
    assert (done.code, done.json["receipt"]) == (0, None), done.err
    assert [warning for warning in done.json["warnings"] if warning.startswith("no receipt: ")]


def test_a_receipt_may_replace_a_receipt(work: Path) -> None:
    """The same command can be typed again: what stands there is a receipt."""
    (work / "a").touch()
    for _ in range(2):
        done = run_signoff("check", "--verify", "true", "--receipt", "../receipt.json", cwd=work)
        assert (done.code, (work.parent / "receipt.json").is_file()) == (0, True), done.err


def test_without_bash_a_shell_check_is_refused(work: Path) -> None:
    """A machine without bash cannot take such a check: nothing starts, bash is named, and `doctor` says it, too."""
    programs = work.parent / "programs"
    programs.mkdir()
    for name in ("sh", "touch"):
        (programs / name).symlink_to(str(shutil.which(name)))
    done = run_signoff("run", "--json", "--verify", "true", *STARTS, cwd=work, env={"PATH": str(programs)})
    assert (done.code, done.out) == (2, "")
    assert "no bash is on the checks' PATH; nothing was started" in done.err
    doctor = run_signoff("doctor", cwd=work, env={"PATH": str(programs)})
    assert (doctor.code, "fault    bash" in doctor.out, "mend:" in doctor.out) == (1, True, True)


def test_a_file_system_is_no_workspace(work: Path) -> None:
    """The root folder is refused before anything in it is read."""
    done = run_signoff("check", "--verify", "true", "--cwd", "/", cwd=work)
    assert (done.code, "the whole file system" in done.err) == (2, True), done.err


def typed(line: str, work: Path) -> Done:
    """Run a shell line in which `signoff` is the program."""
    done = subprocess.run(
        ["bash", "-c", f'signoff() {{ "{SIGNOFF}" "$@"; }}; {line}'],
        cwd=work,
        env=environment(work),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("signoff check --verify true >&-", 0),
        ("signoff check --verify true 2>&-", 0),
        ("signoff check --verify false <&- >&- 2>&-", 1),
        ("signoff check --verify true 2>/dev/full", 0),
        ("signoff check --verify true >/dev/full", 1),
        ("signoff check --json --verify true >/dev/full", 1),
        ("signoff runs >/dev/full", 1),
        ("signoff run --goal-file - --allow-no-change --verify true -- true <&-", 0),
        ("PYTHONIOENCODING=ascii signoff check --verify 'echo ü; exit 3'", 1),
        (r"LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 signoff check --verify 'printf \303\274; exit 3'", 1),
        ("signoff check --verify true | true; exit ${PIPESTATUS[0]}", 1),
    ],
)
def test_streams_that_are_closed_full_or_narrow_end_clearly(line: str, code: int, work: Path) -> None:
    """A verdict that reached nobody is no success; a stream that nobody needs changes nothing; no traceback."""
    done = typed(line, work)
    assert (done.code, "Traceback" in done.err, "Exception ignored" in done.err) == (code, False, False), done.err
    assert run_signoff("runs", cwd=work).code == 0


def test_a_closed_stream_does_not_reach_the_records(work: Path) -> None:
    """What would be written to a closed stream does not land in the files that the run opens."""
    done = typed("signoff run --artifact out.txt -- sh -c 'echo noise; echo 1 >out.txt' <&- >&- 2>&-", work)
    assert done.code == 0
    assert run_signoff("show", "latest", "--json", cwd=work).json["result"]["status"] == "completed"


def test_a_workspace_that_is_deleted_meanwhile_blocks(work: Path) -> None:
    """An agent that removes the workspace leaves nothing to look at: never completed, and a clear end."""
    done = run_signoff("run", "--json", "--verify", "true", *agent(work, 'rm -rf "$PWD"'), cwd=work)
    assert (done.code in {1, 3}, done.json["status"] in {"blocked", "not_completed"}) == (True, True), done.out
    assert "Traceback" not in done.err
