"""Puts the doers of a run together, lets it run, and shows how it ended. The composition root of `run` and `check`.

Everything that can be refused is refused here before anything starts.
"""

import gc
import os
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from signoff import __version__
from signoff.cli.display import AgentLines, Progress, Shown, stderr_display
from signoff.cli.main import heed_early
from signoff.cli.output import report, summary
from signoff.cli.result import HOW_TO_ADD_A_CHECK, exit_code, result_of
from signoff.cli.signals import heed_signals
from signoff.config.live import RunLock
from signoff.config.paths import require_unicode
from signoff.config.resolve import Configuration
from signoff.config.state_folder import ProjectFolder, RunFolder, project_folder, run_folder, run_lock
from signoff.core.goal.events import AgentOutcome, Kind, RunStarted
from signoff.core.values import Assurance
from signoff.ports import AgentRunner
from signoff.process import Stop
from signoff.records.receipt_file import ReceiptFile, require_writable_place
from signoff.runtime.clock import HostClock
from signoff.runtime.command_agent import AgentOptions, CommandAgent, placeholder_notes, require_usable
from signoff.runtime.goal import Doers, GoalEnd, GoalRun
from signoff.stores.sql import SqliteStore
from signoff.verifiers import (
    HostVerifier,
    WorkspaceOptions,
    missing_programs,
    require_bash,
    require_matches,
    unguarded_programs,
)


class _NoAgent:
    """Stands where a check has no agent; the core never asks for it."""

    async def run(self, decision: object) -> AgentOutcome:
        del decision
        return AgentOutcome(started=False, error="a check has no agent")


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """What one run stands on."""

    configuration: Configuration
    kind: Kind
    run_id: str
    project: ProjectFolder
    folder: RunFolder
    receipt: str


def host(configuration: Configuration, kind: Kind, *, receipt: str | None, as_json: bool) -> int:
    """Run to the end, print the result, and return the exit code."""
    gc.enable()
    if kind is Kind.RUN:
        require_usable(configuration.agent_command)
    receipt = os.path.abspath(receipt) if receipt is not None else None  # noqa: PTH100 - a link at its end must stay
    if receipt is not None:
        require_unicode(receipt, what="--receipt")
        require_writable_place(receipt)
    require_matches(configuration.root, configuration.contract)
    require_bash(configuration.root, configuration.contract, host=os.environ)
    project = project_folder(configuration.root, environment=os.environ)
    run_id = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)
    folder = run_folder(project, run_id)
    hosted = Hosted(
        configuration=configuration,
        kind=kind,
        run_id=run_id,
        project=project,
        folder=folder,
        receipt=receipt or os.path.join(folder.path, "receipt.json"),  # noqa: PTH118 - text, no path
    )
    for note in (*configuration.notes, *project.notes, *_notes(configuration, kind)):
        report(f"note: {note}")
    shown, lines = stderr_display(environment_ci="CI" in os.environ)
    try:
        with run_lock(project, run_id, within=os.environ.get("SIGNOFF_RUN_ID", "")) as lock:
            if others := lock.shared_with():
                shown.line(f"note: other runs are live here ({', '.join(others)}); changes will count for none of them")
            end, warnings = anyio.run(partial(_run, hosted, lock, shown=shown, lines=lines))
    finally:
        heed_early()  # the run's own receiver has put the system's defaults in their place
        shown.close()
    result = result_of(end.state, warnings=warnings, store_lost=end.store_lost)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
    else:
        sys.stdout.write(summary(result))
    return exit_code(end.state)


def _notes(configuration: Configuration, kind: Kind) -> list[str]:
    """Return what the user should know before the agent is started."""
    if kind is not Kind.RUN:
        return []
    notes = list(unguarded_programs(configuration.root, configuration.contract))
    notes += missing_programs(configuration.root, configuration.contract, host=os.environ)
    notes += placeholder_notes(configuration.agent_command)
    if not configuration.contract.decides:
        notes.append(f"this run can only end unverified: {HOW_TO_ADD_A_CHECK}")
    return notes


async def _run(hosted: Hosted, lock: RunLock, *, shown: Shown, lines: AgentLines) -> tuple[GoalEnd, tuple[str, ...]]:
    stop, clock = Stop(), HostClock()
    store = SqliteStore(hosted.project.database)
    try:
        verifier = HostVerifier(
            _workspace(hosted),
            clock=clock,
            stop=stop,
            others=lock.shared_with,
        )
        doers = Doers(
            clock=clock,
            store=store,
            verifier=verifier,
            agent=_agent(hosted, stop, lines.feed),
            receipts=ReceiptFile(hosted.receipt),
            listener=Progress(shown, lines),
        )
        run = GoalRun(doers)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: heed_signals(run, stop=stop, clock=clock))
            end = await run.run(_start(hosted, clock))
            group.cancel_scope.cancel()
        return end, verifier.warnings()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


def _start(hosted: Hosted, clock: HostClock) -> RunStarted:
    configuration = hosted.configuration
    return RunStarted(
        at=clock.now(),
        run_id=hosted.run_id,
        kind=hosted.kind,
        contract=configuration.contract,
        requested_mode=configuration.requested_mode,
        contract_source=configuration.source,
        limits=configuration.limits,
        goal=configuration.goal,
        command=configuration.agent_command if hosted.kind is Kind.RUN else (),
        workspace=configuration.root,
        assurance=Assurance.OBSERVED,
        strict_exit=configuration.strict_exit,
        allow_no_change=configuration.allow_no_change,
        signoff_version=__version__,
    )


def _agent(hosted: Hosted, stop: Stop, on_output: Callable[[bytes], None]) -> AgentRunner:
    if hosted.kind is Kind.CHECK:
        return _NoAgent()
    configuration = hosted.configuration
    stdin: Literal["null", "inherit"] = "inherit" if configuration.stdin else "null"
    options = AgentOptions(
        command=configuration.agent_command,
        goal=configuration.goal,
        contract=configuration.contract,
        workspace=configuration.root,
        run_id=hosted.run_id,
        folder=hosted.folder.path,
        host_environment=os.environ,
        stdin=stdin,
    )
    return CommandAgent(options, stop=stop, on_output=on_output)


def _workspace(hosted: Hosted) -> WorkspaceOptions:
    configuration = hosted.configuration
    own = [hosted.receipt, hosted.project.state, *_own_streams()]
    inside = tuple(path for path in own if Path(path).is_relative_to(configuration.root))
    return WorkspaceOptions(
        root=configuration.root,
        contract=configuration.contract,
        contract_file=configuration.contract_file,
        contract_file_sha256=configuration.contract_file_sha256,
        own_paths=inside,
        report_folder=hosted.folder.reports,
        host_environment=dict(os.environ),
    )


def _own_streams() -> list[str]:
    """Return the files that this process's own output goes to: writing them is no change of the agent's."""
    found = []
    for number in (1, 2):
        link = Path(f"/proc/self/fd/{number}")
        try:
            target = os.path.realpath(link)
        except OSError:
            continue
        if Path(target).is_file():
            found.append(target)
    return found
