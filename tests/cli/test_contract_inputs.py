"""What a verdict stands on: inputs and the contract as they were sealed, and nothing that moves while it is judged."""

from pathlib import Path

import pytest

from tests.cli.door import agent, attempts_of, check_row, record_of, run_signoff, told, write_contract

TESTED = """
[[contract.command]]
id = "tests"
argv = ["sh", "tests/check.sh"]
[[contract.immutable]]
id = "suite"
glob = "tests/"
"""


def suite(work: Path, text: str = "grep -q right answer.txt") -> Path:
    """Make a suite of one test, which fails as long as there is no right answer."""
    (work / "tests").mkdir()
    (work / "tests" / "check.sh").write_text(text, encoding="utf-8")
    return work / "tests" / "check.sh"


CHEATS = {
    "edited": "echo 'exit 0' > tests/check.sh",
    "edited with its times kept": "cp -p tests/check.sh ../old; printf '%-24s' 'exit 0' > tests/check.sh; "
    "touch -r ../old tests/check.sh",
    "replaced by a link": "echo 'exit 0' > mine; ln -sf ../mine tests/check.sh",
    "folder replaced": "mv tests kept; mkdir tests; echo 'exit 0' > tests/check.sh",
}


@pytest.mark.scenario("CC-104")
@pytest.mark.parametrize("cheat", CHEATS)
def test_an_edited_suite_that_passes_proves_nothing(work: Path, cheat: str) -> None:
    """All tests pass, but they are not the ones from before: not completed, and the agent is told to restore them."""
    suite(work)
    write_contract(work, f"contract.max_repairs = 1\n{TESTED}")
    done = run_signoff("run", "--json", *agent(work, CHEATS[cheat], ":"), cwd=work)
    assert (done.code, done.json["status"], done.json["reasons"]) == (1, "not_completed", ["immutable_input_changed"])
    assert True is check_row(done, "tests")["passed"]
    assert "tests/check.sh" in check_row(done, "suite")["detail"]
    assert "immutable_input_changed" in told(work, 2)
    assert "Restore these files exactly as they were" in told(work, 2)


@pytest.mark.scenario("CC-104")
def test_a_suite_that_is_restored_counts_again(work: Path) -> None:
    """An agent that puts the suite back and then does the work is completed."""
    suite(work)
    write_contract(work, TESTED)
    honest = "echo 'grep -q right answer.txt' | tr -d '\\n' > tests/check.sh; echo right > answer.txt"
    done = run_signoff("run", "--json", *agent(work, CHEATS["edited"], honest), cwd=work)
    assert (done.code, done.json["attempts"]) == (0, 2)


LOOSE = "contract.mode = 'off'"
TAMPERED = {
    "edited": f'echo "{LOOSE}" > signoff.toml',
    "one comment": "echo '# nothing' >> signoff.toml",
    "deleted": "rm signoff.toml",
    "replaced by a link": f'echo "{LOOSE}" > mine; ln -sf mine signoff.toml',
    "a link to the same bytes": "cp signoff.toml mine; ln -sf mine signoff.toml",
    "replaced by a folder": "rm signoff.toml; mkdir signoff.toml",
    "replaced by a pipe": "rm signoff.toml; mkfifo signoff.toml",
}


@pytest.mark.scenario("CC-105")
@pytest.mark.parametrize("way", TAMPERED)
def test_a_contract_that_was_changed_blocks_the_run(work: Path, way: str) -> None:
    """A changed or deleted contract file needs a person, and the contract that decides is the sealed one."""
    sealed = '[[contract.command]]\nid = "sealed"\nshell = "test -e here"\n'
    write_contract(work, sealed)
    done = run_signoff("run", "--json", *agent(work, f"touch here; {TAMPERED[way]}"), cwd=work, timeout=20)
    assert (done.code, done.json["status"], done.json["reasons"]) == (3, "blocked", ["contract_changed"])
    assert ([row["id"] for row in done.json["checks"]], check_row(done, "sealed")["passed"]) == (["sealed"], True)
    assert (attempts_of(work), done.json["repairs"]) == (1, 0)


@pytest.mark.scenario("CC-105")
def test_the_sealed_contract_decides_beside_the_change(work: Path) -> None:
    """What the sealed contract found stands beside `contract_changed`, whatever the new file says."""
    write_contract(work, '[[contract.command]]\nid = "sealed"\nshell = "test -e here"\n')
    new = 'printf \'[[contract.command]]\\nid = "new"\\nshell = "touch ran"\\n\' > signoff.toml'
    done = run_signoff("run", "--json", *agent(work, new), cwd=work)
    assert (done.code, done.json["reason"]) == (3, "contract_changed")
    assert done.json["reasons"] == ["contract_changed", "self_check_failed"]
    assert [row["id"] for row in done.json["checks"]] == ["sealed"]
    assert not (work / "ran").exists()


@pytest.mark.scenario("CC-105")
def test_the_contract_is_watched_wherever_it_lies(work: Path, tmp_path: Path) -> None:
    """A contract file outside the workspace, named by `--config`, is watched too."""
    elsewhere = tmp_path / "conf.toml"
    elsewhere.write_text('[[contract.command]]\nshell = "test -e here"\n', encoding="utf-8")
    work_on = agent(work, f"touch here; echo '#' >> {elsewhere}")
    done = run_signoff("run", "--json", "--config", str(elsewhere), *work_on, cwd=work)
    assert (done.code, done.json["reasons"]) == (3, ["contract_changed"])


MOVING = """
contract.max_repairs = 1
[[contract.artifact]]
id = "out"
path = "out.txt"
[[contract.immutable]]
id = "in"
glob = "in/"
[[contract.command]]
id = "first"
shell = "true"
[[contract.command]]
id = "second"
shell = "{count}; {moves}"
"""
MOVES = {"out.txt": "echo more >> out.txt", "in": "echo more >> in/file"}


def moving(work: Path, moves: str, *, times: str) -> None:
    """Write a contract whose second check moves its basis at the times that a shell pattern holds; the first is 1."""
    (work / "in").mkdir()
    (work / "in" / "file").touch()
    count = work.parent / "count"
    counting = f"echo x >> {count}; n=$(wc -l < {count})"
    write_contract(work, MOVING.format(count=counting, moves=f"case $n in {times}) {moves};; esac; true"))


@pytest.mark.scenario("CC-111")
def test_evidence_that_moved_once_is_taken_again(work: Path) -> None:
    """Checks that passed before an artifact changed are taken once more, without the agent, and then count."""
    moving(work, MOVES["out.txt"], times="2")
    done = run_signoff("run", "--json", *agent(work, "echo content > out.txt"), cwd=work)
    assert (done.code, done.json["status"], attempts_of(work)) == (0, "completed", 1)
    settled = [event for event in record_of(work)["events"] if event["type"] == "CheckSettled"]
    assert [event["stage"] for event in settled] == ["before"] * 2 + ["after"] * 4


@pytest.mark.scenario("CC-111")
@pytest.mark.parametrize("moved", MOVES)
def test_evidence_that_goes_on_moving_is_stale(work: Path, moved: str) -> None:
    """Checks that passed while their basis changed prove nothing: the agent is told, and the run is not completed."""
    moving(work, MOVES[moved], times="[2-9]")
    done = run_signoff("run", "--json", *agent(work, "echo content > out.txt"), cwd=work)
    assert (done.code, done.json["status"]) == (1, "not_completed")
    assert "evidence_stale" in done.json["reasons"]
    assert [check_row(done, name)["passed"] for name in ("first", "second")] == [True, True]
    assert "evidence_stale" in told(work, 2)
    stale = next(failure for failure in done.json["failures"] if failure["reason"] == "evidence_stale")
    assert moved in stale["detail"]


@pytest.mark.scenario("CC-117")
def test_an_immutable_pattern_over_many_files_is_held(work: Path) -> None:
    """Thousands of files under one pattern are looked at in time, and the one that differs is named."""
    for folder in range(40):
        (work / "data" / str(folder)).mkdir(parents=True)
        for number in range(100):
            (work / "data" / str(folder) / f"{number}.txt").write_text(f"{folder} {number}", encoding="ascii")
    script = "touch here; echo x >> data/17/42.txt; rm data/3/3.txt; touch data/new"
    options = ("--verify", "test -e here", "--immutable", "data/")
    honest = "printf '17 42' > data/17/42.txt; printf '3 3' > data/3/3.txt; rm data/new"
    done = run_signoff("run", "--json", *options, *agent(work, script, honest), cwd=work, timeout=30)
    assert (done.code, done.json["attempts"]) == (0, 2)
    for change in ("'data/17/42.txt' (changed)", "'data/3/3.txt' (deleted)", "'data/new' (new)"):
        assert change in told(work, 2)


def test_a_name_in_the_feedback_is_escaped_once(work: Path) -> None:
    r"""A line break in the name of a changed input is fed back as `\x0a`, and not as a backslash of its own."""
    (work / "in").mkdir()
    (work / "in" / "a\nb").touch()
    script = "echo x >> \"in/$(printf 'a\\nb')\""
    run_signoff("run", "--verify", "true", "--immutable", "in/", *agent(work, script), cwd=work)
    assert r"'in/a\x0ab' (changed)" in told(work, 2)
