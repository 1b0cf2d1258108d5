"""Remembers which artifacts the agent wrote since the baseline, and what it made of them. Pure: it is told everything.

What a check writes is not the agent's: an artifact that only a check made new counts as it did before the check.
"""

from collections.abc import Iterable

import msgspec

from signoff.core.completion.evidence import ArtifactEvidence, FileFacts, FileKind
from signoff.verifiers.artifacts import Sight


class _Known(msgspec.Struct):
    """One path of an artifact, over all pictures since the baseline."""

    baseline: str | None = None
    """Digest at the baseline; None when there was no file."""
    agents: str | None = None
    """Digest of what the agent left, or of the baseline while it has not written; None when there was no file."""
    written: bool = False
    last: Sight | None = None
    """What the last picture saw."""


class Freshness:
    """Says for each artifact of a picture what the agent has done to it since the baseline."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}
        self._has_baseline = False

    def baseline(self, seen: Iterable[tuple[str, Sight]]) -> None:
        """Begin anew with what was there before the agent; each sight comes with the id of its artifact."""
        self._has_baseline = True
        self._known = {
            (requirement, sight.facts.path): _Known(baseline=sight.facts.sha256, agents=sight.facts.sha256, last=sight)
            for requirement, sight in seen
        }

    def after_agent(self, seen: Iterable[tuple[str, Sight]]) -> None:
        """Hear what was there after a turn of the agent."""
        now = {(requirement, sight.facts.path): sight for requirement, sight in seen}
        for key in self._known.keys() | now.keys():
            known = self._known.setdefault(key, _Known())
            sight = now.get(key)
            if sight is None or sight.facts.kind is FileKind.MISSING:
                known.agents, known.written = None, False
            elif known.last is None or _differs(known.last, sight):
                known.agents, known.written = sight.facts.sha256, True
            known.last = sight

    def after_checks(self, seen: Iterable[tuple[str, Sight]]) -> None:
        """Hear what was there after checks."""
        now = {(requirement, sight.facts.path): sight for requirement, sight in seen}
        for key in self._known.keys() | now.keys():
            self._known.setdefault(key, _Known()).last = now.get(key)

    def facts(self, requirement: str, sight: Sight) -> FileFacts:
        """Return what was seen, with what the agent did to it; without a baseline nothing is said about that."""
        if not self._has_baseline:
            return sight.facts
        known = self._known.get((requirement, sight.facts.path), _Known())
        changed = known.written and known.baseline not in {known.agents, sight.facts.sha256}
        return msgspec.structs.replace(sight.facts, written=known.written, changed=changed)

    def evidence(
        self, requirement: str, sights: Iterable[Sight], *, overflow: bool, observed_at: str
    ) -> ArtifactEvidence:
        """Return the evidence about one artifact."""
        files = tuple(self.facts(requirement, sight) for sight in sights)
        return ArtifactEvidence(requirement_id=requirement, files=files, overflow=overflow, observed_at=observed_at)


def _differs(before: Sight, now: Sight) -> bool:
    return (before.stamp, before.facts.kind, before.facts.sha256) != (now.stamp, now.facts.kind, now.facts.sha256)
