"""Runs a validation command and says how it ended. The exit status is the evidence; no word of the output ever is."""

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from signoff.core.completion.contract import REPORT_VARIABLE, ValidationCommand
from signoff.core.completion.evidence import (
    NOT_STARTED_EXIT,
    TIMEOUT_EXIT,
    CheckEvidence,
    OutputFacts,
    TestReport,
)
from signoff.errors import SignoffError
from signoff.ports import Clock
from signoff.process import KEPT, CheckEnvironment, Command, Ended, Output, Stop, check_environment, run_in_thread
from signoff.verifiers.artifacts import Place
from signoff.verifiers.names import shown
from signoff.verifiers.reports import read_report
from signoff.verifiers.texts import decoded, first, last

_HALF = KEPT // 2
_PRIVATE = 0o700
_NO_BASH = "a shell string needs bash, and the check's PATH has none; install bash, or give the check as argv"


class CheckHost(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks of one workspace run with."""

    place: Place
    environment: Mapping[str, str]
    """The host's own, of which a check gets a part."""
    report_folder: str
    clock: Clock
    stop: Stop
    on_output: Callable[[str, bytes], None] | None = None
    """Is told the id of a check and what it prints, as it comes, in a worker thread."""


async def run_check(
    command: ValidationCommand, host: CheckHost, *, timeout_seconds: float, deadline_bound: bool
) -> CheckEvidence:
    """Run one command to its end, within the time given, and return how it ended."""
    if command.report is None:
        return await _run(command, host, report="", timeout_seconds=timeout_seconds, deadline_bound=deadline_bound)
    folder = _report_folder(host.report_folder)
    report = f"{folder}/report.xml"
    try:
        found = await _run(command, host, report=report, timeout_seconds=timeout_seconds, deadline_bound=deadline_bound)
        if not found.started:
            return found
        tests = await anyio.to_thread.run_sync(read_report, report)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, folder)
    if isinstance(tests, TestReport):
        return msgspec.structs.replace(found, report=tests)
    return msgspec.structs.replace(found, report_fault=tests)


async def _run(
    command: ValidationCommand, host: CheckHost, *, report: str, timeout_seconds: float, deadline_bound: bool
) -> CheckEvidence:
    begun = host.clock.now().elapsed
    extra = {**command.env, REPORT_VARIABLE: report} if report else command.env
    given = check_environment(host.environment, workspace=host.place.root, pass_env=command.pass_env, extra=extra)
    started = _command(command, given, place=host.place, report=report)
    if isinstance(started, str):
        ended = Ended(started=False, error=started)
    else:
        ended = await run_in_thread(
            started, timeout=timeout_seconds, stop=host.stop, pipe="must_close", on_output=_listener(command, host)
        )
    now = host.clock.now()
    return CheckEvidence(
        command_id=command.id,
        exit_code=_exit_code(command, ended),
        output=output_facts(ended.output) if ended.output is not None else None,
        error=_error(ended),
        timed_out=ended.timed_out,
        cut_by_deadline=ended.timed_out and deadline_bound,
        held_by=tuple(shown(holder) for holder in ended.held_by),
        left_out=tuple(shown(name) for name in (*given.left_out, *(f"{name} (not set)" for name in given.not_set))),
        duration_seconds=max(now.elapsed - begun, 0.0),
        observed_at=now.wall,
    )


def _command(command: ValidationCommand, given: CheckEnvironment, *, place: Place, report: str) -> Command | str:
    """Return what is to be started, or why nothing can be."""
    folder = place.resolve(command.cwd)
    if not command.allow_outside and not place.holds(folder):
        return f"its folder {shown(command.cwd)!r} leads out of the workspace by a link; set allow_outside to permit it"
    if not os.path.isdir(folder):  # noqa: PTH112 - a resolved text
        return f"its folder {shown(command.cwd)!r} is not there"
    if command.shell:
        bash = shutil.which("bash", path=given.env["PATH"])
        if bash is None:
            return _NO_BASH
        return Command(argv=(bash, "-o", "pipefail", "-c", command.shell), cwd=folder, env=given.env)
    argv = tuple(word.replace("{report}", report) for word in command.argv) if report else command.argv
    return Command(argv=argv, cwd=folder, env=given.env)


def _listener(command: ValidationCommand, host: CheckHost) -> Callable[[bytes], None] | None:
    on_output = host.on_output
    if on_output is None:
        return None

    def listen(data: bytes) -> None:
        on_output(command.id, data)

    return listen


def _exit_code(command: ValidationCommand, ended: Ended) -> int:
    if not ended.started:
        return NOT_STARTED_EXIT
    if ended.timed_out:
        return TIMEOUT_EXIT
    if ended.exit_code is None:
        raise SignoffError(
            f"the exit status of check {command.id} is not known ({ended.error or 'it was stopped'}); "
            "no verdict stands on it; take the check again"
        )
    return ended.exit_code


def _error(ended: Ended) -> str:
    if ended.remaining:
        return f"processes of the check could not be ended: {', '.join(ended.remaining)}"
    return ended.error


def output_facts(output: Output) -> OutputFacts:
    """Return an output as facts: head and tail as visible text of at most 64 KiB together."""
    head, tail, truncated = decoded(output.head), decoded(output.tail), output.truncated
    if len(head.encode()) + len(tail.encode()) > KEPT:
        whole = head if not tail else ""
        head, tail, truncated = first(whole or head, _HALF), last(whole or tail, _HALF), True
    return OutputFacts(sha256=output.sha256, size=output.size, head=head, tail=tail, truncated=truncated)


def _report_folder(parent: str) -> str:
    """Make a folder that nobody can have guessed, for one report."""
    folder = Path(parent) / secrets.token_hex(16)
    try:
        Path(parent).mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        folder.mkdir(mode=_PRIVATE)
    except OSError as error:
        raise SignoffError(
            f"no folder for a test report can be made in {parent!r} ({error.strerror}); the check was not run; "
            "make room for it, or move the state folder"
        ) from error
    return str(folder)


def _remove(folder: str) -> None:
    """Remove the folder of a report with whatever the check put there; what cannot be removed stays."""
    with suppress(RecursionError):  # folders nested deeper than the interpreter's stack
        shutil.rmtree(folder, ignore_errors=True)
