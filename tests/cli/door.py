"""What the tests of this folder share: the real program in a process of its own, and agents of a few lines.

Around a workspace lie, outside of it: the state folder, a home, the agent's scripts, and what the agent was told.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

SIGNOFF = str(Path(sys.executable).with_name("signoff"))
"""The console script of the environment that the tests run in."""

PATIENCE = 60.0
"""Seconds after which a test gives up waiting for the program."""

_MEASURE = (
    "import os, sys\n"
    "pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)\n"
    "_, status, usage = os.wait4(pid, 0)\n"
    "open(sys.argv[1], 'w').write(str(usage.ru_maxrss))\n"
    "os._exit(os.waitstatus_to_exitcode(status) & 255)\n"
)


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How the program ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that stdout must be."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


# --- the program -----------------------------------------------------------------------------------------------------


def environment(cwd: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a small environment: PATH, a home and a state folder beside the workspace, and what `env` adds."""
    home = cwd.parent / "home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "SIGNOFF_STATE_DIR": str(cwd.parent / "state"),
        **(env or {}),
    }


def start_signoff(
    *args: str, cwd: Path, env: Mapping[str, str] | None = None, program: tuple[str, ...] = (SIGNOFF,)
) -> "subprocess.Popen[bytes]":
    """Start the program in a session of its own, with pipes; the caller ends it with `finished`."""
    return subprocess.Popen(
        [*program, *args],
        cwd=cwd,
        env=environment(cwd, env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finished(process: "subprocess.Popen[bytes]", *, stdin: bytes = b"", timeout: float = PATIENCE) -> Done:
    """Wait for the program's end; at the timeout its whole group is killed and the test fails."""
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Done(
        code=process.returncode,
        out=out.decode("utf-8", "surrogateescape"),
        err=err.decode("utf-8", "surrogateescape"),
    )


def run_signoff(
    *args: str, cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes = b"", timeout: float = PATIENCE
) -> Done:
    """Run the program to its end; `env` is added to a small environment with a state folder beside `cwd`."""
    return finished(start_signoff(*args, cwd=cwd, env=env), stdin=stdin, timeout=timeout)


def measured_signoff(*args: str, cwd: Path, env: Mapping[str, str] | None = None) -> tuple[Done, int]:
    """Run the program and return its peak memory too, in KiB: its own, or that of a process it waited for."""
    report = cwd.parent / "peak"
    # Started from a small process: what a process held before it became another program counts as its peak.
    program = (sys.executable, "-I", "-S", "-c", _MEASURE, str(report), SIGNOFF)
    done = finished(start_signoff(*args, cwd=cwd, env=env, program=program))
    return done, int(report.read_text(encoding="ascii"))


def record_of(cwd: Path) -> dict[str, Any]:
    """Return what the program recorded of the latest run: `state`, `result` and every event."""
    done = run_signoff("show", "latest", "--json", cwd=cwd)
    assert done.code == 0, done.err
    return done.json


# --- the project and its agents --------------------------------------------------------------------------------------


def write_contract(cwd: Path, text: str) -> Path:
    """Write the workspace's signoff.toml; the text may be indented."""
    path = cwd / "signoff.toml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def agent(cwd: Path, *attempts: str) -> tuple[str, ...]:
    """Return `--` and an agent whose n-th attempt runs the n-th shell script in the workspace; the last one stays.

    The agent lies outside the workspace and keeps what each attempt was told: see `told` and `attempts_of`.
    """
    folder = cwd.parent / "agent"
    folder.mkdir(exist_ok=True)
    for number, script in enumerate(attempts, start=1):
        (folder / f"{number}.sh").write_text(textwrap.dedent(script) + "\n", encoding="utf-8")
    (folder / "main.sh").write_text(
        'cp "$SIGNOFF_FEEDBACK_FILE" "${0%/*}/told-$SIGNOFF_ATTEMPT"\n'
        f"n=$SIGNOFF_ATTEMPT; [ $n -le {len(attempts)} ] || n={len(attempts)}\n"
        '. "${0%/*}/$n.sh"\n',
        encoding="utf-8",
    )
    return "--", "sh", str(folder / "main.sh")


def told(cwd: Path, attempt: int) -> str:
    """Return the feedback that an attempt was given in its file."""
    return (cwd.parent / "agent" / f"told-{attempt}").read_text(encoding="utf-8")


def attempts_of(cwd: Path) -> int:
    """Return how many attempts of `agent` were really started."""
    return len(list((cwd.parent / "agent").glob("told-*")))


def refused(done: Done, *words: str, cwd: Path) -> None:
    """Assert that the program refused to begin: exit 2, a message that holds the words, and nothing started or kept."""
    assert done.code == 2, done
    assert done.out == ""
    for word in words:
        assert word in done.err
    assert "Traceback" not in done.err
    assert not (cwd.parent / "state").exists()
    assert attempts_of(cwd) == 0


def check_row(done: Done, name: str) -> dict[str, Any]:
    """Return the row of one requirement in a JSON result."""
    (row,) = (each for each in done.json["checks"] if each["id"] == name)
    assert isinstance(row, dict)
    return row


# --- processes -------------------------------------------------------------------------------------------------------


def unique_sleep() -> str:
    """Return a command that sleeps for an hour and that no other test starts."""
    return f"sleep 3600.{secrets.randbelow(10**12):012}"


def processes_with(words: str) -> list[int]:
    """Return the processes whose program and arguments are exactly `words`; zombies have none."""
    wanted = b"\0".join(words.encode().split(b" ")) + b"\0"
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if _read(path) == wanted]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
