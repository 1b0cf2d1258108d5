"""Ways in which the promise was once broken, through the program itself; each stands for its class."""

import base64
import json
import os
from pathlib import Path

import pytest

from tests.cli.door import SIGNOFF, agent, finished, refused, run_signoff, start_signoff, write_contract


def test_a_check_that_passes_the_second_time_proves_nothing(work: Path) -> None:
    """A check that failed before and holds now, although nothing changed, completes nothing."""
    stateful = "test -e ../seen || { touch ../seen; exit 1; }"
    done = run_signoff("run", "--json", "--verify", stateful, "--max-repairs", "0", *agent(work, "true"), cwd=work)
    assert (done.code, done.json["reason"]) == (1, "nothing_changed")
    (work.parent / "seen").unlink()
    done = run_signoff("run", "--json", "--verify", stateful, "--allow-no-change", *agent(work, "true"), cwd=work)
    assert (done.code, done.json["status"]) == (0, "completed")


def test_a_contract_of_a_stranger_draws_nothing_on_the_terminal(work: Path) -> None:
    """`doctor` and messages show control characters of a project's file as what they are."""
    write_contract(
        work, '[[contract.command]]\nargv = ["\\u001b]0;pwned\\u0007x"]\n[agent]\ncommand = ["\\u001b[2Jy"]\n'
    )
    done = run_signoff("doctor", cwd=work)
    assert "\x1b" not in done.out + done.err
    assert "\\x1b" in done.out


def test_a_run_within_a_run_takes_nothing_from_it(work: Path) -> None:
    """An agent may check its own work with signoff: its changes count for the run around it."""
    signoff = SIGNOFF
    script = f"echo hello >out.txt; {signoff} check --verify true --json >/dev/null 2>&1"
    state = {"XDG_STATE_HOME": str(work.parent / "xdg"), "SIGNOFF_STATE_DIR": ""}
    done = run_signoff("run", "--json", "--verify", "test -s out.txt", *agent(work, script), cwd=work, env=state)
    assert (done.code, done.json["status"]) == (0, "completed"), done.err


@pytest.mark.parametrize("variable", ["receipt", "state"])
def test_a_place_that_is_no_text_is_refused(work: Path, variable: str) -> None:
    """A path that cannot be written down is refused before anything starts, not found out at the end."""
    odd = os.fsdecode(os.fsencode(str(work.parent)) + b"/r\xff")
    args = ("--receipt", odd) if variable == "receipt" else ()
    env = {"SIGNOFF_STATE_DIR": odd} if variable == "state" else {}
    refused(run_signoff("check", "--verify", "true", *args, "--json", cwd=work, env=env), "not valid Unicode", cwd=work)


def test_a_folder_that_is_gone_is_said(work: Path) -> None:
    """Standing in a folder that was removed is a usage error, like every other."""
    gone = work / "gone"
    gone.mkdir()
    program = ("sh", "-c", f'rmdir "{gone}"; exec "$0" "$@"', SIGNOFF)
    done = finished(start_signoff("check", "--verify", "true", cwd=gone, program=program))
    refused(done, "current folder cannot be used", cwd=work)


@pytest.mark.parametrize("name", ["~y", "~/z", "a b", "line\nbreak"])
def test_odd_names_verify(work: Path, name: str) -> None:
    """A receipt of a file with an odd name holds while the file is as it was, and no longer."""
    (work / name).parent.mkdir(exist_ok=True)
    (work / name).write_text("content\n")
    done = run_signoff("check", "--json", "--artifact", f"./{name}", "--receipt", "../r.json", cwd=work)
    assert done.code == 0, done.err
    assert run_signoff("receipt", "verify", "../r.json", cwd=work).code == 0
    (work / name).write_text("changed\n")
    assert run_signoff("receipt", "verify", "../r.json", cwd=work).code == 1


def test_a_statement_that_says_two_things_is_unreadable(work: Path) -> None:
    """A status that is there twice is refused: one reader would take the first, another the last."""
    run_signoff("check", "--verify", "false", "--receipt", "../r.json", cwd=work)
    receipt = json.loads((work.parent / "r.json").read_text())
    statement = base64.b64decode(receipt["payload"])
    forged = statement.replace(b'"status":"not_completed"', b'"status":"not_completed","status":"completed"')
    assert forged != statement
    receipt["payload"] = base64.b64encode(forged).decode()
    (work.parent / "r.json").write_text(json.dumps(receipt))
    done = run_signoff("receipt", "verify", "../r.json", cwd=work)
    assert (done.code, done.out, "more than once" in done.err) == (2, "", True)
