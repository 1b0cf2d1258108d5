"""Requests: what may be constructed, and how it reads."""

from typing import Any

import pytest

from signoff.core.model.request import Choice, ModelRequest, Tool, required_of, schema_of
from signoff.errors import PolicyError


@pytest.mark.parametrize("name", ["f", "_", "read_file-2", "A" * 64])
def test_a_tool_has_a_name_that_every_provider_takes(name: str) -> None:
    """A letter or `_`, then letters, digits, `_` and `-`, 64 in all."""
    assert Tool(name=name).schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("name", ["", "2f", "-f", "a b", "a.b", "f\n", "A" * 65, "\u00e9t\u00e9"])
def test_other_names_are_refused(name: str) -> None:
    """A name that one provider would refuse is refused at once."""
    with pytest.raises(PolicyError, match="not usable with every provider"):
        Tool(name=name)


@pytest.mark.parametrize("parameters", ["", "{", '{"a":1,"a":2}', "NaN"])
def test_a_schema_is_strict_json(parameters: str) -> None:
    """Parameters that are no JSON are refused with the reason."""
    with pytest.raises(PolicyError, match=r"are not JSON Schema: The (text|value) was refused"):
        Tool(name="f", parameters=parameters)


@pytest.mark.parametrize("parameters", ["[]", "true", '"object"'])
def test_a_schema_is_an_object(parameters: str) -> None:
    """Parameters of another form are shown and refused."""
    with pytest.raises(PolicyError, match="give a JSON Schema of type object"):
        schema_of(parameters)


@pytest.mark.parametrize(("mode", "name"), [("auto", ""), ("none", ""), ("required", ""), ("tool", "f")])
def test_a_choice_is_one_of_four(mode: str, name: str) -> None:
    """A name belongs to `tool` and to nothing else."""
    assert Choice(mode=mode, name=name).mode == mode


@pytest.mark.parametrize(("mode", "name"), [("any", ""), ("", ""), ("tool", ""), ("auto", "f")])
def test_other_choices_are_refused(mode: str, name: str) -> None:
    """An unknown mode, a missing name and a name too many are refused."""
    with pytest.raises(PolicyError, match="is none of auto, none, required, tool with a name"):
        Choice(mode=mode, name=name)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5])
def test_a_limit_of_tokens_is_a_count(limit: Any) -> None:  # noqa: ANN401 - what no limit may be
    """At least one token, or no limit."""
    assert ModelRequest(messages=()).max_output_tokens is None
    assert ModelRequest(messages=(), max_output_tokens=1).max_output_tokens == 1
    with pytest.raises(PolicyError, match="max_output_tokens"):
        ModelRequest(messages=(), max_output_tokens=limit)


def test_what_a_tool_requires() -> None:
    """The names of required arguments, in the schema's order; none for a tool that is unknown or says none."""
    assert required_of(Tool(name="f", parameters='{"required":["b","a",5]}')) == ("b", "a")
    assert required_of(Tool(name="f", parameters='{"required":"a"}')) == ()
    assert required_of(Tool(name="f")) == required_of(None) == ()


@pytest.mark.parametrize(
    "parameters", ['{"type":"array"}', '{"type":["object"]}', '{"type":1}', {"type": "object"}, None]
)
def test_parameters_are_the_text_of_an_object_schema(parameters: object) -> None:
    """A schema given as a value, or one of something else than an object, is refused with what to do."""
    with pytest.raises(PolicyError, match=r"text: json\.dumps|arguments are an object"):
        Tool(name="f", parameters=parameters)  # type: ignore[arg-type]
