"""What the tests of this folder share: a workspace on disk, and a verifier that looks at it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from signoff.core.completion.contract import Artifact, Contract, ImmutableInput, ValidationCommand
from signoff.core.completion.evidence import ArtifactEvidence, CheckEvidence, FileFacts, ImmutableInputEvidence, Picture
from signoff.core.goal.events import Role, Stage
from signoff.ports import Verifier
from signoff.testing.fake_clock import FakeClock
from signoff.verifiers import HostVerifier, WorkspaceOptions

PATIENCE = 60.0
"""Seconds after which a test gives up waiting for a real process."""

PYTEST = ValidationCommand(id="tests", argv=("pytest", "-q"))


def contract(
    *artifacts: Artifact,
    commands: tuple[ValidationCommand, ...] = (),
    immutable: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    allow_change: tuple[str, ...] = (),
) -> Contract:
    """Return a contract, its immutable inputs given by their globs alone."""
    return Contract(
        artifacts=artifacts,
        commands=commands,
        immutable=tuple(ImmutableInput(id=f"input-{n}", glob=glob) for n, glob in enumerate(immutable, 1)),
        ignore=ignore,
        allow_change=allow_change,
    )


class Bench:
    """A folder as a workspace, and one verifier over it."""

    def __init__(
        self,
        root: Path,
        contract: Contract | None = None,
        *,
        own: tuple[str, ...] = (),
        others: Callable[[], tuple[str, ...]] = tuple,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.contract = contract or Contract()
        self.clock = FakeClock()
        self.reports = self.root.parent / "reports"
        self.verifier = HostVerifier(
            WorkspaceOptions(
                root=str(self.root),
                contract=self.contract,
                own_paths=own,
                report_folder=str(self.reports),
                host_environment=os.environ if environment is None else environment,
            ),
            clock=self.clock,
            others=others,
        )
        self.port: Verifier = self.verifier

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files of the workspace, with their folders; None deletes."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def baseline(self) -> Picture:
        """Take the picture before the agent."""
        return self._picture(Role.BASELINE)

    def after_agent(self, files: Mapping[str, str | bytes | None] | None = None) -> Picture:
        """Let the agent write, and take the picture after it."""
        self.write(files or {})
        return self._picture(Role.AFTER_AGENT)

    def after_checks(self, files: Mapping[str, str | bytes | None] | None = None) -> Picture:
        """Let the checks write, and take the picture after them."""
        self.write(files or {})
        return self._picture(Role.AFTER_CHECKS)

    def check(
        self, command: ValidationCommand, *, timeout_seconds: float = 60.0, deadline_bound: bool = False
    ) -> CheckEvidence:
        """Run one check."""

        async def run() -> CheckEvidence:
            return await self.port.check(
                command, stage=Stage.AFTER, timeout_seconds=timeout_seconds, deadline_bound=deadline_bound
            )

        return anyio.run(run)

    def _picture(self, role: Role) -> Picture:
        return anyio.run(self.port.picture, role)


def changed(picture: Picture) -> dict[str, str]:
    """Return the agent's changes, by path."""
    return {change.path: change.what for change in picture.changes}


def steered(picture: Picture) -> dict[str, str]:
    """Return the changes of control files, by path."""
    return {change.path: change.what for change in picture.control}


def the_input(picture: Picture) -> ImmutableInputEvidence:
    """Return the evidence about the only immutable input."""
    (found,) = picture.inputs
    return found


def touched(evidence: ImmutableInputEvidence) -> dict[str, str]:
    """Return what became of the files of an immutable input, by path."""
    return {change.path: change.what for change in evidence.changes}


def the_artifact(picture: Picture) -> ArtifactEvidence:
    """Return the evidence about the only artifact."""
    (found,) = picture.artifacts
    return found


def the_file(picture: Picture) -> FileFacts:
    """Return the facts about the only file of the only artifact."""
    (found,) = the_artifact(picture).files
    return found


def wait_for_the_next_tick(path: Path) -> None:
    """Wait until the file system would give a change another time than the file's last one: its clock may be coarse."""
    other = path.with_name("tick")
    while not other.exists() or other.stat().st_ctime_ns <= path.stat().st_ctime_ns:
        other.write_text("tick")
    other.unlink()


def remove_deep(folder: Path, name: str) -> None:
    """Remove a chain of folders that no path can name and pytest could not clear away."""
    top = folder / name
    while top.exists():
        chain = [top]
        while len(str(chain[-1])) < 3800 - len(name) and (chain[-1] / name).exists():
            chain.append(chain[-1] / name)
        if (chain[-1] / name).exists():
            (chain[-1] / name).rename(folder / "moved")
        else:
            (chain[-1] / "x").unlink(missing_ok=True)
        for path in reversed(chain):
            path.rmdir()
        if (folder / "moved").exists():
            (folder / "moved").rename(top)
