"""The small worlds that the exploration walks through: contracts, bounds, and alphabets of what can be seen in them.

A world is small in one direction and whole in another: all ends of a check with two pictures, all pictures with two
ends of a check, all ends of an agent with both. `deep=True` makes them whole in more directions at once.
"""

from collections.abc import Iterator, Mapping

import msgspec

from signoff.core.budget import Limits
from signoff.core.completion.contract import (
    Artifact,
    Contract,
    Fresh,
    ImmutableInput,
    Mode,
    ReportFormat,
    ValidationCommand,
)
from signoff.core.completion.evidence import Change, CheckEvidence, Picture, TestReport
from signoff.core.goal.events import AgentOutcome, Kind, RunStarted
from signoff.testing import Scene, a_check, a_file, a_picture, an_artifact, an_input, digest_of, no_file
from tests.core.walk import World, moments

IDS = ("a", "b")
ONCE = moments(0)

# Seconds that are no whole number are written faster, and here nothing is written more often than statements.
BRIEF = 0.3
LIMITS = Limits(timeout_seconds=1000.5, startup_seconds=5.5)


def _result(name: str, exit_code: int = 0, **facts: object) -> CheckEvidence:
    return a_check(name, exit_code, duration_seconds=BRIEF, **facts)


# What a check can say.
PASS = {name: _result(name) for name in IDS}
FAIL = {name: _result(name, 1) for name in IDS}
NOT_STARTED = {name: _result(name, 127, output=None, error="no such file") for name in IDS}
NOT_FOUND = {name: _result(name, 127) for name in IDS}
TIMED_OUT = {name: _result(name, 124, timed_out=True) for name in IDS}
PIPE = {name: _result(name, 141) for name in IDS}
HELD = {name: _result(name, held_by=("sleep",)) for name in IDS}
CUT = {name: _result(name, 124, timed_out=True, cut_by_deadline=True) for name in IDS}
REPORTS = (
    TestReport(passed=("x", "y")),
    TestReport(passed=("x",)),
    TestReport(passed=("x",), skipped=("y",)),
    TestReport(passed=("x",), failed=("y",)),
    None,
)
OLD, NOW, FUTURE = "2029-12-31T23:58:59Z", "2030-01-01T00:00:00Z", "2030-01-01T01:00:00Z"

# What a picture can show. The artifact "out" was there before; the input "src" is to stay as it is.
_SOURCE = (an_input("src"),)
_STALE = (an_artifact("out", a_file("out", "old", written=False)),)
_MADE = (an_artifact("out", a_file("out", "new")),)


def _showing(**facts: object) -> Picture:
    return msgspec.structs.replace(a_picture("new", changed=1, artifacts=_MADE, inputs=_SOURCE), **facts)


AS_IT_WAS = a_picture(artifacts=_STALE, inputs=_SOURCE)
BARE = a_picture(artifacts=(an_artifact("out", no_file("out")),), inputs=_SOURCE)
MADE = _showing()
ELSEWHERE = _showing(digest=digest_of("elsewhere"), artifacts=_STALE)
REBUILT = a_picture(artifacts=(an_artifact("out", a_file("out", "old", changed=False)),), inputs=_SOURCE)
GONE = _showing(artifacts=(an_artifact("out", no_file("out")),))
MOVED = _showing(artifacts=(an_artifact("out", a_file("out", "newer")),))
INPUT = _showing(inputs=(an_input("src", now="other"),))
CONTROL = _showing(control=(Change(path="conftest.py", what="changed"),), control_digest=digest_of("other control"))
STEERED = _showing(control_digest=digest_of("allowed control"))
CONTRACT = _showing(contract_changed=True)
SHARED = _showing(shared_with=("run-2",))
UNSEEN = _showing(artifacts=(), inputs=())
LOOKS = (AS_IT_WAS, MADE, ELSEWHERE, REBUILT, GONE, MOVED, INPUT, CONTROL, STEERED, CONTRACT, SHARED, UNSEEN)

# What an agent can do.
DONE = AgentOutcome(started=True, exit_code=0, output_size=9, duration_seconds=BRIEF)
COMPLAINS = AgentOutcome(started=True, exit_code=1, output_size=9, duration_seconds=BRIEF)
QUICK = AgentOutcome(started=True, exit_code=1, duration_seconds=BRIEF)
NO_PROGRAM = AgentOutcome(started=True, exit_code=127, output_size=9, duration_seconds=BRIEF)
STOPPED = AgentOutcome(started=True, timed_out=True, output_size=9, duration_seconds=BRIEF)
NO_AGENT = AgentOutcome(started=False, error="no such file")
AGENTS = (DONE, COMPLAINS, QUICK, NO_PROGRAM, STOPPED, NO_AGENT)

_SHELL = "x | y"
COMMANDS = tuple(ValidationCommand(id=name, shell=_SHELL, timeout_seconds=30) for name in IDS)
OUT = Artifact(id="out", path="out")
SRC = ImmutableInput(id="src", glob="src/**")
WHOLE = Contract(artifacts=(OUT,), commands=COMMANDS[:1], immutable=(SRC,), max_repairs=1)


def _run(contract: Contract, limits: Limits = LIMITS, **facts: object) -> RunStarted:
    return Scene().started(contract, limits, **facts)


def _of(*results: Mapping[str, CheckEvidence]) -> dict[str, tuple[CheckEvidence, ...]]:
    return {name: tuple(result[name] for result in results) for name in IDS}


BOTH = _of(PASS, FAIL)


def worlds(*, deep: bool = False) -> Iterator[World]:
    """Every world that is walked."""
    yield from _worlds_of_checks(deep=deep)
    yield from _worlds_of_pictures(deep=deep)
    yield from _worlds_of_agents(deep=deep)
    yield from _worlds_of_time(deep=deep)
    yield from _worlds_of_contracts()


def small_worlds() -> Iterator[World]:
    """A few worlds that together use every row of the table and lead everywhere that it can."""
    *_, pictures = _worlds_of_pictures(deep=False)
    yield msgspec.structs.replace(pictures, looks=(AS_IT_WAS, MADE, CONTROL), agents=AGENTS, name="small")
    yield from _worlds_of_time(deep=False)
    for world in _worlds_of_contracts():
        contract = world.start.contract
        if len(contract.commands) != 1 or contract.mode is not Mode.ENFORCE:
            yield world


def _worlds_of_checks(*, deep: bool) -> Iterator[World]:
    ends = _of(PASS, FAIL, NOT_STARTED, NOT_FOUND, TIMED_OUT, PIPE, HELD)
    for parallel in (False, True):
        for repairs in (0, 1, 2) if deep else (0, 1):
            contract = Contract(commands=COMMANDS, max_repairs=repairs, parallel=parallel)
            yield World(
                name=f"every end of two checks, {'parallel' if parallel else 'in order'}, repairs {repairs}",
                start=_run(contract),
                before=BOTH if deep or not parallel else _of(PASS),
                after=ends if deep or repairs == 0 else _of(PASS, FAIL, PIPE),
                baselines=(AS_IT_WAS,),
                looks=(AS_IT_WAS, MADE),
                agents=(DONE,),
                moments=ONCE,
                disturbed=deep,
                least=700,
            )


def _worlds_of_pictures(*, deep: bool) -> Iterator[World]:
    for allow in (False, True):
        contract = msgspec.structs.replace(WHOLE, max_repairs=1 if deep else 0)
        yield World(
            name=f"every picture, {'' if allow else 'no '}leave to change nothing",
            start=_run(contract, allow_no_change=allow),
            before=BOTH,
            after=BOTH if deep else _of(PASS),
            baselines=(AS_IT_WAS, BARE),
            looks=LOOKS,
            agents=(DONE, COMPLAINS) if deep else (DONE,),
            moments=ONCE,
            disturbed=deep,
            least=300,
        )
    yield World(
        name="pictures, and a repair",
        start=_run(WHOLE),
        before=BOTH,
        after=BOTH,
        baselines=(AS_IT_WAS, BARE) if deep else (AS_IT_WAS,),
        looks=LOOKS if deep else LOOKS[:8],
        agents=(DONE,),
        moments=ONCE,
        least=2000,
    )


def _worlds_of_agents(*, deep: bool) -> Iterator[World]:
    for strict in (False, True):
        for repairs in (0, 1, 2) if deep or not strict else (2,):
            contract = msgspec.structs.replace(WHOLE, max_repairs=repairs)
            limits = msgspec.structs.replace(LIMITS, no_progress=1 if strict else None)
            yield World(
                name=f"every end of an agent, {'strict' if strict else 'lax'}, repairs {repairs}",
                start=_run(contract, limits, strict_exit=strict),
                before=BOTH,
                after=BOTH,
                baselines=(AS_IT_WAS,),
                looks=(AS_IT_WAS, MADE, INPUT, SHARED) if deep else (AS_IT_WAS, MADE),
                agents=AGENTS,
                moments=ONCE,
                least=150,
            )


def _worlds_of_time(*, deep: bool) -> Iterator[World]:
    for parallel in (False, True):
        contract = Contract(
            commands=COMMANDS if deep or parallel else COMMANDS[:1], artifacts=(OUT,), max_repairs=1, parallel=parallel
        )
        yield World(
            name=f"a deadline, {'parallel' if parallel else 'in order'}",
            start=_run(contract, Limits(timeout_seconds=20.5, attempt_timeout_seconds=15.5)),
            before=BOTH if deep else _of(PASS),
            after=BOTH,
            cut=CUT,
            baselines=(AS_IT_WAS,),
            looks=(MADE,),
            agents=(DONE, STOPPED),
            moments=moments(0, 10.3, 20.5) if deep or not parallel else moments(0, 20.5),
            least=500,
        )
    aged = {name: tuple(_result(name, observed_at=time) for time in (OLD, NOW, FUTURE)) for name in IDS}
    yield World(
        name="evidence of every age",
        start=_run(msgspec.structs.replace(WHOLE, max_age_seconds=60)),
        before=aged,
        after=aged,
        baselines=(BARE,),
        looks=(MADE, _showing(artifacts=(msgspec.structs.replace(_MADE[0], observed_at=OLD),))),
        agents=(DONE,),
        moments=moments(0, 60, 61),
        disturbed=deep,
        least=500,
    )


def _worlds_of_contracts() -> Iterator[World]:
    counted = ValidationCommand(id="a", argv=("a",), report=ReportFormat.JUNIT)
    demanding = msgspec.structs.replace(COMMANDS[0], before="failed")
    changed = msgspec.structs.replace(OUT, fresh=Fresh.CHANGED)
    optional = msgspec.structs.replace(OUT, required=False)
    contracts = {
        "a report of tests": Contract(commands=(counted,), max_repairs=1),
        "a check that must fail before": Contract(commands=(demanding, COMMANDS[1]), max_repairs=1),
        "an artifact alone, changed": Contract(artifacts=(changed,), max_repairs=1),
        "an artifact that may be missing": Contract(artifacts=(optional,), commands=COMMANDS[:1], max_repairs=0),
        "only an input": Contract(immutable=(SRC,), max_repairs=0),
        "nothing": Contract(max_repairs=0),
        "no final answer asked for": msgspec.structs.replace(WHOLE, required_final=()),
        "observe": msgspec.structs.replace(WHOLE, mode=Mode.OBSERVE),
        "off": msgspec.structs.replace(WHOLE, mode=Mode.OFF),
    }
    for name, contract in contracts.items():
        for kind in Kind:
            limits = LIMITS if kind is Kind.RUN else Limits(timeout_seconds=None)
            yield _world_of_a_contract(f"{name}, {kind}", _run(contract, limits, kind=kind), contract)


def _world_of_a_contract(name: str, start: RunStarted, contract: Contract) -> World:
    counted = any(command.report is not None for command in contract.commands)
    results = {"a": tuple(_result("a", report=report) for report in REPORTS)} if counted else BOTH
    return World(
        name=name,
        start=start,
        before=results,
        after=results,
        baselines=(AS_IT_WAS,),
        looks=(AS_IT_WAS, MADE) if counted or len(contract.commands) > 1 else (AS_IT_WAS, MADE, REBUILT, INPUT, MOVED),
        agents=(DONE, STOPPED) if not counted else (DONE,),
        moments=ONCE,
        least=15,
    )
