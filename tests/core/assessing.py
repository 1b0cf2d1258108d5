"""A contract, evidence that satisfies it, and how the tests of the assessment ask for a judgement."""

import msgspec

from signoff.core.completion.assess import Assessment, assess
from signoff.core.completion.contract import FINAL_RESPONSE, Artifact, Contract, ImmutableInput, ValidationCommand
from signoff.core.completion.evidence import Evidence, Picture
from signoff.core.values import Moment
from signoff.testing import a_check, a_file, a_picture, an_artifact, an_input

TESTS = ValidationCommand(id="tests", argv=("pytest",))
OUT = Artifact(id="out", path="out.txt")
SRC = ImmutableInput(id="src", glob="src/**")
CONTRACT = Contract(artifacts=(OUT,), commands=(TESTS,), immutable=(SRC,), max_repairs=2)
GOOD = a_picture(artifacts=(an_artifact("out", a_file("out.txt")),), inputs=(an_input("src"),))
AT_START = Moment(elapsed=0, wall="2030-01-01T00:00:00Z")

replace = msgspec.structs.replace


def evidence(**facts: object) -> Evidence:
    """Evidence by which the contract of these tests is satisfied, but for what a test says."""
    found = Evidence(first=GOOD, picture=GOOD, checks=(a_check("tests"),), final=(FINAL_RESPONSE,))
    return replace(found, **facts)


def showing(picture: Picture, **facts: object) -> Evidence:
    """Evidence as above, with this picture before and after the checks."""
    return evidence(first=picture, picture=picture, **facts)


def judged(contract: Contract, found: Evidence, *, repairs: int = 0, now: Moment = AT_START) -> Assessment:
    """The assessment at the start of the clock, before any repair."""
    return assess(contract, found, now=now, repairs=repairs)


def reasons(contract: Contract, found: Evidence, *, now: Moment = AT_START) -> tuple[str, ...]:
    """The codes of an assessment, the gravest first."""
    return judged(contract, found, now=now).reasons
