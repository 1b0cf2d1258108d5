"""Whoever ends a run ends all of it: nothing of it is left running, and its record says who cancelled it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.door import agent, finished, processes_with, run_signoff, start_signoff, unique_sleep
from tests.cli.terminal import INTERRUPT, Terminal
from tests.process.running import wait_until

AT_ONCE = 4.0
"""Seconds within which a second signal ends the program; an agent that resists is given five after the first."""

IN_RECEIPT = """
import os, signal, sys, threading
from signoff.cli import signals
from signoff.cli.main import main
from signoff.records import receipt_file
heard, report, put = threading.Event(), signals.report, receipt_file._put
def reported(message):
    report(message)
    heard.set()
def signalled(path, receipt):
    open("../at-receipt", "w").close()
    os.kill(os.getpid(), {number:d})
    heard.wait(30)
    put(path, receipt)
signals.report, receipt_file._put = reported, signalled
sys.argv[0] = "signoff"
main()
"""
"""The program, which gets a signal while it writes its receipt, and goes on with it once it has heard."""

Run = tuple[str, ...]


def in_agent(work: Path, sleep: str) -> Run:
    """A run whose agent, and a child of the agent's in a group of its own, go on for an hour."""
    return "--verify", "false", *agent(work, f"bash -mc '{sleep} & wait' & {sleep}")


def in_check_before(work: Path, sleep: str) -> Run:
    """A run whose check, taken before the agent, goes on for an hour."""
    return "--verify", f"sh -c '{sleep}; true' & {sleep}", *agent(work, "touch started")


def in_check_after(work: Path, sleep: str) -> Run:
    """A run whose check, taken after the agent, goes on for an hour."""
    return "--verify", f"test ! -e done || {{ {sleep}; true; }}", *agent(work, "touch done")


PLACES = {"agent": in_agent, "check before": in_check_before, "check after": in_check_after}
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def wait_for_sleep(process: "subprocess.Popen[bytes]", sleep: str, *, count: int = 1) -> None:
    """Wait until so many processes of the run sleep; end the run when they do not."""
    if not wait_until(lambda: len(processes_with(sleep)) >= count):
        process.terminate()
        raise AssertionError("what should sleep does not")


def assert_cancelled(work: Path, name: str) -> None:
    """The latest run is recorded as cancelled by this signal, with a verdict, and left no receipt."""
    shown = run_signoff("show", "latest", "--json", cwd=work).json
    assert (shown["state"], shown["result"]["status"], shown["result"]["receipt"]) == ("finished", "cancelled", None)
    assert [each["by"] for each in shown["events"] if each["type"] == "CancelRequested"] == [name]
    assert list((work.parent / "state").rglob("receipt.json*")) == []
    assert run_signoff("runs", "--json", cwd=work).json["runs"][0]["status"] == "cancelled"


@pytest.mark.scenario("CL-003", "CL-009", "CL-010")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("place", PLACES)
def test_a_signal_ends_the_tree_and_is_recorded(place: str, number: signal.Signals, work: Path) -> None:
    """Ctrl-C, SIGTERM and SIGHUP end what is running; the run is `cancelled`, in exit code, line and record."""
    sleep = unique_sleep()
    process = start_signoff("run", *PLACES[place](work, sleep), cwd=work)
    wait_for_sleep(process, sleep, count=1 if place == "check after" else 2)
    process.send_signal(number)
    done = finished(process)
    assert (done.code, done.out.splitlines()[0].startswith("cancelled - ")) == (130, True), done.err
    assert processes_with(sleep) == []
    assert not (work / "started").exists()
    assert_cancelled(work, number.name)


@pytest.mark.scenario("CL-009")
def test_ctrl_c_on_a_terminal(work: Path) -> None:
    """The key itself, pressed while the agent runs, does what the signal does."""
    sleep = unique_sleep()
    screen = Terminal("run", *in_agent(work, sleep), cwd=work)
    screen.wait_for("attempt 1: the agent runs")
    wait_for_sleep(screen.process, sleep, count=2)
    screen.press(INTERRUPT)
    assert (screen.ended(), processes_with(sleep)) == (130, [])
    assert_cancelled(work, "SIGINT")


@pytest.mark.scenario("CL-009", "CL-010")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_during_the_receipt(number: signal.Signals, work: Path) -> None:
    """A run that is cancelled while its receipt is written is cancelled, and has none, although all checks held."""
    program = (sys.executable, "-c", IN_RECEIPT.format(number=number))
    args = ("run", "--verify", "test -s out.txt", *agent(work, "echo hello >out.txt"))
    done = finished(start_signoff(*args, cwd=work, program=program))
    assert (work.parent / "at-receipt").exists()
    assert (done.code, done.out.splitlines()[0].startswith("cancelled - ")) == (130, True), done.out + done.err
    assert_cancelled(work, number.name)


@pytest.mark.scenario("CL-009", "CL-010")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_second_signal_ends_at_once(number: signal.Signals, work: Path) -> None:
    """An agent that ignores SIGTERM is not given its grace once the signal comes again; the run is recorded."""
    sleep = unique_sleep()
    args = ("run", "--verify", "false", *agent(work, f"trap '' TERM INT HUP; while true; do {sleep}; done"))
    process = start_signoff(*args, cwd=work)
    wait_for_sleep(process, sleep)
    seconds = seconds_after_two(process, number)
    done = finished(process)
    assert (done.code, processes_with(sleep)) == (130, []), done.err
    assert seconds() < AT_ONCE
    assert_cancelled(work, number.name)


def seconds_after_two(process: "subprocess.Popen[bytes]", number: signal.Signals) -> Callable[[], float]:
    """Send a signal, and again once the program has said that it heard; return the clock since the second one."""
    assert process.stderr is not None
    process.send_signal(number)
    while b"cancelling" not in (line := process.stderr.readline()):
        assert line != b"", "the program ended without a word about the signal"
    process.send_signal(number)
    begun = time.monotonic()
    return lambda: time.monotonic() - begun


@pytest.mark.scenario("CL-009")
def test_a_second_ctrl_c_ends_a_run_that_cannot_end_itself(work: Path) -> None:
    """When a doer never answers, the second signal still ends the program, with the same exit code."""
    stuck = IN_RECEIPT.format(number=signal.SIGINT).replace("heard.wait(30)", "threading.Event().wait(3600)")
    args = ("run", "--verify", "test -s out.txt", *agent(work, "echo hello >out.txt"))
    process = start_signoff(*args, cwd=work, program=(sys.executable, "-c", stuck))
    assert process.stderr is not None
    while b"cancelling" not in (line := process.stderr.readline()):
        assert line != b""
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    done = finished(process)
    assert (done.code, time.monotonic() - begun < AT_ONCE, "completed" in done.out) == (130, True, False)


@pytest.mark.scenario("CL-009")
def test_a_check_can_be_cancelled(work: Path) -> None:
    """`signoff check` is ended in the same way."""
    sleep = unique_sleep()
    process = start_signoff("check", "--json", "--verify", f"{sleep}; true", cwd=work)
    wait_for_sleep(process, sleep)
    process.send_signal(signal.SIGINT)
    done = finished(process)
    assert (done.code, done.json["status"], processes_with(sleep)) == (130, "cancelled", [])
