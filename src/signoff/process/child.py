"""Starts one process and learns how it ended, because what the standard library reports can be wrong.

`Popen.wait` says 0 when somebody else took the exit status, and a process that was waited for gives its number back
while its group may still be alive. Here the status is looked at without taking it, and the process is kept as a zombie
until its group is dead. Nothing here may decide when a process is to be ended.
"""

import errno
import fcntl
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

PIPE_SIZE = 1024 * 1024
"""Bytes that the output pipe should hold, so that a fast writer and the reader rarely wait for each other."""

_SIGNALLED = 128


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be started, exactly: nothing is added, expanded or looked up in the host's own environment."""

    argv: tuple[str, ...]
    """A program without a slash is looked up on the PATH of `env`; one with a slash counts from `cwd`."""
    cwd: str
    env: Mapping[str, str]
    """The whole environment of the process."""
    stdin: Literal["null", "inherit"] = "null"


class Child:
    """A process that was started: its number, the reading end of its output, and how it ended."""

    def __init__(self, popen: "subprocess.Popen[bytes]", output: int) -> None:
        self.pid = popen.pid
        self.output = output
        self.exited = False
        self.exit_code: int | None = None
        """128 and the signal's number for a death by signal; none while it runs, and when the status was lost."""
        self.reaped = False
        self._popen = popen
        self.exit_fd = _exit_descriptor(popen.pid)
        """Readable once the process has exited; none where the system has no such descriptor."""

    def look(self) -> None:
        """Notice whether the process has exited, without waiting."""
        if self.exited:
            return
        waitid = getattr(os, "waitid", None)  # macOS has it from Python 3.13 on
        try:
            if waitid is None:
                self._look_and_reap()
                return
            # WNOWAIT leaves the zombie in place: its number, which names the group, cannot be given away yet.
            state = waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            self.exited = self.reaped = True  # somebody else took the status
            return
        if state is not None:
            self.exited = True
            code: int = state.si_status
            self.exit_code = code if state.si_code == os.CLD_EXITED else _SIGNALLED + code

    def reap(self) -> None:
        """Let the system forget the process, which must have exited."""
        if not self.reaped:
            self._look_and_reap()

    def close(self) -> None:
        """Close the descriptors."""
        os.close(self.output)
        if self.exit_fd is not None:
            os.close(self.exit_fd)
        if self.reaped:
            # Popen has not seen the end; without a code it would warn, and wait for this number again later.
            self._popen.returncode = -1 if self.exit_code is None else self.exit_code

    def _look_and_reap(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            self.exited = self.reaped = True
            return
        if pid == self.pid:
            self.exited = self.reaped = True
            code = os.waitstatus_to_exitcode(status)
            self.exit_code = code if code >= 0 else _SIGNALLED - code


def launch(command: Command) -> Child | str:
    """Start the process in a session of its own, or say in plain words why it cannot be started."""
    refusal = _refusal(command)
    if refusal:
        return refusal
    try:
        read_end, write_end = os.pipe()
    except OSError as error:
        return f"no pipe for the output of {command.argv[0]!r}: {error.strerror}"
    try:
        child = Child(_start(command, write_end), read_end)
    except (OSError, ValueError) as error:
        os.close(read_end)
        return _explanation(command, error)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    os.set_blocking(read_end, False)
    _enlarge(read_end)
    return child


def _start(command: Command, output: int) -> "subprocess.Popen[bytes]":
    given = _standard_input(command)
    try:
        return subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=command.env,
            stdin=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    finally:
        if given is not None and given >= 0:
            os.close(given)


def _standard_input(command: Command) -> int | None:
    """Return what the child reads: nothing, or the host's own input, of a terminal only the reading side."""
    if command.stdin == "null":
        return subprocess.DEVNULL
    if not os.isatty(0):
        return None
    # A terminal's descriptor can be written, too: escape sequences would reach the screen past every filter.
    return os.open(os.ttyname(0), os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)


def _exit_descriptor(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        descriptor: int = opener(pid)
    except OSError:
        return None  # an old kernel, a container that forbids it, or no descriptors left: a tick does it too
    return descriptor


def _enlarge(pipe: int) -> None:
    request = getattr(fcntl, "F_SETPIPE_SZ", None)
    if request is None:
        return
    try:
        fcntl.fcntl(pipe, request, PIPE_SIZE)
    except OSError:
        return  # the account's pipes are used up: the usual size works, only slower


def _refusal(command: Command) -> str:
    """Say what the system could never start."""
    if not command.argv or not command.argv[0]:
        return "no program is named"
    for place, word in enumerate(command.argv):
        if "\0" in word:
            return f"argument {place} of {command.argv[0]!r} holds a NUL character"
    for name, value in command.env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            return f"the environment variable {name!r} has a name or value that no process can be given"
    if "\0" in command.cwd:
        return f"the folder {command.cwd!r} holds a NUL character"
    return ""


def _explanation(command: Command, error: OSError | ValueError) -> str:
    program = command.argv[0]
    if not isinstance(error, OSError):
        return f"{program!r} cannot be started: {error}"
    if error.filename == command.cwd != program:
        return f"the folder {command.cwd!r} to run in cannot be entered: {error.strerror}"
    if error.errno == errno.ENOENT:
        return _explanation_of_absence(command)
    match error.errno:
        case errno.EACCES:
            return f"{program!r} is not a program that this account may execute"
        case errno.ENOEXEC:
            return f"{program!r} is not a program for this system (a script begins with a line such as #!/bin/sh)"
        case errno.E2BIG:
            longest = max(len(os.fsencode(word)) for word in (*command.argv, *command.env.values()))
            return (
                f"{program!r} was given more text than this system passes to a program: "
                f"the longest argument or variable has {longest} bytes"
            )
        case _:
            return f"{program!r} cannot be started in {command.cwd!r}: {error.strerror}"


def _explanation_of_absence(command: Command) -> str:
    program = command.argv[0]
    if "/" not in program:
        return f"the program {program!r} was not found on PATH"
    if (Path(command.cwd) / program).exists():
        return f"{program!r} exists, but the interpreter that its first line names does not"
    return f"the program {program!r} does not exist"
