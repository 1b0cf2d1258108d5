"""The judgement of artifacts, immutable inputs and what steers the checks: every fault has its own reason."""

import pytest

from signoff.core.completion.assess import artifacts_held, assess
from signoff.core.completion.contract import Artifact, Fresh
from signoff.core.completion.evidence import Change, FileFacts, FileKind, Picture
from signoff.core.completion.reasons import CONSEQUENCES
from signoff.core.values import Reason
from signoff.testing import a_file, an_artifact, an_input, digest_of, no_file
from tests.core.assessing import AT_START, CONTRACT, GOOD, OUT, evidence, judged, reasons, replace, showing

# --- artifacts -------------------------------------------------------------------------------------------------------

FILE = a_file("out.txt", "some content")
HERE = digest_of("some content")
FILES = [
    (OUT, FILE, None),
    (OUT, no_file("out.txt"), Reason.REQUIRED_ARTIFACT_MISSING),
    (OUT, no_file("out.txt", FileKind.DIRECTORY), Reason.ARTIFACT_NOT_A_FILE),
    (OUT, no_file("out.txt", FileKind.OTHER), Reason.ARTIFACT_NOT_A_FILE),
    (OUT, no_file("out.txt", FileKind.OUTSIDE), Reason.ARTIFACT_OUTSIDE_WORKSPACE),
    (OUT, replace(FILE, unstable=True), Reason.ARTIFACT_UNSTABLE),
    (OUT, replace(FILE, sha256=None), Reason.ARTIFACT_UNSTABLE),
    (OUT, replace(FILE, blank=True), Reason.ARTIFACT_EMPTY),
    (OUT, replace(FILE, placeholder=True), Reason.ARTIFACT_PLACEHOLDER),
    (OUT, replace(FILE, written=False), Reason.ARTIFACT_STALE),
    (OUT, replace(FILE, written=None, changed=None), None),
    (OUT, replace(FILE, written=True, changed=False), None),
    (replace(OUT, allow_empty=True), replace(FILE, blank=True, size=0), None),
    (replace(OUT, min_bytes=12), FILE, None),
    (replace(OUT, min_bytes=13), FILE, Reason.ARTIFACT_TOO_SMALL),
    (replace(OUT, sha256=HERE), FILE, None),
    (replace(OUT, sha256=digest_of("other")), FILE, Reason.ARTIFACT_HASH_MISMATCH),
    (replace(OUT, fresh=Fresh.CHANGED), FILE, None),
    (replace(OUT, fresh=Fresh.CHANGED), replace(FILE, changed=False), Reason.ARTIFACT_STALE),
    (replace(OUT, fresh=Fresh.CHANGED), replace(FILE, changed=None), None),
    (replace(OUT, fresh=Fresh.ANY), replace(FILE, written=False, changed=False), None),
    (replace(OUT, directory=True), FILE, Reason.ARTIFACT_NOT_A_FILE),
    (replace(OUT, directory=True), replace(FILE, kind=FileKind.DIRECTORY), None),
    (replace(OUT, directory=True), replace(FILE, kind=FileKind.DIRECTORY, blank=True), Reason.ARTIFACT_EMPTY),
    (replace(OUT, required=False), no_file("out.txt"), None),
    (replace(OUT, required=False), replace(FILE, blank=True), Reason.ARTIFACT_EMPTY),
]


@pytest.mark.parametrize(("artifact", "file", "reason"), FILES)
def test_how_an_artifact_is_judged(artifact: Artifact, file: FileFacts, reason: Reason | None) -> None:
    """Each fault of a file has its own reason; what is as it should be has none."""
    contract = replace(CONTRACT, artifacts=(artifact,))
    found = showing(replace(GOOD, artifacts=(an_artifact("out", file),)))
    assert reasons(contract, found) == (() if reason is None else (reason,))
    for failure in judged(contract, found).failures:
        assert failure.subject == "out"
        assert failure.detail.startswith("out.txt ")


@pytest.mark.parametrize(("artifact", "file", "reason"), FILES)
def test_freshness_is_asked_of_runs_only(artifact: Artifact, file: FileFacts, reason: Reason | None) -> None:
    """Without an agent nothing need be new, and every other fault is one all the same."""
    contract = replace(CONTRACT, artifacts=(artifact,))
    picture = replace(GOOD, artifacts=(an_artifact("out", file),))
    stale = reason is Reason.ARTIFACT_STALE
    found = assess(contract, showing(picture, final=()), now=AT_START, repairs=0, freshness=False)
    assert found.reasons == (() if reason is None or stale else (reason,))
    assert artifacts_held(contract, picture) == (("out",) if reason is None or stale else ())


def test_an_artifact_that_nobody_looked_for_is_missing() -> None:
    """No evidence of a required artifact is as if it were not there."""
    assert reasons(CONTRACT, showing(replace(GOOD, artifacts=()))) == (Reason.REQUIRED_ARTIFACT_MISSING,)


GLOB = Artifact(id="out", path="*.txt", glob=True, min_count=2)
MATCHES = [
    (("a.txt", "b.txt"), False, ()),
    (("a.txt", "b.txt", "c.txt"), False, ()),
    (("a.txt",), False, (Reason.REQUIRED_ARTIFACT_MISSING,)),
    ((), False, (Reason.REQUIRED_ARTIFACT_MISSING,)),
    (("a.txt", "b.txt"), True, (Reason.ARTIFACT_UNSTABLE,)),
]


@pytest.mark.parametrize(("paths", "overflow", "expected"), MATCHES)
def test_how_a_glob_is_judged(paths: tuple[str, ...], overflow: bool, expected: tuple[Reason, ...]) -> None:  # noqa: FBT001
    """A glob needs its least number of matches, and no more than can be looked at."""
    found = an_artifact("out", *(a_file(path) for path in paths), overflow=overflow)
    assessment = judged(replace(CONTRACT, artifacts=(GLOB,)), showing(replace(GOOD, artifacts=(found,))))
    assert assessment.reasons == expected
    if len(paths) < 2:
        assert f"{len(paths)} of 2 match" in assessment.failures[0].detail


def test_every_match_of_a_glob_is_judged() -> None:
    """One bad file among the matches is named, and fails the whole."""
    found = an_artifact("out", a_file("a.txt"), a_file("b.txt", blank=True), a_file("c.txt", written=False))
    failures = judged(replace(CONTRACT, artifacts=(GLOB,)), showing(replace(GOOD, artifacts=(found,)))).failures
    assert [failure.detail.split()[0] for failure in failures] == ["b.txt", "c.txt"]


def test_not_every_bad_match_is_told() -> None:
    """Of very many bad files the first are named and the others counted, so that a judgement stays readable."""
    found = an_artifact("out", *(a_file(f"{number:03}.txt", blank=True) for number in range(200)))
    failures = judged(replace(CONTRACT, artifacts=(GLOB,)), showing(replace(GOOD, artifacts=(found,)))).failures
    assert {failure.reason for failure in failures} == {Reason.ARTIFACT_EMPTY}
    told = len(failures) - 1
    assert 1 < told < 100
    assert failures[0].detail.startswith("000.txt ")
    assert failures[-1].detail.startswith(f"{200 - told} more files")


# --- the workspace ---------------------------------------------------------------------------------------------------


def test_a_changed_input_is_named() -> None:
    """A file under an immutable glob that changed is named with what became of it, the first five of many."""
    changes = tuple(Change(path=f"src/{number}", what="changed") for number in range(7))
    picture = replace(GOOD, inputs=(replace(an_input("src", now="other"), changes=changes),))
    (failure,) = judged(CONTRACT, showing(picture)).failures
    assert (failure.reason, failure.subject) == (Reason.IMMUTABLE_INPUT_CHANGED, "src")
    assert "'src/4' (changed) and 2 more" in failure.detail


def test_a_changed_input_need_not_be_named() -> None:
    """Digests decide; where no change is listed, the failure still says that there is one."""
    picture = replace(GOOD, inputs=(an_input("src", now="other"),))
    assert "some file" in judged(CONTRACT, showing(picture)).failures[0].detail


def test_an_input_that_nobody_looked_at_fails() -> None:
    """An immutable input without evidence is not taken to be unchanged."""
    assert reasons(CONTRACT, showing(replace(GOOD, inputs=()))) == (Reason.IMMUTABLE_INPUT_EVIDENCE_MISSING,)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"contract_changed": True}, Reason.CONTRACT_CHANGED),
        ({"control": (Change(path="conftest.py", what="new"),)}, Reason.CONTROL_CHANGED),
    ],
)
def test_what_steers_the_checks_must_stay(facts: dict[str, object], reason: Reason) -> None:
    """A contract or a control file that changed needs a person: no repair can mend it."""
    assessment = judged(CONTRACT, showing(replace(GOOD, **facts)))
    assert assessment.reasons == (reason,)
    assert not CONSEQUENCES[reason].repaired


MOVED = [
    (replace(GOOD, control_digest=digest_of("other")), "'control files'"),
    (replace(GOOD, artifacts=(an_artifact("out", a_file("out.txt", "other")),)), "'file out.txt'"),
    (replace(GOOD, artifacts=(an_artifact("out", no_file("out.txt")),)), "'file out.txt'"),
    (replace(GOOD, artifacts=()), "'file out.txt'"),
    (replace(GOOD, inputs=(an_input("src", now="other"),)), "'input src'"),
    (replace(GOOD, inputs=()), "'input src'"),
]


@pytest.mark.scenario("CC-111")
@pytest.mark.parametrize(("first", "named"), MOVED)
def test_evidence_is_stale_when_its_basis_moved(first: Picture, named: str) -> None:
    """When what a verdict stands on is not the same before and after the checks, the evidence is stale and says why."""
    (failure,) = judged(CONTRACT, evidence(first=first)).failures
    assert failure.reason is Reason.EVIDENCE_STALE
    assert named in failure.detail


def test_other_changes_leave_the_basis_alone() -> None:
    """A log that a check writes moves the workspace, and not what the verdict stands on."""
    assert reasons(CONTRACT, evidence(first=replace(GOOD, digest=digest_of("before the log"), change_count=3))) == ()


@pytest.mark.parametrize("name", ["control files", "input src"])
def test_a_file_cannot_pass_for_another_part_of_the_basis(name: str) -> None:
    """A file that is named like another part of the basis hides no change of that part."""
    files = an_artifact("out", a_file("a.txt"), a_file(name))
    contract = replace(CONTRACT, artifacts=(replace(GLOB, path="*"),))
    last = replace(GOOD, artifacts=(files,))
    first = replace(last, control_digest=digest_of("other"), inputs=(an_input("src", now="other"),))
    assert reasons(contract, evidence(picture=last, first=first)) == (Reason.EVIDENCE_STALE,)
    hidden = replace(last, **({"control_digest": first.control_digest} if name[0] == "c" else {"inputs": first.inputs}))
    assert reasons(contract, evidence(picture=last, first=hidden)) == (Reason.EVIDENCE_STALE,)
