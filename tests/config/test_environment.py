"""The completion variables: what each form of each value means, under its own name and its alias."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config.environment import (
    completion_mode,
    max_repairs,
    require_agreement,
    required_artifacts,
    validation_commands,
    variable_of,
)
from signoff.core.completion.contract import Mode, ValidationCommand
from tests.config.resolving import any_speed, complaint, refusal

PREFIXES = ("SIGNOFF_", "AWORLD_")
NAMES = ("COMPLETION_MODE", "COMPLETION_MAX_REPAIRS", "REQUIRED_ARTIFACTS_JSON", "VALIDATION_COMMANDS_JSON")
both_names = pytest.mark.parametrize("prefix", PREFIXES)


def commands(text: str, prefix: str = "SIGNOFF_") -> tuple[ValidationCommand, ...] | None:
    """Return the commands that a variable of this text gives."""
    return validation_commands({f"{prefix}VALIDATION_COMMANDS_JSON": text}, root="/w", home="/home/u")


@both_names
@pytest.mark.parametrize(
    ("text", "mode"),
    [("enforce", Mode.ENFORCE), (" Observe\n", Mode.OBSERVE), ("OFF", Mode.OFF), ("", None), (" \t", None)],
)
def test_a_mode_is_a_word(prefix: str, text: str, mode: Mode | None) -> None:
    """Blanks and case do not count; blank is unset."""
    assert completion_mode({f"{prefix}COMPLETION_MODE": text}) == mode


@both_names
@pytest.mark.parametrize("text", ["on", "enforced", "1", "\udcff", "off off"])
def test_another_word_is_refused(prefix: str, text: str) -> None:
    """Any other word is an error that names the variable and the three words."""
    message = refusal(lambda: completion_mode({f"{prefix}COMPLETION_MODE": text}))
    assert message.startswith(f"{prefix}COMPLETION_MODE is ")
    assert message.endswith("write one of off, observe, enforce")


@pytest.mark.scenario("CC-013")
@pytest.mark.parametrize(
    "environment", [{}, {"SIGNOFF_COMPLETION_MAX_REPAIRS": ""}, {"AWORLD_COMPLETION_MAX_REPAIRS": " "}]
)
def test_no_number_of_repairs_is_no_bound(environment: dict[str, str]) -> None:
    """Unset and blank mean that there is no bound; the number zero is one."""
    assert max_repairs(environment) is None
    assert max_repairs({"SIGNOFF_COMPLETION_MAX_REPAIRS": "0"}) == 0


@both_names
@pytest.mark.scenario("CC-012")
@pytest.mark.parametrize("text", ["-1", "+1", "1.5", "three", "1e1", "٣"])
def test_a_bad_number_of_repairs_is_refused(prefix: str, text: str) -> None:
    """Signs, fractions and words are errors that name the variable."""
    message = refusal(lambda: max_repairs({f"{prefix}COMPLETION_MAX_REPAIRS": text}))
    assert message.startswith(f"{prefix}COMPLETION_MAX_REPAIRS is ")
    assert max_repairs({f"{prefix}COMPLETION_MAX_REPAIRS": " 3 "}) == 3


@both_names
def test_artifacts_are_an_array_of_paths(prefix: str) -> None:
    """Paths come trimmed and in order; an empty array is given, a blank text is not."""
    name = f"{prefix}REQUIRED_ARTIFACTS_JSON"
    assert required_artifacts({name: '[" a.md ", "b c"]'}) == ("a.md", "b c")
    assert required_artifacts({name: "[]"}) == ()
    assert required_artifacts({name: "  "}) is None
    assert required_artifacts({}) is None


@pytest.mark.scenario("CC-009")
@both_names
@pytest.mark.parametrize(
    "text", ['{"a": 1}', '"a"', "1", "null", "[1]", '["a", " "]', '["a", null]', "[", "a", '["a"] x', "[NaN]", "\udcff"]
)
def test_other_artifacts_are_refused(prefix: str, text: str) -> None:
    """What is no array, or holds what is no path, is an error that names the variable."""
    message = refusal(lambda: required_artifacts({f"{prefix}REQUIRED_ARTIFACTS_JSON": text}))
    assert message.startswith(f"{prefix}REQUIRED_ARTIFACTS_JSON: ")
    assert '["report.md"]' in message


@both_names
def test_commands_are_an_array_of_objects(prefix: str) -> None:
    """Each has an id and words, and where asked a folder and a time; the rest is as in any contract."""
    second = '{"command_id": "b", "argv": ["y"], "cwd": "./s/", "timeout_seconds": 7}'
    text = f'[{{"command_id": "a", "argv": ["x", ""]}}, {second}]'
    assert commands(text, prefix) == (
        ValidationCommand(id="a", argv=("x", "")),
        ValidationCommand(id="b", argv=("y",), cwd="s", timeout_seconds=7),
    )
    assert commands("[]", prefix) == ()
    assert commands(" ", prefix) is None


@pytest.mark.scenario("CC-022", "CC-113")
@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"command_id": "a", "argv": "pytest -q"}, "its item 2 has no argv that is an array"),
        ({"command_id": "a", "argv": []}, "its item 2 has no argv that is an array"),
        ({"command_id": "a", "argv": ["x", 1]}, "its item 2 has no argv that is an array"),
        ({"command_id": "a"}, "its item 2 has no argv that is an array"),
        ({"command_id": "a", "argv": [" "]}, "its item 2 cannot be used: check a has an empty program name"),
        ({"command_id": "a", "argv": ["x"], "shell": "x"}, 'its item 2 has the unknown key "shell"'),
        ({"command_id": "first", "argv": ["x"]}, "it holds the command_id 'first' twice"),
        ({"argv": ["x"]}, "its item 2 has no command_id"),
        ({"command_id": 1, "argv": ["x"]}, "its item 2 has no command_id"),
        ({"command_id": "a b", "argv": ["x"]}, "its item 2 cannot be used: check id 'a b' is not a usable id"),
        ({"command_id": "a", "argv": ["x"], "cwd": None}, "its item 2 has a cwd that is no string but null"),
        ({"command_id": "a", "argv": ["x"], "cwd": ".."}, "its item 2 cannot be used: check a: cwd '..' leads out"),
        ({"command_id": "a", "argv": ["x"], "cwd": "/x"}, "its item 2 cannot be used: check a: cwd '/x' leads out"),
        ({"command_id": "a", "argv": ["x"], "timeout_seconds": 0}, "its item 2 has a timeout_seconds that is no whole"),
        (
            {"command_id": "a", "argv": ["x"], "timeout_seconds": 1.5},
            "its item 2 has a timeout_seconds that is no whole",
        ),
        (
            {"command_id": "a", "argv": ["x"], "timeout_seconds": True},
            "its item 2 has a timeout_seconds that is no who",
        ),
        (["a"], "its item 2 is no object but an array"),
        (None, "its item 2 is no object but null"),
    ],
)
def test_other_commands_are_refused(item: object, said: str) -> None:
    """Any other form is an error that names the variable, the item and the form that is wanted."""
    text = json.dumps([{"command_id": "first", "argv": ["x"]}, item])
    message = refusal(lambda: commands(text))
    assert message.startswith(f"SIGNOFF_VALIDATION_COMMANDS_JSON: {said}")
    assert "nothing was started" in message


@pytest.mark.scenario("CC-022")
@pytest.mark.parametrize("text", ["{}", "1", "[", '[{"command_id": "a", "command_id": "b", "argv": ["x"]}]'])
def test_no_array_of_commands_is_refused(text: str) -> None:
    """What is no array, no JSON, or says a key twice is an error that names the variable."""
    assert refusal(lambda: commands(text, "AWORLD_")).startswith("AWORLD_VALIDATION_COMMANDS_JSON: ")


@pytest.mark.scenario("CC-206")
@pytest.mark.parametrize("name", NAMES)
def test_a_variable_and_its_alias_must_agree(name: str) -> None:
    """Both set and different is an error that names both; equal, or one of them blank, is fine."""
    own, alias = f"SIGNOFF_{name}", f"AWORLD_{name}"
    message = refusal(lambda: require_agreement({own: "1", alias: "2"}))
    assert own in message
    assert alias in message
    require_agreement({own: "1", alias: " 1"})
    require_agreement({own: "1", alias: ""})
    assert variable_of({own: " ", alias: "1"}, name) == alias
    assert variable_of({own: "1", alias: "1"}, name) == own
    assert variable_of({}, name) is None


def test_case_does_not_part_two_modes() -> None:
    """A mode in capitals is the same mode."""
    require_agreement({"SIGNOFF_COMPLETION_MODE": "ENFORCE", "AWORLD_COMPLETION_MODE": "enforce"})


TEXTS = st.text(st.characters(codec=None, exclude_characters="\0"))
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["a", "..", "~", "/w/x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["command_id", "argv", "cwd", "timeout_seconds", "x"]), inner)
    ),
    max_leaves=8,
).map(json.dumps)


@any_speed
@given(st.dictionaries(st.sampled_from([prefix + name for prefix in PREFIXES for name in NAMES]), TEXTS | JSONS))
def test_any_text_is_a_value_or_a_fault(environment: dict[str, str]) -> None:
    """Whatever the texts, they are read, or refused with a message that can be written anywhere."""
    said = [
        complaint(lambda: require_agreement(environment)),
        complaint(lambda: completion_mode(environment)),
        complaint(lambda: max_repairs(environment)),
        complaint(lambda: required_artifacts(environment)),
        complaint(lambda: validation_commands(environment, root="/w", home="")),
    ]
    assert all(message.encode() for message in said if message is not None)
