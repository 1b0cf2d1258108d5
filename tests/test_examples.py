"""The examples do what they say, started by the command lines that they name themselves."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.door import Done
from tests.shells import ROOT, typed

EXAMPLES = ROOT / "examples"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a copy of the examples, so that the command lines of their headers fit."""
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    return folder


def header_line(path: Path) -> str:
    """Return the `signoff run` line of an example's header, with its continued lines joined."""
    text = re.sub(r"^#", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = re.search(r"^ *(signoff run (?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert found is not None, f"{path.name} does not say how it is run"
    return found[1].replace("\\\n", " ")


@pytest.mark.scenario("CL-001")
def test_the_quickstart_is_explained_and_can_be_repeated(project: Path) -> None:
    """Twice in one folder: a false claim is rejected by name, the second attempt completes, the receipt verifies."""
    command = "signoff run --cwd examples/quickstart"
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")
    for _ in range(2):
        done = typed(command, cwd=project, timeout=60)  # the promise is: in under a minute
        assert (done.code, done.out.splitlines()[0].split(" - ")[0]) == (0, "completed"), done.err
        assert "2 attempts, 1 repair" in done.out.splitlines()[0]
        assert re.search(r"rejected: .*artifact-1 .*; fed back", done.err), done.err
        assert {"totals", "artifact-1"} <= set(done.out.split())
        receipt = re.search(r"^  receipt: (.*)$", done.out, re.MULTILINE)
        assert receipt is not None
        verified = typed(f"signoff receipt verify '{receipt[1]}' --root examples/quickstart", cwd=project)
        assert (verified.code, "holds" in verified.out) == (0, True), verified.out


@pytest.mark.parametrize(("name", "made"), [("shell_agent.sh", "greeting.txt"), ("python_agent.py", "settings.json")])
def test_an_agent_of_the_examples_completes_on_its_second_attempt(name: str, made: str, project: Path) -> None:
    """The line in the header runs as it stands, where it says, and ends completed after the host's feedback."""
    done = typed(header_line(EXAMPLES / name), cwd=project)
    assert (done.code, "2 attempts" in done.out) == (0, True), done.err
    assert (project / made).read_text(encoding="utf-8").strip() != ""
    assert "agent | " in done.err


def checked(project: Path, contract: str) -> tuple[Done, dict[str, object]]:
    """Run the CI example in a project with this contract; return what it did and the result it kept."""
    (project / "signoff.toml").write_text(contract, encoding="utf-8")
    done = typed("sh examples/ci/check.sh ../result.json", cwd=project)
    result: dict[str, object] = json.loads((project.parent / "result.json").read_bytes())
    return done, result


def test_ci_passes_a_project_whose_checks_hold(project: Path) -> None:
    """The job ends 0, keeps the result, and names each requirement."""
    (project / "report.txt").write_text("12 tests\n", encoding="utf-8")
    contract = '[[contract.command]]\nid = "report"\nargv = ["test", "-s", "report.txt"]\n'
    done, result = checked(project, contract)
    assert (done.code, result["status"], "  report: passed\n" in done.out) == (0, "completed", True), done.err


def test_ci_fails_a_project_whose_checks_do_not_hold(project: Path) -> None:
    """The job ends with signoff's exit code, and says which requirement failed and why."""
    contract = '[[contract.command]]\nid = "report"\nargv = ["test", "-s", "report.txt"]\n'
    done, result = checked(project, contract)
    assert (done.code, result["status"]) == (1, "not_completed"), done.err
    assert "  report: The check exited with 1.\n" in done.out


def test_the_workflow_runs_the_script_that_is_there() -> None:
    """What the example of a workflow calls is the example that is tested here."""
    workflow = (EXAMPLES / "ci" / "check.yml").read_text(encoding="utf-8")
    assert "run: sh ci/check.sh" in workflow
    assert (EXAMPLES / "ci" / "check.sh").is_file()
