"""Words to people: messages on stderr, results on stdout, colours only on a terminal."""

import contextlib
import os
import sys
from collections.abc import Iterator

from signoff.cli.result import CheckResult, RunResult
from signoff.core.values import Reason, Status
from signoff.records.text import one_line, visible

_MOST_TAIL_LINES = 12
_SENTENCES = {
    Status.COMPLETED: "the host has verified the work",
    Status.NOT_COMPLETED: "the work does not hold",
    Status.UNVERIFIED: "nothing is claimed about the work",
    Status.BLOCKED: "a person is needed",
    Status.BUDGET_EXHAUSTED: "the time ran out before a verdict",
    Status.AGENT_FAILED: "the agent had no turn",
    Status.CANCELLED: "the run was cancelled",
}
_COLOURS = {Status.COMPLETED: "32", Status.UNVERIFIED: "33", Status.BLOCKED: "35"}
_RED = "31"


def report(message: str) -> None:
    """Write one message to stderr; when that cannot be done, there is nobody to tell, and nothing ends for it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"signoff: {visible(message)}\n")
        sys.stderr.flush()


def coloured(text: str, colour: str) -> str:
    """Return `text` in a colour where stdout is a terminal and colours are wanted."""
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\033[{colour}m{text}\033[0m" if wanted else text


def summary(result: RunResult) -> str:
    """Return the result of a run or a check for people: the verdict first, then its reasons."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: RunResult) -> Iterator[str]:
    yield headline(result)
    for check in result.checks:
        yield from _check_lines(check)
    for failure in result.failures:
        if failure.subject == "run":
            yield f"  {failure.reason}: {one_line(failure.detail, limit=1500)}"
    yield from (f"  warning: {one_line(warning, limit=1500)}" for warning in result.warnings)
    yield from (f"  evidence: {note}: {_NOTES[note]}" for note in result.evidence)
    if result.hint:
        yield f"  {result.hint}"
    if result.receipt:
        yield f"  receipt: {result.receipt}"
    yield f"  run: {result.run_id} (assurance: {result.assurance})"


_NOTES = {
    "exit_status_only": 'a check counts by its exit status alone; report = "junit" makes it count tests',
    "unrelated_change": "every check held before, and what changed is nothing that the contract names",
}


def headline(result: RunResult) -> str:
    """Return the one line that agrees with status and exit code."""
    status = result.status
    why = f": {result.reason}" if result.reason and status is not Status.COMPLETED else ""
    bound = f", ended by {result.ended_by}" if result.ended_by else ""
    counts = f" ({counted(result.attempts, 'attempt')}, {counted(result.repairs, 'repair')})" if result.attempts else ""
    words = f"{status}{why}{bound}"
    sentence = "nothing was done" if result.reason is Reason.NOTHING_CHANGED else _SENTENCES[status]
    return f"{coloured(words, _COLOURS.get(status, _RED))} - {sentence}{counts}, {result.duration_seconds:.1f} s"


def _check_lines(check: CheckResult) -> Iterator[str]:
    word = {True: "passed", False: "FAILED", None: "not judged"}[check.passed]
    before = f", before: {check.before}" if check.before != "not_taken" else ""
    code = f", exit {check.exit_code}" if check.exit_code else ""
    tests = f", {counted(check.tests, 'test')} passed" if check.tests is not None else ""
    yield f"  {word:<10} {check.id}  {one_line(check.words, limit=100)}{before}{code}{tests}"
    if check.detail:
        yield f"             {check.reason}: {one_line(check.detail, limit=1500)}"
    if check.passed is False and check.output_tail:
        lines = check.output_tail.rstrip("\n").split("\n")
        if len(lines) > _MOST_TAIL_LINES:
            yield f"             | [… {len(lines) - _MOST_TAIL_LINES} lines before]"
        yield from (f"             | {one_line(line)}" for line in lines[-_MOST_TAIL_LINES:])


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
