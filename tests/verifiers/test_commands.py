"""Running a validation command: how it ended is told as it was, whatever it prints and wherever it runs."""

import hashlib
import os
import sys
from pathlib import Path

import anyio
import pytest

from signoff.core.completion.contract import ReportFormat, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, TestReport
from signoff.core.goal.events import Stage
from signoff.errors import SignoffError
from signoff.process import KEPT, Ended, Output
from signoff.testing.fake_clock import START
from signoff.verifiers import HostVerifier, Told, WorkspaceOptions
from signoff.verifiers.commands import _exit_code, output_facts
from tests.verifiers.looking import Bench, remove_deep

GOOD = '<testsuite><testcase classname="m" name="a"/></testsuite>'


def shell(text: str, **more: object) -> ValidationCommand:
    """Return a check that is a shell string."""
    return ValidationCommand(id="check", shell=text, **more)  # type: ignore[arg-type]


def python(text: str, *words: str, **more: object) -> ValidationCommand:
    """Return a check that is a line of Python, with the interpreter given by its path."""
    return ValidationCommand(id="check", argv=(sys.executable, "-I", "-S", "-c", text, *words), **more)  # type: ignore[arg-type]


def run(root: Path, command: ValidationCommand, **host: str) -> CheckEvidence:
    """Run one check in a folder, on a host with a plain environment and what else is given."""
    return Bench(root, environment={"PATH": os.environ["PATH"], **host}).check(command)


def head(evidence: CheckEvidence) -> str:
    """Return what a check that was started printed first."""
    assert evidence.output is not None
    return evidence.output.head


def test_the_exit_status_is_told_and_the_words_mean_nothing(tmp_path: Path) -> None:
    """A command that prints PASS and exits 7 ended with 7; its output is a digest and two ends."""
    evidence = run(tmp_path, shell("echo PASS; exit 7"))
    assert (evidence.command_id, evidence.exit_code, evidence.started) == ("check", 7, True)
    assert evidence.output is not None
    assert evidence.output.sha256 == f"sha256:{hashlib.sha256(os.fsencode('PASS') + bytes([10])).hexdigest()}"
    assert (evidence.output.size, evidence.output.head, evidence.output.tail) == (5, "PASS\n", "")
    assert evidence.observed_at.startswith(START[:19])


@pytest.mark.parametrize(("text", "code"), [("true", 0), ("false | cat", 1), ("exit 3", 3), ("kill -9 $$", 137)])
def test_a_shell_string_runs_in_bash_with_pipefail(text: str, code: int, tmp_path: Path) -> None:
    """A failure anywhere in a pipe is one; a death by signal is 128 and its number."""
    assert run(tmp_path, shell(text)).exit_code == code


def test_a_missing_program_is_told_from_one_that_exits_127(tmp_path: Path) -> None:
    """Without a process there is no output; with one there is, whatever its status."""
    missing = run(tmp_path, ValidationCommand(id="check", argv=("no-such-program",)))
    assert (missing.exit_code, missing.output, missing.started) == (127, None, False)
    assert "no-such-program" in missing.error
    inside = run(tmp_path, shell("no-such-program"))
    assert (inside.exit_code, inside.started, inside.error) == (127, True, "")


def test_without_bash_a_shell_string_is_not_started(tmp_path: Path) -> None:
    """The mend is named: another way to give the check."""
    empty = tmp_path / "bin"
    empty.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    evidence = run(root, shell("true"), PATH=str(empty))
    assert (evidence.exit_code, evidence.started) == (127, False)
    assert "needs bash" in evidence.error


@pytest.mark.parametrize("bound", [False, True])
def test_a_check_that_takes_too_long_is_124(bound: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """It is ended, its output so far is kept, and whose limit it was is told."""
    b = Bench(tmp_path)
    evidence = b.check(shell("echo begun; sleep 1000"), timeout_seconds=0.5, deadline_bound=bound)
    assert (evidence.exit_code, evidence.timed_out, evidence.cut_by_deadline) == (124, True, bound)
    assert head(evidence) == "begun\n"
    assert not b.check(shell("true"), deadline_bound=bound).cut_by_deadline


def test_who_holds_the_output_is_named(tmp_path: Path) -> None:
    """A process that the command left behind with its output open is named when the time is over."""
    evidence = Bench(tmp_path).check(shell("sleep 1000 & exit 0"), timeout_seconds=0.5)
    assert (evidence.exit_code, evidence.timed_out) == (124, True)
    assert len(evidence.held_by) == 1
    if sys.platform == "linux":
        assert "sleep 1000" in evidence.held_by[0]


def test_standard_input_is_empty(tmp_path: Path) -> None:
    """A command that reads its input sees the end of it at once."""
    assert head(run(tmp_path, shell("cat; echo over"))) == "over\n"


def test_a_check_runs_in_its_folder(tmp_path: Path) -> None:
    """The folder is the workspace unless the check names one in it; links inside are followed."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    root = os.path.realpath(tmp_path)
    assert head(run(tmp_path, shell("pwd -P"))) == f"{root}\n"
    assert head(run(tmp_path, shell("pwd -P", cwd="sub"))) == f"{root}/sub\n"
    assert head(run(tmp_path, shell("pwd -P", cwd="link"))) == f"{root}/sub\n"


@pytest.mark.parametrize(
    ("cwd", "words"), [("out", "leads out of the workspace"), ("gone", "is not there"), ("file", "is not there")]
)
def test_a_folder_that_cannot_be_used_starts_nothing(cwd: str, words: str, tmp_path: Path) -> None:
    """A folder that leads out by a link, that does not exist or is none is named, and nothing is run."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to("..")
    (root / "file").touch()
    evidence = run(root, shell("touch ../ran", cwd=cwd))
    assert (evidence.exit_code, evidence.started) == (127, False)
    assert words in evidence.error
    assert cwd in evidence.error
    assert not (tmp_path / "ran").exists()


def test_the_host_may_permit_a_folder_outside(tmp_path: Path) -> None:
    """With the host's word the check runs where it leads."""
    root = tmp_path / "root"
    root.mkdir()
    evidence = run(root, shell("pwd -P", cwd="..", allow_outside=True))
    assert head(evidence) == f"{os.path.realpath(tmp_path)}\n"


def test_the_environment_is_the_short_list(tmp_path: Path) -> None:
    """What could make a failing check pass is left out and named; what the check names is given."""
    (tmp_path / "env.sh").write_text("exit 0\n")
    evidence = run(
        tmp_path,
        shell("echo $ASKED $OWN; exit 4", env={"OWN": "own"}, pass_env=("ASKED", "ABSENT")),
        BASH_ENV=str(tmp_path / "env.sh"),
        TOKEN="secret",
        ASKED="asked",
    )
    assert (evidence.exit_code, head(evidence)) == (4, "asked own\n")
    assert set(evidence.left_out) >= {"BASH_ENV", "TOKEN", "ABSENT (not set)"}
    assert "secret" not in repr(evidence)


def test_an_argument_is_one_argument(tmp_path: Path) -> None:
    """Words of argv reach the program as they are, with no shell between."""
    words = ("a b", "$HOME", "'", '"', "*", "new\nline", "{report}")
    evidence = run(tmp_path, python("import sys; print(sys.argv[1:])", *words))
    assert head(evidence) == f"{list(words)}\n"


def test_output_is_visible_and_bounded(tmp_path: Path) -> None:
    """Sequences become escapes; of much output both ends are kept, 64 KiB together, and every byte is in the digest."""
    assert head(run(tmp_path, python(r"print('\x1b[2Jx\r')"))) == "\\x1b[2Jx\n"
    count = 3_000_000
    evidence = run(tmp_path, python(f"import sys; sys.stdout.write('a' + '\\x1b' * {count} + 'z')"))
    output = evidence.output
    assert output is not None
    assert (output.size, output.truncated) == (count + 2, True)
    assert output.sha256 == f"sha256:{hashlib.sha256(b'a' + bytes([27]) * count + b'z').hexdigest()}"
    assert output.head.startswith("a\\x1b")
    assert output.tail.endswith("\\x1bz")
    assert len(output.head.encode()) + len(output.tail.encode()) <= KEPT


@pytest.mark.parametrize("size", [0, 1, KEPT // 4, KEPT // 4 + 1, KEPT])
def test_output_that_grows_when_it_is_made_visible_is_still_bounded(size: int) -> None:
    """Where escapes take more room than there is, the middle is dropped, and that is said."""
    output = Output(sha256="sha256:" + "0" * 64, size=size, head=b"\x1b" * size, tail=b"", truncated=False)
    facts = output_facts(output)
    assert facts.truncated is (size * 4 > KEPT)
    assert len((facts.head + facts.tail).encode()) <= KEPT
    assert facts.truncated or facts.head == "\\x1b" * size


def test_output_is_told_as_it_comes(tmp_path: Path) -> None:
    """Who listens hears the id of the check and the bytes."""
    heard: list[tuple[str, bytes]] = []
    b = Bench(tmp_path)
    options = WorkspaceOptions(
        root=str(b.root), contract=b.contract, report_folder=str(b.reports), host_environment=os.environ
    )
    told = Told(on_output=lambda name, data: heard.append((name, data)))
    b.port = HostVerifier(options, clock=b.clock, told=told)
    b.check(shell("echo out; echo err >&2"))
    assert {name for name, _ in heard} == {"check"}
    assert b"".join(data for _, data in heard) == b"out\nerr\n"


def reporting(text: str, **more: object) -> ValidationCommand:
    """Return a check of which a report is asked."""
    return shell(text, report=ReportFormat.JUNIT, **more)


def test_a_report_is_read_and_removed(tmp_path: Path) -> None:
    """The command is told where to write; what it wrote is counted, and nothing of it is left."""
    b = Bench(tmp_path / "root")
    b.root.mkdir()
    evidence = b.check(reporting(f"echo '{GOOD}' > \"$SIGNOFF_REPORT_FILE\""))
    assert (evidence.exit_code, evidence.report, evidence.report_fault) == (0, TestReport(passed=("m::a",)), "")
    assert list(b.reports.iterdir()) == []


def test_the_place_of_a_report_is_put_into_arguments(tmp_path: Path) -> None:
    """`{report}` in a word becomes the path."""
    text = "import sys; open(sys.argv[1].removeprefix('--out='), 'w').write(sys.argv[2])"
    command = python(text, "--out={report}", GOOD, report=ReportFormat.JUNIT)
    assert run(tmp_path, command).report == TestReport(passed=("m::a",))


def test_the_place_of_a_report_cannot_be_known_beforehand(tmp_path: Path) -> None:
    """It is another one each time, outside of the workspace, in a folder of the host's own; no check can set it."""
    b = Bench(tmp_path / "root")
    b.root.mkdir()
    text = 'echo "$SIGNOFF_REPORT_FILE"; ls -ld "$(dirname "$SIGNOFF_REPORT_FILE")"'
    seen = [head(b.check(reporting(text, env={"SIGNOFF_REPORT_FILE": "report.xml"}))) for _ in range(2)]
    paths = [lines.splitlines()[0] for lines in seen]
    assert len(set(paths)) == 2
    assert all(Path(path).parent.parent == b.reports and len(Path(path).parent.name) == 32 for path in paths)
    assert all(lines.splitlines()[1].startswith("drwx------") for lines in seen)
    assert b.reports.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("true", "none was written"),
        ("echo PASS > $SIGNOFF_REPORT_FILE", "no well-formed XML"),
        ("ln -s $PWD/old.xml $SIGNOFF_REPORT_FILE", "cannot be opened as a file"),
        ("mkfifo $SIGNOFF_REPORT_FILE", "no regular file"),
        ("mkdir -p $SIGNOFF_REPORT_FILE/deep/er", "no regular file"),
        ("rm -r $(dirname $SIGNOFF_REPORT_FILE)", "none was written"),
    ],
)
def test_a_report_that_cannot_be_used_says_why(text: str, fault: str, tmp_path: Path) -> None:
    """Missing, broken, a link, a FIFO or a folder: the reason is told, and nothing is left."""
    b = Bench(tmp_path / "root")
    b.root.mkdir()
    (b.root / "old.xml").write_text(GOOD)
    evidence = b.check(reporting(text))
    assert (evidence.exit_code, evidence.report) == (0, None)
    assert fault in evidence.report_fault
    assert list(b.reports.iterdir()) == []


def test_folders_nested_without_end_do_no_harm(tmp_path: Path) -> None:
    """A check that fills the place of its report with folders is still told as it ended."""
    b = Bench(tmp_path / "root")
    b.root.mkdir()
    text = (
        "import os\nos.chdir(os.path.dirname(os.environ['SIGNOFF_REPORT_FILE']))\n"
        "for _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\n"
    )
    evidence = b.check(python(text, report=ReportFormat.JUNIT))
    assert (evidence.exit_code, evidence.report_fault) == (0, "none was written")
    for left in b.reports.iterdir():
        remove_deep(left, "d")


def test_no_room_for_a_report_is_the_hosts_fault(tmp_path: Path) -> None:
    """When the host cannot make the folder nothing is run, and the mend is named."""
    (tmp_path / "reports").write_text("a file")
    b = Bench(tmp_path / "root")
    b.root.mkdir()
    with pytest.raises(SignoffError, match="the check was not run"):
        b.check(reporting("touch ran"))
    assert not (b.root / "ran").exists()


def test_a_status_that_nobody_knows_is_no_status() -> None:
    """When the exit status was lost the check is neither passed nor failed."""
    output = Output(sha256="sha256:" + "0" * 64, size=0, head=b"", tail=b"", truncated=False)
    with pytest.raises(SignoffError, match="no verdict stands on it"):
        _exit_code(shell("true"), Ended(started=True, output=output))


def test_a_cancellation_ends_the_check_and_goes_on(tmp_path: Path) -> None:
    """The caller is cancelled, the process is dead, and the place of the report is gone."""
    b = Bench(tmp_path / "root")
    b.root.mkdir()
    begun, seen = b.root / "begun", []

    async def cancel_when_begun() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run_check)
            while not begun.exists():  # noqa: ASYNC110 - the fact is another process's
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    async def run_check() -> None:
        try:
            await b.verifier.check(
                reporting("echo $$ > pid; touch begun; sleep 1000"),
                stage=Stage.AFTER,
                timeout_seconds=60,
                deadline_bound=False,
            )
        except anyio.get_cancelled_exc_class():
            seen.append("cancelled")
            raise

    anyio.run(cancel_when_begun)
    assert seen == ["cancelled"]
    assert list(b.reports.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((b.root / "pid").read_text()), 0)
