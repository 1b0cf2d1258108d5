"""Gathers evidence about one workspace for a run: implements the port `Verifier`.

It looks, compares and runs; it judges nothing. What it compares with is held in memory only, from the baseline on.
"""

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from signoff.core.completion.contract import Artifact, Contract, ImmutableInput, ValidationCommand
from signoff.core.completion.evidence import Change, CheckEvidence, ImmutableInputEvidence, Picture
from signoff.core.goal.events import Role, Stage
from signoff.errors import ConfigError, SignoffError
from signoff.ports import Clock
from signoff.process import Stop, in_thread
from signoff.verifiers.artifacts import MOST_MATCHES, Place, Sight, look_at
from signoff.verifiers.commands import CheckHost, run_check
from signoff.verifiers.files import Reader, Work
from signoff.verifiers.freshness import Freshness
from signoff.verifiers.globs import matcher
from signoff.verifiers.names import shown
from signoff.verifiers.pictures import MOST_CHANGES, AgentChanges, CheckWrites, Tree, changes, differences, tree_digest
from signoff.verifiers.scan import Scan, Scanner, own_paths
from signoff.verifiers.sealed import SealedFile

_NAMED = 5


class WorkspaceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace and what is asked of it."""

    root: str
    """The workspace as a resolved, absolute path."""
    contract: Contract
    contract_file: str | None = None
    """Path of the file that the contract came from; None when it came from elsewhere."""
    contract_file_sha256: str | None = None
    """Digest of that file's bytes as they were sealed."""
    own_paths: tuple[str, ...] = ()
    """Files and folders of the host itself, absolute or relative to the workspace; in it they never count."""
    report_folder: str
    """A folder outside of the workspace for test reports; made when it is needed."""
    host_environment: Mapping[str, str]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the verifier tells what it is doing; all of them are called in worker threads and must not block."""

    on_output: Callable[[str, bytes], None] | None = None
    """The id of a check and what it just printed."""
    on_files: Callable[[int], None] | None = None
    """How many files a picture has looked at, at each thousandth."""


class _Look(msgspec.Struct, frozen=True):
    """What one look found."""

    scan: Scan
    sights: dict[str, tuple[Sight, ...]]
    contract_changed: bool

    def all_sights(self) -> list[tuple[str, Sight]]:
        return [(name, sight) for name, sights in self.sights.items() for sight in sights]


class _Baseline:
    """What pictures are compared with."""

    def __init__(self, scan: Scan) -> None:
        self.files = AgentChanges(scan.counted)
        self.inputs: Mapping[str, Tree] = scan.inputs
        self.input_digests = {name: tree_digest(tree) for name, tree in scan.inputs.items()}
        self.control: Tree = scan.control


class HostVerifier:
    """Looks at a workspace and runs the checks of its contract. One run, one verifier; pictures are taken in turn."""

    def __init__(
        self,
        options: WorkspaceOptions,
        *,
        clock: Clock,
        stop: Stop | None = None,
        others: Callable[[], tuple[str, ...]] = tuple,
        told: Told = Told(),  # noqa: B008 - a frozen value
    ) -> None:
        """Prepare; nothing is read but the kind of the contract's file. Raise `ConfigError` for a pattern that is none.

        `stop` ends a check that is running. `others` names the other runs that are live in this workspace at the moment
        of the call.
        """
        if options.root == "/":
            raise ConfigError("the whole file system cannot be a workspace; nothing was started; name a folder in it")
        contract = options.contract
        self._contract = contract
        self._clock = clock
        self._others = others
        self._told = told
        self._place = Place(options.root, options.host_environment.get("HOME"))
        self._sealed = SealedFile(options.contract_file, options.contract_file_sha256)
        self._scanner = Scanner(options.root, contract, own=own_paths(options.own_paths, options.root))
        self._allowed = matcher(contract.allow_change, what="[contract] allow_change")
        self._freshness = Freshness()
        self._baseline: _Baseline | None = None
        self._shared: set[str] = set()
        self._check_writes = CheckWrites()
        self._checks = CheckHost(
            place=self._place,
            environment=options.host_environment,
            report_folder=options.report_folder,
            clock=clock,
            stop=stop or Stop(),
            on_output=told.on_output,
        )

    @property
    def check_writes(self) -> tuple[str, ...]:
        """The first of the files that changed while the checks ran, by the last picture after checks."""
        return tuple(shown(path) for path in self._check_writes.all[:MOST_CHANGES])

    def warnings(self) -> tuple[str, ...]:
        """Return what a reader of the verdict should know about the last checks, as sentences."""
        rewritten = self._check_writes.rewritten
        if not rewritten:
            return ()
        named = ", ".join(repr(shown(path)) for path in rewritten[:_NAMED])
        more = f" and {len(rewritten) - _NAMED} more" if len(rewritten) > _NAMED else ""
        return (f"files of the workspace changed while the checks ran, which counts as nobody's change: {named}{more}",)

    async def check(
        self,
        command: ValidationCommand,
        *,
        stage: Stage,  # noqa: ARG002 - a check runs in the same way at every stage
        timeout_seconds: float,
        deadline_bound: bool,
    ) -> CheckEvidence:
        """Run one validation command to its end."""
        return await run_check(command, self._checks, timeout_seconds=timeout_seconds, deadline_bound=deadline_bound)

    async def picture(self, role: Role) -> Picture:
        """Look at the workspace and compare it with the baseline.

        A baseline is what later pictures are compared with; without one, the first picture after an agent is it, and
        nothing is said about what was written. When cancelled, nothing of the look counts.
        """
        begun = self._clock.now().wall  # what is seen is at least as old as this
        work = Work(self._told.on_files)
        look = await in_thread(partial(self._look, work), end=work.end)
        return self._compare(role, look, at=begun)

    def _look(self, work: Work) -> _Look:
        try:
            scan = self._scanner.scan(work)
        except OSError as error:
            raise SignoffError(
                f"the workspace {shown(self._place.root)} cannot be read ({error.strerror}); no picture was taken; "
                "make it readable for this account"
            ) from error
        reader = Reader(work)
        sights = {
            item.id: look_at(item, scan.matches.get(item.id, ()), place=self._place, reader=reader)
            for item in self._contract.artifacts
        }
        return _Look(scan, sights, self._sealed.changed(reader))

    def _compare(self, role: Role, look: _Look, *, at: str) -> Picture:
        if role is Role.BASELINE or self._baseline is None:
            self._baseline = _Baseline(look.scan)
            self._shared.clear()
        baseline, seen = self._baseline, look.all_sights()
        match role:
            case Role.BASELINE:
                self._freshness.baseline(seen)
            case Role.AFTER_AGENT:
                baseline.files.after_agent(look.scan.counted)
                self._freshness.after_agent(seen)
            case Role.AFTER_CHECKS:
                self._check_writes = baseline.files.after_checks(look.scan.counted)
                self._freshness.after_checks(seen)
        self._shared.update(self._others())
        return self._picture(baseline, look, at=at)

    def _picture(self, baseline: _Baseline, look: _Look, *, at: str) -> Picture:
        return Picture(
            digest=baseline.files.digest(),
            changes=baseline.files.changes(),
            change_count=baseline.files.count,
            artifacts=tuple(
                self._freshness.evidence(
                    item.id, look.sights[item.id], overflow=_overflows(item, look.scan), observed_at=at
                )
                for item in self._contract.artifacts
            ),
            inputs=tuple(_input(item, baseline, look.scan, at=at) for item in self._contract.immutable),
            control=self._control_changes(baseline, look.scan),
            control_digest=tree_digest(look.scan.control),
            contract_changed=look.contract_changed,
            shared_with=tuple(sorted(self._shared)),
            observed_at=at,
        )

    def _control_changes(self, baseline: _Baseline, scan: Scan) -> tuple[Change, ...]:
        found = differences(baseline.control, scan.control)
        return changes(baseline.control, {path: entry for path, entry in found.items() if not self._allowed(path)})


def _input(item: ImmutableInput, baseline: _Baseline, scan: Scan, *, at: str) -> ImmutableInputEvidence:
    before, now = baseline.inputs[item.id], scan.inputs[item.id]
    found = differences(before, now)
    expected = baseline.input_digests[item.id]
    return ImmutableInputEvidence(
        input_id=item.id,
        expected=expected,
        observed=tree_digest(now) if found else expected,
        changes=changes(before, found),
        observed_at=at,
    )


def _overflows(item: Artifact, scan: Scan) -> bool:
    return len(scan.matches.get(item.id, ())) > MOST_MATCHES
