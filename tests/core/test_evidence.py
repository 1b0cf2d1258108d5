"""What counts as evidence when it is written down, and what a judgement stands on."""

from collections.abc import Callable

import pytest

from signoff.core.completion.evidence import (
    ArtifactEvidence,
    CheckEvidence,
    FileFacts,
    FileKind,
    ImmutableInputEvidence,
    OutputFacts,
    Picture,
    artifact_rows,
    basis,
    basis_of,
    input_rows,
)
from signoff.errors import PolicyError
from signoff.testing import a_check, a_file, a_picture, an_artifact, an_input, digest_of, no_file
from tests.core.assessing import replace

GOOD = digest_of("good")
TIMED: list[tuple[Callable[..., object], dict[str, object]]] = [
    (CheckEvidence, {"command_id": "a", "exit_code": 0}),
    (ArtifactEvidence, {"requirement_id": "a", "files": ()}),
    (ImmutableInputEvidence, {"input_id": "a", "expected": GOOD, "observed": GOOD}),
    (Picture, {"digest": GOOD, "control_digest": GOOD}),
]


@pytest.mark.scenario("CC-034")
@pytest.mark.parametrize(("made", "facts"), TIMED)
@pytest.mark.parametrize("time", ["2030-01-31T12:00:00", "2030-01-31", "", "noon", "2030-02-30T00:00:00Z"])
def test_evidence_needs_an_instant(made: Callable[..., object], facts: dict[str, object], time: str) -> None:
    """Evidence with a time that has no zone, or is none, cannot be constructed."""
    assert made(**facts, observed_at="2030-01-31T12:00:00+01:00")
    with pytest.raises(PolicyError, match="timestamp"):
        made(**facts, observed_at=time)


DIGESTED: list[tuple[Callable[..., object], dict[str, object], str]] = [
    (FileFacts, {"path": "a", "kind": FileKind.FILE}, "sha256"),
    (OutputFacts, {"size": 0}, "sha256"),
    (ImmutableInputEvidence, {"input_id": "a", "observed": GOOD, "observed_at": "2030-01-31T12:00:00Z"}, "expected"),
    (ImmutableInputEvidence, {"input_id": "a", "expected": GOOD, "observed_at": "2030-01-31T12:00:00Z"}, "observed"),
    (Picture, {"control_digest": GOOD, "observed_at": "2030-01-31T12:00:00Z"}, "digest"),
    (Picture, {"digest": GOOD, "observed_at": "2030-01-31T12:00:00Z"}, "control_digest"),
]


@pytest.mark.parametrize(("made", "facts", "field"), DIGESTED)
@pytest.mark.parametrize("text", ["", "abc", GOOD.upper(), GOOD + "0"])
def test_evidence_needs_digests(made: Callable[..., object], facts: dict[str, object], field: str, text: str) -> None:
    """What is said to be a digest and is none cannot become evidence."""
    assert made(**facts, **{field: GOOD})
    with pytest.raises(PolicyError, match="is not a digest"):
        made(**facts, **{field: text})


def test_an_exit_code_is_a_number() -> None:
    """True is no exit code, although it looks like 1."""
    with pytest.raises(PolicyError, match="exit code of a is a bool"):
        CheckEvidence(command_id="a", exit_code=True, observed_at="2030-01-31T12:00:00Z")


def test_a_check_without_output_was_not_started() -> None:
    """There was a process when there is an output, be it empty."""
    assert a_check("a").started
    assert not a_check("a", 127, output=None).started


PICTURE = a_picture(
    artifacts=(an_artifact("out", a_file("a"), no_file("b")), an_artifact("other", a_file("c"))),
    inputs=(an_input("src"),),
)


def test_the_rows_of_a_basis() -> None:
    """Every file of every artifact, and every input, has its row, in the contract's order."""
    content = digest_of("content")
    assert artifact_rows(PICTURE) == [["out", "a", content], ["out", "b", None], ["other", "c", content]]
    assert input_rows(PICTURE) == [["src", digest_of("input")]]


CHANGES = [
    {"control_digest": digest_of("other")},
    {"artifacts": (an_artifact("out", a_file("a", "other"), no_file("b")), PICTURE.artifacts[1])},
    {"artifacts": (an_artifact("out", a_file("a"), a_file("b")), PICTURE.artifacts[1])},
    {"artifacts": PICTURE.artifacts[:1]},
    {"artifacts": (PICTURE.artifacts[1], PICTURE.artifacts[0])},
    {"inputs": (an_input("src", now="other"),)},
    {"inputs": ()},
]


@pytest.mark.parametrize("facts", CHANGES)
def test_what_changes_a_basis(facts: dict[str, object]) -> None:
    """Contract, artifacts, inputs and control files make the basis: a change of any is another one."""
    assert basis(GOOD, replace(PICTURE, **facts)) != basis(GOOD, PICTURE)


def test_what_leaves_a_basis() -> None:
    """What a verdict does not stand on, times and other files, does not make another basis; the contract does."""
    later = replace(PICTURE, digest=digest_of("log"), change_count=7, observed_at="2031-01-01T00:00:00Z")
    assert basis(GOOD, later) == basis(GOOD, PICTURE)
    assert basis(digest_of("other"), PICTURE) != basis(GOOD, PICTURE)


def test_a_basis_is_computed_from_its_parts() -> None:
    """A reader who has the rows comes to the same digest."""
    rows, inputs = artifact_rows(PICTURE), input_rows(PICTURE)
    assert basis_of(GOOD, artifacts=rows, inputs=inputs, control=PICTURE.control_digest) == basis(GOOD, PICTURE)
