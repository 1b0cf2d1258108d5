"""Artifacts: what stands at a path counts only as a real, fresh, stable file of the workspace."""

import hashlib
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from tests.cli.door import agent, check_row, run_signoff, told, write_contract
from tests.process.running import wait_until


@pytest.mark.scenario("CC-023")
@pytest.mark.parametrize("by", ["option", "file"])
def test_an_expected_digest_decides(work: Path, by: str) -> None:
    """A file with other bytes than expected is a mismatch that names both digests; with those bytes it is accepted."""
    right, wrong = (f"sha256:{hashlib.sha256(text).hexdigest()}" for text in (b"right\n", b"wrong\n"))
    if by == "file":
        write_contract(work, f'[[contract.artifact]]\npath = "out.txt"\nsha256 = "{right}"\n')
    options = (f"--artifact=out.txt={right}",) if by == "option" else ()
    work_on = agent(work, "echo wrong > out.txt", "echo right > out.txt")
    done = run_signoff("run", "--json", *options, *work_on, cwd=work)
    assert (done.code, done.json["attempts"]) == (0, 2)
    assert right == check_row(done, "artifact-1")["sha256"]
    for words in ("artifact_hash_mismatch", right, wrong):
        assert words in told(work, 2)


@pytest.mark.scenario("CC-101")
@pytest.mark.parametrize("way", ["file", "folder above it", "chain", "relative"])
def test_a_link_out_of_the_workspace_is_no_artifact(work: Path, tmp_path: Path, way: str) -> None:
    """A link that leads out, itself or above the file, straight or by way of another, delivers nothing."""
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "out.txt").write_text("content\n", encoding="utf-8")
    script = {
        "file": f"mkdir a; ln -s {outside}/out.txt a/out.txt",
        "folder above it": f"ln -s {outside} a",
        "chain": f"mkdir a; ln -s {outside}/out.txt link; ln -s ../link a/out.txt",
        "relative": "mkdir a; ln -s ../../elsewhere/out.txt a/out.txt",
    }[way]
    work_on = agent(work, script, "rm -r a; mkdir a; echo content > a/real; ln -s real a/out.txt")
    done = run_signoff("run", "--json", "--artifact", "a/out.txt", *work_on, cwd=work)
    assert (done.code, done.json["status"], done.json["attempts"]) == (0, "completed", 2)
    assert "artifact_outside_workspace" in told(work, 2)


KINDS = {
    "empty": (": > out", "artifact_empty"),
    "white space": ("printf ' \\t\\r\\n\\n' > out", "artifact_empty"),
    "a byte order mark": ("printf '\\357\\273\\277\\n' > out", "artifact_empty"),
    "a folder": ("mkdir out; echo x > out/file", "artifact_not_a_file"),
    "a word": ("echo TODO > out", "artifact_placeholder"),
    "a comment": ("printf '# TBD\\n' > out", "artifact_placeholder"),
    "words": ("echo 'Coming soon...' > out", "artifact_placeholder"),
}


@pytest.mark.scenario("CC-102")
@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_no_content_is_no_artifact(work: Path, kind: str) -> None:
    """A blank file, a folder and a placeholder satisfy nothing, each with its own reason."""
    script, reason = KINDS[kind]
    done = run_signoff("run", "--json", "--artifact", "out", "--max-repairs=0", *agent(work, script), cwd=work)
    assert (1, "not_completed", [reason]) == (done.code, done.json["status"], done.json["reasons"])
    assert (False, reason) == (check_row(done, "artifact-1")["passed"], check_row(done, "artifact-1")["reason"])


def test_content_that_speaks_of_a_placeholder_is_an_artifact(work: Path) -> None:
    """The tests above fail for what the file is: a file with anything of its own is accepted."""
    script = "echo '# TODO list: buy milk' > out"
    done = run_signoff("run", "--json", "--artifact", "out", *agent(work, script), cwd=work)
    assert (done.code, done.json["attempts"]) == (0, 1)


REWRITE, CHANGE, LEAVE = "echo old > out.txt", "echo new > out.txt", "echo other > other.txt"
FRESH = [
    ("written", LEAVE, False),
    ("written", f"{LEAVE}; cat out.txt", False),
    ("written", REWRITE, True),
    ("written", CHANGE, True),
    ("changed", LEAVE, False),
    ("changed", REWRITE, False),
    ("changed", CHANGE, True),
    ("any", LEAVE, True),
]


@pytest.mark.scenario("CC-103")
@pytest.mark.parametrize(("fresh", "script", "accepted"), FRESH)
def test_a_file_from_before_is_stale(work: Path, fresh: str, script: str, accepted: bool) -> None:  # noqa: FBT001
    """A file that was there before must have been written, or changed, unless its age does not matter."""
    (work / "out.txt").write_text("old\n", encoding="utf-8")
    os.utime(work / "out.txt", (1_000_000_000, 1_000_000_000))
    line = "" if fresh == "written" else f'fresh = "{fresh}"'
    write_contract(work, f'contract.max_repairs = 0\n[[contract.artifact]]\npath = "out.txt"\n{line}\n')
    done = run_signoff("run", "--json", *agent(work, script), cwd=work)
    row = check_row(done, "artifact-1")
    assert (accepted, None if accepted else "artifact_stale") == (row["passed"], row["reason"])
    assert (0 if accepted else 1) == done.code


NAMES = ["grüße 日本語.txt", " a  b .txt", "line\nbreak.txt", "tab\tquote'\"$(x)`.txt", "-dash", "e\u0301.txt"]


@pytest.mark.scenario("CC-115")
def test_any_name_of_a_file_works(work: Path) -> None:
    """Unicode, spaces, line breaks and what shells love are names like others: as artifacts, inputs and in patterns."""
    (work / "in").mkdir()
    for name in NAMES:
        (work / "in" / name).write_text("as it was", encoding="utf-8")
    options = [f"--artifact=out/{name}" for name in NAMES]
    script = "mkdir -p out; cp in/* out; echo more >> \"in/$(printf 'line\\nbreak.txt')\""
    again = "cd in; for name in *; do printf 'as it was' > \"./$name\"; done"
    done = run_signoff("run", "--json", *options, "--immutable", "in/", *agent(work, script, again), cwd=work)
    assert (done.code, done.json["attempts"]) == (0, 2), done.out
    assert len([row for row in done.json["checks"] if row["kind"] == "artifact" and row["passed"]]) == len(NAMES)
    assert "immutable_input_changed" in told(work, 2)
    assert "break.txt" in told(work, 2)
    receipt = run_signoff("receipt", "verify", str(done.json["receipt"]), "--json", cwd=work)
    assert (0, len(NAMES)) == (receipt.code, receipt.json["subjects"])


@pytest.mark.scenario("CC-115")
def test_a_name_that_is_no_unicode_works(work: Path) -> None:
    """A file whose name is no UTF-8 is seen under an immutable pattern and by a pattern of artifacts."""
    write_contract(
        work,
        """
        contract.max_repairs = 1
        [[contract.artifact]]
        path = "out/*"
        glob = true
        [[contract.immutable]]
        glob = "in/"
        """,
    )
    (work / "in").mkdir()
    Path(os.fsdecode(b"%b/in/\xff\xfe" % os.fsencode(work))).write_bytes(b"x")
    script = 'mkdir -p out; cp in/* out; for name in in/*; do echo >> "$name"; done'
    again = 'for name in in/*; do printf x > "$name"; done'
    done = run_signoff("run", "--json", *agent(work, script, again), cwd=work)
    assert (done.code, done.json["attempts"]) == (0, 2), done.out + done.err
    assert "immutable_input_changed" in told(work, 2)


@pytest.mark.scenario("CC-116")
def test_a_pipe_is_refused_without_opening_it(work: Path) -> None:
    """A FIFO in an artifact's place is refused at once, and whoever waits at its other end goes on waiting."""
    os.mkfifo(work / "out")
    writer = subprocess.Popen(["sh", "-c", ": > waiting; echo content > out; : > opened"], cwd=work)
    try:
        assert wait_until((work / "waiting").exists)
        done = run_signoff("check", "--json", "--artifact", "out", cwd=work, timeout=20)
        assert (done.code, done.json["reasons"]) == (1, ["artifact_not_a_file"])
        assert writer.poll() is None
        reader = os.open(work / "out", os.O_RDONLY | os.O_NONBLOCK)
        assert wait_until((work / "opened").exists)
        os.close(reader)
    finally:
        writer.kill()
        writer.wait()


@pytest.mark.scenario("CC-116")
def test_a_socket_and_a_device_are_refused(work: Path) -> None:
    """A socket, and a device that would never end, are no artifacts, by name or by a link."""
    tables = ['path = "socket"', 'path = "/dev/zero"\nallow_outside = true', 'path = "link"\nallow_outside = true']
    write_contract(work, "".join(f"[[contract.artifact]]\n{table}\n" for table in tables))
    (work / "link").symlink_to("/dev/tty")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(work / "socket"))
        listening.listen()
        done = run_signoff("check", "--json", cwd=work, timeout=20)
    assert [(row["passed"], row["reason"]) for row in done.json["checks"]] == [(False, "artifact_not_a_file")] * 3


@pytest.mark.scenario("CC-207")
def test_a_file_that_changes_while_it_is_read_is_unstable(work: Path) -> None:
    """A file that somebody goes on writing to while it is hashed is not accepted, whatever it holds."""
    over = threading.Event()
    with (work / "out").open("wb") as file:
        file.write(b"content\n")
        file.truncate(64 * 1024 * 1024)

    def write() -> None:
        with (work / "out").open("ab", buffering=0) as file:
            while not over.wait(0.001):
                file.write(b"x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = run_signoff("check", "--json", "--artifact", "out", cwd=work)
    finally:
        over.set()
        writer.join()
    assert (done.code, done.json["status"]) == (1, "not_completed")
    assert check_row(done, "artifact-1")["reason"] == "artifact_unstable"
    assert run_signoff("check", "--artifact", "out", cwd=work).code == 0


BOUNDS = {
    "allow_empty": ('path = "empty"\nallow_empty = true', 'path = "empty"', "artifact_empty"),
    "allow_empty blank": ('path = "blank"\nallow_empty = true', 'path = "blank"', "artifact_empty"),
    "allow_empty missing": (
        'path = "empty"\nallow_empty = true',
        'path = "none"\nallow_empty = true',
        "required_artifact_missing",
    ),
    "min_bytes": ('path = "ten"\nmin_bytes = 10', 'path = "ten"\nmin_bytes = 11', "artifact_too_small"),
    "min_bytes of an empty file": (
        'path = "empty"\nallow_empty = true\nmin_bytes = 0',
        'path = "empty"\nallow_empty = true\nmin_bytes = 1',
        "artifact_too_small",
    ),
    "glob": (
        'path = "many/*.csv"\nglob = true\nmin_count = 3',
        'path = "many/*.csv"\nglob = true\nmin_count = 4',
        "required_artifact_missing",
    ),
    "glob with one": (
        'path = "many/a.*"\nglob = true',
        'path = "many/z.*"\nglob = true',
        "required_artifact_missing",
    ),
    "every match is judged": (
        'path = "many/*.csv"\nglob = true\nmin_bytes = 4',
        'path = "many/*.csv"\nglob = true\nmin_bytes = 5',
        "artifact_too_small",
    ),
    "directory": ('path = "many"\ndirectory = true', 'path = "many"', "artifact_not_a_file"),
    "directory that is a file": (
        'path = "many"\ndirectory = true',
        'path = "ten"\ndirectory = true',
        "artifact_not_a_file",
    ),
    "directory that is empty": (
        'path = "hollow"\ndirectory = true\nallow_empty = true',
        'path = "hollow"\ndirectory = true',
        "artifact_empty",
    ),
    "directory of a size": (
        'path = "many"\ndirectory = true\nmin_bytes = 15',
        'path = "many"\ndirectory = true\nmin_bytes = 16',
        "artifact_too_small",
    ),
}


@pytest.mark.scenario("CC-208")
@pytest.mark.parametrize("bound", BOUNDS)
def test_each_bound_is_kept_to_the_last_one(work: Path, bound: str) -> None:
    """What is just at its bound is accepted, and what is just below it is not, for the reason of that bound."""
    for name, text in (("empty", ""), ("blank", " \n"), ("ten", "0123456789")):
        (work / name).write_text(text, encoding="utf-8")
    (work / "hollow").mkdir()
    (work / "many").mkdir()
    for name, text in (("a.csv", "1,2\n"), ("b.csv", "1,2,3\n"), ("c.csv", "1,23\n")):
        (work / "many" / name).write_text(text, encoding="utf-8")
    at, below, reason = BOUNDS[bound]
    write_contract(work, f"[[contract.artifact]]\n{at}\n")
    accepted = run_signoff("check", "--json", cwd=work)
    assert (accepted.code, accepted.json["status"], accepted.json["reasons"]) == (0, "completed", [])
    write_contract(work, f"[[contract.artifact]]\n{below}\n")
    rejected = run_signoff("check", "--json", cwd=work)
    assert (1, "not_completed", [reason]) == (rejected.code, rejected.json["status"], rejected.json["reasons"])
