"""The verifier over a whole workspace: what a picture says about the agent, the checks, and what must not change."""

import os
import shutil
import socket
from pathlib import Path

import anyio
import pytest

from signoff.core.canonical import digest_bytes
from signoff.core.completion.contract import Artifact, Contract, Fresh, ImmutableInput
from signoff.core.completion.evidence import FileKind, Picture
from signoff.core.goal.events import Role
from signoff.errors import ConfigError, SignoffError
from signoff.testing.fake_clock import START, FakeClock
from signoff.verifiers import HostVerifier, Told, WorkspaceOptions, unshown
from signoff.verifiers.pictures import MOST_CHANGES
from tests.verifiers.looking import Bench, changed, contract, the_artifact, the_file, the_input, touched


def test_a_run_without_a_change_has_none(tmp_path: Path) -> None:
    """An agent that does nothing changed nothing, and the pictures are one."""
    b = Bench(tmp_path, contract(immutable=("tests/",)))
    b.write({"src/a.py": "1", "tests/test_a.py": "1"})
    pictures = [b.baseline(), b.after_agent(), b.after_checks()]
    assert [changed(picture) for picture in pictures] == [{}, {}, {}]
    assert len({picture.digest for picture in pictures}) == len({picture.control_digest for picture in pictures}) == 1
    assert all(the_input(picture).expected == the_input(picture).observed for picture in pictures)
    assert all(picture.observed_at[:19] == START[:19] and not picture.contract_changed for picture in pictures)


def test_what_the_agent_did_is_told(tmp_path: Path) -> None:
    """New, changed and deleted files, and a new right to execute, are told by path and counted."""
    b = Bench(tmp_path)
    b.write({"kept": "1", "edited": "1", "deleted": "1", "run.sh": "1"})
    before = b.baseline()
    (tmp_path / "run.sh").chmod(0o755)
    picture = b.after_agent({"edited": "2", "deleted": None, "sub/new": "1"})
    assert changed(picture) == {"deleted": "deleted", "edited": "changed", "run.sh": "changed", "sub/new": "new"}
    assert picture.change_count == 4
    assert picture.digest != before.digest


def test_what_never_counts_is_no_change(tmp_path: Path) -> None:
    """Caches, version control, ignored files, the host's own files and empty folders do not count."""
    b = Bench(tmp_path, contract(ignore=("*.log", "history/")), own=("out.txt", str(tmp_path / ".state")))
    b.baseline()
    names = (
        ".git/index",
        "sub/.git",
        "__pycache__/a.pyc",
        "pkg/.pytest_cache/x",
        "node_modules/.cache/x",
        ".coverage",
        "agent.log",
        "history/x",
        "out.txt",
        ".state/db",
    )
    (tmp_path / "empty").mkdir()
    picture = b.after_agent(dict.fromkeys(names, "1"))
    assert (changed(picture), picture.change_count) == ({}, 0)


def test_what_a_check_writes_is_nobodys_change(tmp_path: Path) -> None:
    """Files that the checks write are told apart, and do not count in the next attempt either."""
    b = Bench(tmp_path)
    b.write({"log": "1"})
    b.baseline()
    b.after_agent({"agents": "1"})
    assert list(b.verifier.check_writes) == []
    after = b.after_checks({"log": "2", "build/out": "1"})
    assert changed(after) == {"agents": "new"}
    assert list(b.verifier.check_writes) == ["build/out", "log"]
    (warning,) = b.verifier.warnings()
    assert "'log'" in warning
    assert "build" not in warning
    assert changed(b.after_agent()) == {"agents": "new"}
    b.after_checks()
    assert [*b.verifier.check_writes, *b.verifier.warnings()] == []


def test_a_later_attempt_is_compared_with_the_baseline(tmp_path: Path) -> None:
    """A change of the first attempt counts in the second, unless it was undone."""
    b = Bench(tmp_path)
    b.write({"a": "1", "b": "1"})
    b.baseline()
    b.after_agent({"a": "2", "b": "2"})
    b.after_checks()
    assert changed(b.after_agent({"b": "1"})) == {"a": "changed"}


def test_changes_are_named_up_to_a_bound_and_all_counted(tmp_path: Path) -> None:
    """A picture stays small however much was done."""
    b = Bench(tmp_path)
    b.baseline()
    picture = b.after_agent({f"f{n:04}": "x" for n in range(MOST_CHANGES + 50)})
    assert (len(picture.changes), picture.change_count) == (MOST_CHANGES, MOST_CHANGES + 50)


def test_an_edit_that_hides_is_found_where_it_matters(tmp_path: Path) -> None:
    """An edit of an immutable file that keeps size and time of writing is found, since bytes are compared."""
    b = Bench(tmp_path, contract(immutable=("tests/",)))
    b.write({"tests/test_a.py": "assert 1"})
    os.utime(tmp_path / "tests" / "test_a.py", ns=(0, 0))
    b.baseline()
    b.write({"tests/test_a.py": "assert 2"})
    os.utime(tmp_path / "tests" / "test_a.py", ns=(0, 0))
    evidence = the_input(b.after_agent())
    assert touched(evidence) == {"tests/test_a.py": "changed"}
    assert evidence.expected != evidence.observed


def test_new_and_deleted_files_under_an_immutable_glob_are_found(tmp_path: Path) -> None:
    """A file added beside the tests, a link, a renamed and a deleted one are told by path."""
    b = Bench(tmp_path, contract(immutable=("tests/",)))
    b.write({"tests/test_a.py": "1", "tests/deep/test_b.py": "1", "src/x.py": "1"})
    b.baseline()
    (tmp_path / "tests" / "test_a.py").rename(tmp_path / "tests" / "moved.py")
    (tmp_path / "tests" / "link").symlink_to("../src/x.py")
    picture = b.after_agent({"tests/deep/conftest.py": "1", "tests/deep/test_b.py": None, "src/x.py": "2"})
    assert touched(the_input(picture)) == {
        "tests/deep/conftest.py": "new",
        "tests/deep/test_b.py": "deleted",
        "tests/link": "new",
        "tests/moved.py": "new",
        "tests/test_a.py": "deleted",
    }


def test_caches_under_an_immutable_glob_are_neither_read_nor_missed(tmp_path: Path) -> None:
    """Running the tests honestly leaves caches there, which is no change; a compiled module beside them is one."""
    b = Bench(tmp_path, contract(immutable=("tests/",)))
    b.write({"tests/test_a.py": "1", "tests/__pycache__/test_a.pyc": "1"})
    b.baseline()
    picture = b.after_agent({"tests/__pycache__/test_a.pyc": "2", "tests/.pytest_cache/v": "1"})
    assert touched(the_input(picture)) == {}
    assert touched(the_input(b.after_agent({"tests/helper.pyc": "1"}))) == {"tests/helper.pyc": "new"}


def test_an_input_that_was_restored_is_as_before(tmp_path: Path) -> None:
    """Put back, an immutable file has the expected digest again; a check's change of it is seen as well."""
    b = Bench(tmp_path, contract(immutable=("tests/",)))
    b.write({"tests/a": "1"})
    b.baseline()
    assert touched(the_input(b.after_agent({"tests/a": "2"})))
    restored = the_input(b.after_agent({"tests/a": "1"}))
    assert (touched(restored), restored.expected) == ({}, restored.observed)
    assert touched(the_input(b.after_checks({"tests/a": "3"}))) == {"tests/a": "changed"}


def test_each_immutable_input_has_its_own_evidence(tmp_path: Path) -> None:
    """Overlapping globs are judged apart."""
    b = Bench(tmp_path, contract(immutable=("tests/", "*.json")))
    b.write({"tests/a.py": "1", "tests/b.json": "1", "c.json": "1"})
    b.baseline()
    first, second = b.after_agent({"tests/a.py": "2", "tests/b.json": "2", "c.json": "2"}).inputs
    assert touched(first) == {"tests/a.py": "changed", "tests/b.json": "changed"}
    assert touched(second) == {"c.json": "changed", "tests/b.json": "changed"}


@pytest.mark.scenario("CC-115")
def test_odd_names_work_everywhere(tmp_path: Path) -> None:
    """Unicode, spaces, newlines and bytes that are no UTF-8 are seen as changes, inputs, artifacts and matches."""
    odd = ["ümlaut 文件.txt", " leading.txt", "new\nline.txt", os.fsdecode(b"caf\xe9.txt")]
    b = Bench(
        tmp_path,
        contract(
            *(Artifact(id=f"a{n}", path=f"out/{name}") for n, name in enumerate(odd)),
            Artifact(id="all", path="out/*.txt", glob=True, min_count=4),
            immutable=("in/",),
        ),
    )
    b.write({f"in/dir\n{name}/x": "1" for name in odd})
    b.baseline()
    b.write({f"in/dir\n{name}/x": "2" for name in odd})
    picture = b.after_agent({f"out/{name}": "1" for name in odd})
    assert {unshown(path) for path in changed(picture)} >= {f"out/{name}" for name in odd}
    assert {unshown(path) for path in touched(the_input(picture))} == {f"in/dir\n{name}/x" for name in odd}
    *single, matches = picture.artifacts
    assert [unshown(item.files[0].path) for item in single] == [f"out/{name}" for name in odd]
    assert all(item.files[0].kind is FileKind.FILE and item.files[0].written for item in single)
    assert {unshown(file.path) for file in matches.files} == {f"out/{name}" for name in odd}


@pytest.mark.scenario("CC-116")
def test_special_files_are_facts_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO or socket as an artifact, an input or any other file is told and never waited for."""
    monkeypatch.chdir(tmp_path)
    b = Bench(tmp_path, contract(Artifact(id="a", path="fifo"), immutable=("in/",)))
    (tmp_path / "in").mkdir()
    b.baseline()
    for name in ("fifo", "in/fifo", "other"):
        os.mkfifo(name)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        picture = b.after_agent()
    assert the_file(picture).kind is FileKind.OTHER
    assert touched(the_input(picture)) == {"in/fifo": "new"}
    assert set(changed(picture)) == {"fifo", "in/fifo", "other", "socket"}


@pytest.mark.scenario("CC-117")
def test_a_hundred_thousand_files_under_an_immutable_glob(tmp_path: Path) -> None:
    """All are read at every picture, one that changed is found, and the files are counted while one waits."""
    heard: list[int] = []
    for folder in range(100):
        (tmp_path / f"in/{folder}").mkdir(parents=True)
        place = f"{tmp_path}/in/{folder}"
        Path(f"{place}/0").write_text(f"{folder}")
        for name in range(1, 1000):  # names of one file: each is a file to who reads them, and quickly made
            os.link(f"{place}/0", f"{place}/{name}")
    options = WorkspaceOptions(
        root=os.path.realpath(tmp_path),
        contract=Contract(immutable=(ImmutableInput(id="in", glob="in/"),)),
        report_folder="",
        host_environment={},
    )
    verifier = HostVerifier(options, clock=FakeClock(), told=Told(on_files=heard.append))
    anyio.run(verifier.picture, Role.BASELINE)
    assert heard == [1000 * n for n in range(1, 101)]
    (tmp_path / "in/57/123").unlink()
    (tmp_path / "in/57/123").write_text("x")
    picture = anyio.run(verifier.picture, Role.AFTER_AGENT)
    assert touched(the_input(picture)) == {"in/57/123": "changed"}
    shutil.rmtree(tmp_path / "in")


def test_a_glob_of_artifacts_matches_anywhere_but_in_caches(tmp_path: Path) -> None:
    """Each match is a file of the evidence, ignored ones too; without a match there is none, and no overflow."""
    b = Bench(tmp_path, contract(Artifact(id="a", path="out/**/*.csv", glob=True), ignore=("out/",)))
    assert the_artifact(b.baseline()).files == ()
    picture = b.after_agent({"out/a.csv": "1", "out/b/c.csv": "1", "out/__pycache__/d.csv": "1", "e.csv": "1"})
    assert [file.path for file in the_artifact(picture).files] == ["out/a.csv", "out/b/c.csv"]
    assert (the_artifact(picture).overflow, changed(picture)) == (False, {"e.csv": "new"})


def test_too_many_matches_are_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound nothing is claimed."""
    for module in ("artifacts", "workspace"):
        monkeypatch.setattr(f"signoff.verifiers.{module}.MOST_MATCHES", 3)
    b = Bench(tmp_path, contract(Artifact(id="a", path="*.csv", glob=True, fresh=Fresh.ANY)))
    b.baseline()
    assert not the_artifact(b.after_agent({f"{n}.csv": "1" for n in range(3)})).overflow
    evidence = the_artifact(b.after_agent({"3.csv": "1"}))
    assert (evidence.overflow, len(evidence.files)) == (True, 3)


def test_the_contracts_file_is_watched(tmp_path: Path) -> None:
    """A picture says whether the file is still the one that was sealed."""
    (tmp_path / "signoff.toml").write_text("sealed")
    options = WorkspaceOptions(
        root=os.path.realpath(tmp_path),
        contract=Contract(),
        contract_file=str(tmp_path / "signoff.toml"),
        contract_file_sha256=digest_bytes(b"sealed"),
        report_folder="",
        host_environment={},
    )
    verifier = HostVerifier(options, clock=FakeClock())
    assert not anyio.run(verifier.picture, Role.BASELINE).contract_changed
    (tmp_path / "signoff.toml").write_text("weaker")
    assert anyio.run(verifier.picture, Role.AFTER_AGENT).contract_changed


def test_other_runs_are_remembered_from_the_baseline_on(tmp_path: Path) -> None:
    """A run that was live at any picture since the baseline is named, also when it is over."""
    live = ["before"]
    b = Bench(tmp_path, others=lambda: tuple(live))
    assert b.baseline().shared_with == ("before",)
    live[:] = ["other"]
    assert b.after_agent().shared_with == ("before", "other")
    live.clear()
    assert b.after_checks().shared_with == ("before", "other")
    assert b.baseline().shared_with == ()


def test_without_a_baseline_the_first_picture_is_it(tmp_path: Path) -> None:
    """A contract that is checked by itself has no changes, and what its checks write is nobody's."""
    b = Bench(tmp_path, contract(immutable=("tests/",)))
    b.write({"tests/a": "1"})
    assert changed(b.after_agent()) == {}
    picture = b.after_checks({"new": "1", "tests/a": "2"})
    assert changed(picture) == {}
    assert touched(the_input(picture)) == {"tests/a": "changed"}


def test_a_workspace_that_is_gone_is_empty(tmp_path: Path) -> None:
    """An agent that removes or replaces the folder has deleted everything."""
    root = tmp_path / "root"
    root.mkdir()
    b = Bench(root, contract(immutable=("tests/",)))
    b.write({"tests/a": "1", "b": "1"})
    b.baseline()
    root.rename(tmp_path / "moved")
    root.symlink_to("moved")
    picture = b.after_agent()
    assert changed(picture) == {"b": "deleted", "tests/a": "deleted"}
    assert touched(the_input(picture)) == {"tests/a": "deleted"}


def test_a_workspace_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """The host says that it could not look, instead of seeing nothing."""
    options = WorkspaceOptions(
        root=str(tmp_path / ("x" * 300)), contract=Contract(), report_folder="", host_environment={}
    )
    verifier = HostVerifier(options, clock=FakeClock())
    with pytest.raises(SignoffError, match=r"cannot be read .* no picture was taken"):
        anyio.run(verifier.picture, Role.BASELINE)


def test_what_cannot_be_a_workspace_is_refused(tmp_path: Path) -> None:
    """The root of the file system, and a contract with a pattern that is none, are refused before anything is read."""
    for root, given in (("/", Contract()), (str(tmp_path), Contract(ignore=("!",)))):
        options = WorkspaceOptions(root=root, contract=given, report_folder="", host_environment={})
        with pytest.raises(ConfigError, match="nothing was started"):
            HostVerifier(options, clock=FakeClock())


def test_a_cancelled_picture_counts_for_nothing(tmp_path: Path) -> None:
    """A look that is cancelled ends within a file, and the next one is compared as if it had not been."""
    b = Bench(tmp_path)
    b.write({f"f{n}": "x" for n in range(4000)})
    b.baseline()
    b.write({"f0": "y"})
    heard: list[int] = []
    pictures: list[Picture] = []

    async def cancel_at_the_thousandth() -> None:
        with anyio.CancelScope() as scope:

            def told(count: int) -> None:
                heard.append(count)
                anyio.from_thread.run_sync(scope.cancel)
                for _ in range(10):  # the cancellation has arrived after a few turns of the loop
                    anyio.from_thread.run_sync(lambda: None)

            b.verifier._told = Told(on_files=told)
            pictures.append(await b.verifier.picture(Role.AFTER_AGENT))
        assert scope.cancelled_caught

    anyio.run(cancel_at_the_thousandth)
    assert (heard, pictures) == ([1000], [])
    b.verifier._told = Told()
    assert changed(b.after_agent()) == {"f0": "changed"}
