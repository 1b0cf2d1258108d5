"""The judgement of commands, reports and the run as a whole, and what an assessment comes to."""

import pytest

from signoff.core.completion.assess import Assessment, Outcome, check_passes
from signoff.core.completion.contract import FINAL_RESPONSE, Contract, Mode, ReportFormat, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, Evidence, TestReport
from signoff.core.completion.reasons import CONSEQUENCES
from signoff.core.values import Moment, Reason
from signoff.testing import a_check, a_picture, an_artifact, no_file
from tests.core.assessing import CONTRACT, GOOD, TESTS, evidence, judged, reasons, replace, showing

PIPED = "pytest | tail"


def test_good_evidence_satisfies() -> None:
    """Evidence that meets every requirement has no failures."""
    assert judged(CONTRACT, evidence()) == Assessment(outcome=Outcome.SATISFIED)


# --- commands --------------------------------------------------------------------------------------------------------

ENDS = [
    (a_check("tests", 1), Reason.SELF_CHECK_FAILED, "exited with 1"),
    (a_check("tests", 255), Reason.SELF_CHECK_FAILED, "exited with 255"),
    (a_check("tests", -9), Reason.SELF_CHECK_FAILED, "exited with -9"),
    (a_check("tests", 141), Reason.SELF_CHECK_FAILED, "exited with 141"),
    (a_check("tests", 127), Reason.CHECK_NOT_STARTED, "was not found"),
    (a_check("tests", 127, output=None, error="no such file"), Reason.CHECK_NOT_STARTED, "no such file"),
    (a_check("tests", 127, output=None), Reason.CHECK_NOT_STARTED, "no reason known"),
    (a_check("tests", 0, output=None), Reason.CHECK_NOT_STARTED, "no reason known"),
    (a_check("tests", 124), Reason.CHECK_TIMEOUT, "its time limit"),
    (a_check("tests", 0, timed_out=True, duration_seconds=9.7), Reason.CHECK_TIMEOUT, "(10 s)"),
    (a_check("tests", 124, timed_out=True, cut_by_deadline=True), Reason.CHECK_TIMEOUT, "the end of the run's time"),
    (a_check("tests", 0, held_by=tuple("abcdefg")), Reason.CHECK_TIMEOUT, "kept its output open: a, b, c, d, e."),
]


@pytest.mark.parametrize(("found", "reason", "words"), ENDS)
def test_how_a_check_fails(found: CheckEvidence, reason: Reason, words: str) -> None:
    """Every end of a check but a clean zero fails it, with its own reason and in plain words."""
    (failure,) = judged(CONTRACT, evidence(checks=(found,))).failures
    assert (failure.reason, failure.subject) == (reason, "tests")
    assert words in failure.detail
    assert not check_passes(TESTS, found)


def test_a_broken_pipe_proves_nothing() -> None:
    """In a pipe, 141 says that a part was cut off: neither pass nor fail."""
    contract = replace(CONTRACT, commands=(ValidationCommand(id="tests", shell=PIPED),))
    assert reasons(contract, evidence(checks=(a_check("tests", 141),))) == (Reason.UNCLEAN_EVIDENCE,)
    assert reasons(contract, evidence()) == ()


def test_a_check_that_was_not_taken_is_missing() -> None:
    """A check without a result, or with another's only, is not passed."""
    assert reasons(CONTRACT, evidence(checks=())) == (Reason.SELF_CHECK_MISSING,)
    assert reasons(CONTRACT, evidence(checks=(a_check("other"),))) == (Reason.SELF_CHECK_MISSING,)
    assert not check_passes(TESTS, None)


@pytest.mark.parametrize("codes", [(1, 0), (0, 1), (0, 1, 0), (1, 0, 1)])
def test_the_last_result_counts(codes: tuple[int, ...]) -> None:
    """Of several results of one check the last one is judged."""
    found = evidence(checks=tuple(a_check("tests", code) for code in codes))
    assert (reasons(CONTRACT, found) == ()) == (codes[-1] == 0)


# --- reports ---------------------------------------------------------------------------------------------------------

BEFORE = TestReport(passed=("a", "b"), failed=("c",), skipped=("d",))
REPORTS = [
    (TestReport(passed=("a", "b", "c")), (), ""),
    (TestReport(passed=("a", "b", "c", "new")), (), ""),
    (TestReport(passed=("a", "b", "c"), skipped=("d",)), (), ""),
    (TestReport(passed=("a", "b"), failed=("c",)), (Reason.SELF_CHECK_FAILED,), "1 failed tests"),
    (TestReport(passed=("a", "c")), (Reason.TESTS_MISSING,), "1 tests that were there before are gone: 'b'"),
    (TestReport(passed=("a",), skipped=("b", "c")), (Reason.TESTS_SKIPPED,), "2 tests that ran before are now skipped"),
    (TestReport(passed=("a",), skipped=("b",)), (Reason.TESTS_MISSING, Reason.TESTS_SKIPPED), "gone: 'c'"),
    (
        TestReport(passed=("a",), failed=("x",), skipped=("b",)),
        (Reason.SELF_CHECK_FAILED, Reason.TESTS_MISSING, Reason.TESTS_SKIPPED),
        "holds 1 failed tests",
    ),
    (None, (Reason.REPORT_MISSING,), "none was written"),
]
COUNTED = replace(CONTRACT, commands=(ValidationCommand(id="tests", argv=("pytest",), report=ReportFormat.JUNIT),))


@pytest.mark.parametrize(("report", "expected", "words"), REPORTS)
def test_a_report_is_compared_with_the_one_before(
    report: TestReport | None, expected: tuple[Reason, ...], words: str
) -> None:
    """Tests that failed, went away or are skipped now are found although the command ended with 0."""
    found = evidence(checks=(a_check("tests", report=report),), before=(a_check("tests", 1, report=BEFORE),))
    assessment = judged(COUNTED, found)
    assert assessment.reasons == expected
    assert words in " ".join(failure.detail for failure in assessment.failures)


def test_why_a_report_cannot_be_used_is_said() -> None:
    """The fault that the host found in a report stands in the failure."""
    found = evidence(checks=(a_check("tests", report_fault="it is not XML"),))
    assert "it is not XML" in judged(COUNTED, found).failures[0].detail


@pytest.mark.parametrize(("least", "expected"), [(1, ()), (2, ()), (3, (Reason.TESTS_MISSING,))])
def test_a_report_holds_enough_tests(least: int, expected: tuple[Reason, ...]) -> None:
    """Fewer passed tests than are asked for are too few; as many are enough, whether or not it ran before."""
    command = replace(COUNTED.commands[0], min_tests=least)
    report = TestReport(passed=("a", "b"), skipped=("c", "d"))
    for before in ((), (a_check("tests"),), (a_check("tests", report=report),)):
        found = evidence(checks=(a_check("tests", report=report),), before=before)
        assert reasons(replace(COUNTED, commands=(command,)), found) == expected


def test_a_report_is_not_asked_of_a_check_that_failed() -> None:
    """A check that did not end with 0 has failed, whatever its report says."""
    found = evidence(checks=(a_check("tests", 1, report=TestReport(passed=("a",))),))
    assert reasons(COUNTED, found) == (Reason.SELF_CHECK_FAILED,)


# --- the run as a whole ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"final": ()}, Reason.FINAL_EVIDENCE_MISSING),
        ({"final": ("something_else",)}, Reason.FINAL_EVIDENCE_MISSING),
        ({"idle": True}, Reason.NOTHING_CHANGED),
        ({"counted_exit": 3}, Reason.AGENT_EXIT),
        ({"counted_exit": 0}, None),
        ({"final": ("something_else", FINAL_RESPONSE)}, None),
    ],
)
def test_what_is_said_of_the_run(facts: dict[str, object], reason: Reason | None) -> None:
    """A missing final answer, nothing changed, and an exit that counts are failures of the run as a whole."""
    failures = judged(CONTRACT, evidence(**facts)).failures
    assert [(failure.reason, failure.subject) for failure in failures] == ([(reason, "run")] if reason else [])


def test_when_it_is_said_that_nothing_changed() -> None:
    """Beside a failed check it would be no news; stale evidence may be taken again, so there it is said at once."""
    old = "2029-12-31T23:00:00Z"
    stale = evidence(checks=(a_check("tests", observed_at=old),), idle=True)
    assert reasons(CONTRACT, evidence(idle=True)) == (Reason.NOTHING_CHANGED,)
    assert reasons(CONTRACT, evidence(checks=(a_check("tests", 1),), idle=True)) == (Reason.SELF_CHECK_FAILED,)
    assert reasons(replace(CONTRACT, max_age_seconds=60), stale) == (Reason.EVIDENCE_STALE, Reason.NOTHING_CHANGED)


@pytest.mark.parametrize(("others", "words"), [((), "Nothing in the workspace"), (("run-7",), "(run-7)")])
def test_why_nothing_counts_as_changed(others: tuple[str, ...], words: str) -> None:
    """Where other runs were live, they are named; else nothing has changed at all."""
    (failure,) = judged(CONTRACT, showing(replace(GOOD, shared_with=others), idle=True)).failures
    assert words in failure.detail


@pytest.mark.scenario("CC-204")
def test_claims_are_no_evidence() -> None:
    """The same final answer given again and again assesses as it did at first: only the host's evidence counts."""
    found = evidence(checks=(a_check("tests", 1),))
    first = judged(CONTRACT, found)
    assert first.reasons == (Reason.SELF_CHECK_FAILED,)
    for times in (2, 1000):
        assert judged(CONTRACT, replace(found, final=(FINAL_RESPONSE,) * times)) == first


AGES = [
    ("2030-01-01T00:00:00Z", None),
    ("2029-12-31T23:59:00Z", None),
    ("2029-12-31T23:58:59.999999Z", Reason.EVIDENCE_STALE),
    ("2029-12-31T23:58:59Z", Reason.EVIDENCE_STALE),
    ("2030-01-01T01:00:00+01:00", None),
    ("2030-01-01T00:00:00.000001Z", Reason.EVIDENCE_FROM_FUTURE),
]


@pytest.mark.parametrize("place", ["check", "artifact", "input"])
@pytest.mark.parametrize(("time", "reason"), AGES)
def test_the_age_of_evidence(place: str, time: str, reason: Reason | None) -> None:
    """With a maximum age, evidence may be exactly as old as that, no older, and never from the future."""
    facts: dict[str, object] = {}
    if place == "check":
        facts["checks"] = (a_check("tests", observed_at=time),)
    elif place == "artifact":
        facts["picture"] = replace(GOOD, artifacts=(replace(GOOD.artifacts[0], observed_at=time),))
    else:
        facts["picture"] = replace(GOOD, inputs=(replace(GOOD.inputs[0], observed_at=time),))
    assert reasons(replace(CONTRACT, max_age_seconds=60), evidence(**facts)) == (() if reason is None else (reason,))
    assert reasons(CONTRACT, evidence(**facts)) == ()


@pytest.mark.scenario("CC-035")
def test_evidence_of_61_seconds_is_stale_at_a_maximum_of_60() -> None:
    """A maximum age of 60 seconds accepts evidence 60 seconds old and finds evidence 61 seconds old stale."""
    contract = replace(CONTRACT, max_age_seconds=60)
    later = Moment(elapsed=61, wall="2030-01-01T00:01:01Z")
    assert reasons(contract, evidence(), now=later) == (Reason.EVIDENCE_STALE,)
    assert "61 s old; at most 60 s" in judged(contract, evidence(), now=later).failures[0].detail
    assert reasons(contract, evidence(), now=Moment(elapsed=60, wall="2030-01-01T00:01:00Z")) == ()


def test_only_the_last_result_has_an_age() -> None:
    """Old evidence that was taken again does no harm."""
    checks = (a_check("tests", observed_at="2029-01-01T00:00:00Z"), a_check("tests"))
    assert reasons(replace(CONTRACT, max_age_seconds=60), evidence(checks=checks)) == ()


# --- the outcome -----------------------------------------------------------------------------------------------------

FAILING = evidence(checks=(a_check("tests", 1),))


@pytest.mark.parametrize(
    ("bound", "repairs", "outcome"),
    [
        (None, 0, Outcome.REPAIR_REQUIRED),
        (None, 10**6, Outcome.REPAIR_REQUIRED),
        (0, 0, Outcome.FAILED),
        (1, 0, Outcome.REPAIR_REQUIRED),
        (1, 1, Outcome.FAILED),
        (1, 2, Outcome.FAILED),
    ],
)
def test_the_bound_of_repairs(bound: int | None, repairs: int, outcome: Outcome) -> None:
    """A failing claim is worth a repair until the bound is reached; without a bound it always is."""
    assert judged(replace(CONTRACT, max_repairs=bound), FAILING, repairs=repairs).outcome is outcome


def test_observe_reports_and_accepts() -> None:
    """A contract that only observes is satisfied, and lists what failed."""
    assessment = judged(replace(CONTRACT, mode=Mode.OBSERVE), FAILING)
    assert (assessment.outcome, assessment.reasons) == (Outcome.SATISFIED, (Reason.SELF_CHECK_FAILED,))


def test_off_says_nothing() -> None:
    """A contract that is off is satisfied without a word."""
    assert judged(replace(CONTRACT, mode=Mode.OFF), FAILING) == Assessment(outcome=Outcome.SATISFIED)


def test_an_empty_contract_needs_a_final_answer() -> None:
    """With nothing else to ask for, enforcing still asks that the agent ends by itself."""
    bare = Evidence(first=a_picture(), picture=a_picture())
    assert reasons(Contract(), bare) == (Reason.FINAL_EVIDENCE_MISSING,)
    assert reasons(Contract(), replace(bare, final=(FINAL_RESPONSE,))) == ()


def test_reasons_are_listed_by_gravity() -> None:
    """All failed codes are listed once each, the gravest first, whatever the order they were found in."""
    picture = replace(GOOD, contract_changed=True, inputs=(), artifacts=(an_artifact("out", no_file("out.txt")),))
    found = reasons(CONTRACT, showing(picture, checks=(), final=(), counted_exit=1))
    assert found == (
        Reason.CONTRACT_CHANGED,
        Reason.IMMUTABLE_INPUT_EVIDENCE_MISSING,
        Reason.SELF_CHECK_MISSING,
        Reason.REQUIRED_ARTIFACT_MISSING,
        Reason.AGENT_EXIT,
        Reason.FINAL_EVIDENCE_MISSING,
    )


def test_every_reason_has_a_consequence() -> None:
    """No reason lacks its row in the table, and what is not repaired does not end as merely not completed."""
    assert set(CONSEQUENCES) == set(Reason)
    for consequence in CONSEQUENCES.values():
        assert consequence.repaired == (consequence.status == "not_completed")


def test_long_lists_are_cut() -> None:
    """Names from a report are quoted and bounded, so that a failure stays a sentence."""
    before = TestReport(passed=tuple(f"{number:03}" + "x" * 500 for number in range(40)))
    found = evidence(
        checks=(a_check("tests", report=TestReport(passed=("a",))),), before=(a_check("tests", report=before),)
    )
    (failure,) = judged(COUNTED, found).failures
    assert failure.detail.endswith(" and 35 more.")
    assert len(failure.detail) < 1200
