"""Comparing pictures: what counts as the agent's change, what as nobody's. No file is touched here."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from signoff.verifiers.files import Entry, EntryKind
from signoff.verifiers.pictures import MOST_CHANGES, AgentChanges, changes, differences, tree_digest


def tree(**files: str) -> dict[str, Entry]:
    """Return a tree of files by their content."""
    return {name: Entry(EntryKind.FILE, hashlib.sha256(content.encode()).digest()) for name, content in files.items()}


def told(agent: AgentChanges) -> dict[str, str]:
    """Return the agent's changes, by path."""
    return {change.path: change.what for change in agent.changes()}


def test_what_the_agent_did_is_told_by_kind() -> None:
    """New, changed and deleted files are told apart; what stayed is not told."""
    agent = AgentChanges(tree(same="1", other="1", gone="1"))
    agent.after_agent(tree(same="1", other="2", fresh="1"))
    assert told(agent) == {"fresh": "new", "gone": "deleted", "other": "changed"}
    assert agent.count == 3


def test_the_right_to_execute_and_the_kind_count() -> None:
    """The same bytes as an executable, or as a link's text, are a change."""
    plain = tree(a="x", b="x")
    other = {"a": Entry(EntryKind.EXECUTABLE, plain["a"].sha256), "b": Entry(EntryKind.LINK, plain["b"].sha256)}
    assert set(differences(plain, other)) == {"a", "b"}


def test_what_a_check_writes_is_nobodys_change() -> None:
    """Files that only checks wrote do not count, not even after the next turn of the agent."""
    agent = AgentChanges(tree(source="1", log="1"))
    agent.after_agent(tree(source="1", log="1"))
    writes = agent.after_checks(tree(source="1", log="2", cover="1"))
    assert (writes.all, writes.rewritten) == (("cover", "log"), ("log",))
    assert told(agent) == {}
    agent.after_agent(tree(source="1", log="2", cover="1"))
    assert told(agent) == {}


def test_a_change_of_the_first_attempt_counts_in_the_second() -> None:
    """What the agent changed stays its change while it does nothing more."""
    agent = AgentChanges(tree(source="1"))
    agent.after_agent(tree(source="2"))
    agent.after_checks(tree(source="2"))
    agent.after_agent(tree(source="2"))
    assert told(agent) == {"source": "changed"}


def test_a_change_that_was_undone_does_not_count() -> None:
    """A file that is as it was at the baseline is unchanged, whoever put it back."""
    for undo in ("agent", "check"):
        agent = AgentChanges(tree(source="1"))
        agent.after_agent(tree(source="2"))
        agent.after_checks(tree(source="1" if undo == "check" else "2"))
        agent.after_agent(tree(source="1"))
        assert (told(agent), agent.count) == ({}, 0), undo


def test_a_change_that_a_check_undid_does_not_count_at_once() -> None:
    """What a check puts back, removes or makes again is as it was: the agent has changed nothing any more."""
    agent = AgentChanges(tree(source="1", gone="1"))
    first = agent.digest()
    agent.after_agent(tree(source="2", new="1"))
    assert agent.count == 3
    agent.after_checks(tree(source="1", gone="1"))
    assert (told(agent), agent.count, agent.digest()) == ({}, 0, first)


def test_a_check_that_rewrites_the_agents_file_takes_nothing_from_the_agent() -> None:
    """The file stays the agent's change, and is named as rewritten."""
    agent = AgentChanges(tree())
    agent.after_agent(tree(report="draft"))
    assert agent.after_checks(tree(report="formatted")).rewritten == ("report",)
    assert told(agent) == {"report": "new"}
    agent.after_agent(tree(report="formatted"))
    assert told(agent) == {"report": "new"}


def test_an_agent_that_touches_what_a_check_wrote_has_changed_it() -> None:
    """What a check made is the agent's once the agent writes to it or deletes it."""
    agent = AgentChanges(tree(log="1"))
    agent.after_agent(tree(log="1"))
    agent.after_checks(tree(log="2", cover="1"))
    agent.after_agent(tree(cover="2"))
    assert told(agent) == {"cover": "new", "log": "deleted"}


def test_the_picture_is_the_same_when_only_checks_wrote() -> None:
    """The digest follows the agent's changes alone, so that an attempt without progress can be seen."""
    agent = AgentChanges(tree(source="1"))
    first = agent.digest()
    agent.after_agent(tree(source="2"))
    second = agent.digest()
    agent.after_checks(tree(source="2", log="1"))
    agent.after_agent(tree(source="2", log="1"))
    third = agent.digest()
    agent.after_checks(tree(source="2", log="2"))
    agent.after_agent(tree(source="2", log="2"))
    assert first != second
    assert second == third == agent.digest() == tree_digest(tree(source="2"))
    agent.after_agent(tree(source="1", log="2"))
    assert agent.digest() == first


def test_the_first_changes_are_named_and_all_are_counted() -> None:
    """Named changes are bounded, in the order of their paths."""
    agent = AgentChanges({})
    agent.after_agent(tree(**{f"f{n:04}": "x" for n in range(500)}))
    named = [change.path for change in agent.changes()]
    assert named == [f"f{n:04}" for n in range(MOST_CHANGES)]
    assert (agent.count, MOST_CHANGES) == (500, 200)


def test_odd_names_are_shown_in_changes() -> None:
    """A change carries the name as text that can be shown."""
    assert [change.path for change in changes({}, {"a\nb\udcff": None})] == [r"a\x0ab\xff"]


NAMES = st.text(alphabet="ab/\n", min_size=1, max_size=4)
TREES = st.dictionaries(NAMES, st.builds(Entry, st.sampled_from(EntryKind), st.sampled_from([b"", b"1", b"2"])))


@given(TREES, TREES)
def test_the_digest_of_a_tree_tells_trees_apart(one: dict[str, Entry], other: dict[str, Entry]) -> None:
    """Two trees have one digest when they are equal, and then alone."""
    assert (tree_digest(one) == tree_digest(other)) is (one == other)


@given(TREES, TREES)
def test_differences_lead_from_one_tree_to_the_other(before: dict[str, Entry], after: dict[str, Entry]) -> None:
    """Applied to the earlier tree, the differences give the later one."""
    result = dict(before)
    for path, entry in differences(before, after).items():
        if entry is None:
            del result[path]
        else:
            result[path] = entry
    assert result == after


@given(TREES, st.lists(st.tuples(TREES, TREES), max_size=3))
def test_the_agent_changed_nothing_that_only_checks_touched(
    baseline: dict[str, Entry], attempts: list[tuple[dict[str, Entry], dict[str, Entry]]]
) -> None:
    """Whatever happens, a change is a path that differed over a turn of the agent and never was as before since."""
    agent = AgentChanges(baseline)
    last = baseline
    touched: set[str] = set()
    for after_agent, after_checks in attempts:
        touched = (touched | set(differences(last, after_agent))) & set(differences(baseline, after_agent))
        agent.after_agent(after_agent)
        assert agent.count == len(touched)
        agent.after_checks(after_checks)
        touched &= set(differences(baseline, after_checks))
        assert agent.count == len(touched)
        last = after_checks
