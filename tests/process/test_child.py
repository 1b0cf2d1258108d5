"""Starting a process: what it is given, and the plain words when it cannot be started."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.process import Command, Stop, run
from signoff.process.child import PIPE_SIZE, Child, launch
from tests.process.running import PATIENCE, PYTHON, check, command, printed


def refusal(refused: Command) -> str:
    """Run a command that cannot be started, and return what is said about it."""
    ended = run(refused, timeout=PATIENCE, stop=Stop(), pipe="must_close")
    assert (ended.started, ended.exit_code, ended.output) == (False, None, None)
    assert (ended.timed_out, ended.stopped, ended.held_by) == (False, False, ())
    return ended.error


def test_a_missing_program_is_named() -> None:
    """A program that PATH does not have is named as such."""
    assert refusal(command("no-such-program")) == "the program 'no-such-program' was not found on PATH"


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    """A program given by a path that does not exist is named by that path."""
    assert refusal(command("./nothing", cwd=tmp_path)) == "the program './nothing' does not exist"


def test_a_file_without_execute_right_is_named(tmp_path: Path) -> None:
    """A file that may not be executed, and a folder, are named as such."""
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    expected = "'./tool' is not a program that this account may execute"
    assert refusal(command("./tool", cwd=tmp_path)) == expected
    assert "not a program that this account may execute" in refusal(command(str(tmp_path)))


def test_a_missing_interpreter_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    """A script whose first line names nothing is told apart from a script that does not exist."""
    script = tmp_path / "tool"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    expected = "'./tool' exists, but the interpreter that its first line names does not"
    assert refusal(command("./tool", cwd=tmp_path)) == expected


def test_a_text_without_an_interpreter_is_named(tmp_path: Path) -> None:
    """A text file that is executable but names no interpreter is not run by a shell."""
    script = tmp_path / "tool"
    script.write_text("echo hello\n")
    script.chmod(0o755)
    assert "'./tool' is not a program for this system" in refusal(command("./tool", cwd=tmp_path))


def test_a_bad_folder_is_named(tmp_path: Path) -> None:
    """A folder that does not exist or is a file is named, and not the program."""
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.touch()
    said = f"the folder {str(missing)!r} to run in cannot be entered: {os.strerror(errno.ENOENT)}"
    assert refusal(command("true", cwd=missing)) == said
    said = f"the folder {str(file)!r} to run in cannot be entered: {os.strerror(errno.ENOTDIR)}"
    assert refusal(command("true", cwd=file)) == said


def test_what_no_process_can_be_given_is_named() -> None:
    """NUL characters, impossible variable names, and no program at all are refused before anything is started."""
    assert refusal(command("echo", "a", "b\0c")) == "argument 2 of 'echo' holds a NUL character"
    assert refusal(command("true", cwd="/\0")) == "the folder '/\\x00' holds a NUL character"
    for env in ({"A=B": "1"}, {"": "1"}, {"N\0": "1"}, {"N": "\0"}):
        assert "no process can be given" in refusal(command("true", env=env))
    assert refusal(command()) == "no program is named"
    assert refusal(command("")) == "no program is named"
    assert "'echo' cannot be started" in refusal(command("echo", "\ud800"))


def test_too_long_arguments_are_named() -> None:
    """More text than the system passes on is said to be that, with the size of its longest piece."""
    assert "has 4000000 bytes" in refusal(command("echo", "x" * 4_000_000))


def test_no_descriptors_left_is_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without free descriptors starts nothing and says why."""

    def full() -> tuple[int, int]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", full)
    assert launch(command("true")) == f"no pipe for the output of 'true': {os.strerror(errno.EMFILE)}"


def test_the_environment_is_exactly_the_given_one() -> None:
    """Nothing of the host's environment reaches the process."""
    given = {"ONE": "1", "PATH": os.environ["PATH"], "TWO": "zwei ü"}
    ended = run(command("env", env=given), timeout=PATIENCE, stop=Stop(), pipe="must_close")
    assert printed(ended).decode() == "".join(f"{name}={value}\n" for name, value in given.items())


def test_the_program_is_looked_up_on_its_own_path(tmp_path: Path) -> None:
    """PATH of the command's environment decides, and not the host's."""
    tool = tmp_path / "own-tool"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    ended = run(command("own-tool", env={"PATH": str(tmp_path)}), timeout=PATIENCE, stop=Stop(), pipe="must_close")
    assert printed(ended) == b"found\n"


def test_a_program_with_a_slash_counts_from_its_folder(tmp_path: Path) -> None:
    """A relative program is taken from the folder that the command runs in, which is also its current folder."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\npwd\n")
    tool.chmod(0o755)
    ended = run(command("./tool", cwd=tmp_path), timeout=PATIENCE, stop=Stop(), pipe="must_close")
    assert printed(ended).decode() == f"{tmp_path.resolve()}\n"


def test_arguments_arrive_as_they_are() -> None:
    """No argument is split, expanded or unquoted."""
    words = ["$HOME", "a b", "*", "'", '"', "ü\n", "--", ""]
    ended = check(*PYTHON, "import sys; print(ascii(sys.argv[1:]))", *words)
    assert printed(ended).decode().strip() == ascii(words)


@pytest.mark.parametrize(("stdin", "read"), [("null", b""), ("inherit", b"typed")])
def test_standard_input_is_empty_unless_it_is_inherited(stdin: str, read: bytes) -> None:
    """A process that reads its standard input sees its end at once; with `inherit` it reads what the host was given."""
    program = (
        "import sys\nfrom signoff.process import *\n"
        f"given = Command(argv=('cat',), cwd='/', env={{'PATH': '/usr/bin:/bin'}}, stdin={stdin!r})\n"
        "sys.stdout.buffer.write(run(given, timeout=20, stop=Stop(), pipe='must_close').output.head)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"typed", capture_output=True, check=True)
    assert done.stdout == read


def test_the_process_leads_its_own_session() -> None:
    """Signals of the host's terminal do not reach it, and its group is its own."""
    ended = check(*PYTHON, "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0), os.getsid(0))")
    verdict, session = printed(ended).split()
    assert verdict == b"True"
    assert int(session) != os.getsid(0)


def test_no_other_descriptor_is_inherited(tmp_path: Path) -> None:
    """Only the three standard streams are open in the process, and the last two are one pipe."""
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        program = "import os; print(sorted(os.listdir('/proc/self/fd'))[:3], os.fstat(1) == os.fstat(2))"
        ended = check(*PYTHON, f"import os\ntry: os.fstat({file.fileno()})\nexcept OSError: {program}")
    assert printed(ended) == b"['0', '1', '2'] True\n"


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="this system has pipes of one size")
def test_the_output_pipe_is_as_large_as_this_account_may_have_it() -> None:
    """A fast writer does not wait for every 64 KiB."""
    ends = os.pipe()
    try:
        largest = fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    finally:
        os.close(ends[0])
        os.close(ends[1])
    assert printed(check(*PYTHON, "import fcntl; print(fcntl.fcntl(1, fcntl.F_GETPIPE_SZ))")) == b"%d\n" % largest


def test_a_lost_exit_status_is_never_taken_for_success() -> None:
    """When the system discards exit statuses, none is reported, and the reason is."""
    program = (
        "import signal\nfrom signoff.process import *\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "given = Command(argv=('sh', '-c', 'echo out; exit 3'), cwd='/', env={'PATH': '/usr/bin:/bin'})\n"
        "ended = run(given, timeout=20, stop=Stop(), pipe='must_close')\n"
        "print(ended.started, ended.exit_code, ended.error, ended.output.head)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "True None something else in this process took its exit status b'out\\n'\n"
    assert done.stderr == ""


def test_looking_does_not_take_the_status() -> None:
    """A process that has exited keeps its number, which names its group, until it is reaped."""
    child = launch(command("sh", "-c", "exit 7"))
    assert isinstance(child, Child)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    child.look()
    assert (child.exited, child.exit_code, child.reaped) == (True, 7, False)
    os.kill(child.pid, 0)
    child.reap()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, signal.SIGTERM)
    child.close()


def test_a_status_that_somebody_else_took_is_unknown() -> None:
    """A process that other code waited for has exited, with a code that is not made up."""
    child = launch(command("true"))
    assert isinstance(child, Child)
    os.waitpid(child.pid, 0)
    child.look()
    assert (child.exited, child.exit_code, child.reaped) == (True, None, True)
    child.close()
