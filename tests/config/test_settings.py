"""The JSON Schema for editors: it stands in the docs as the code has it, and the two agree on what is valid."""

import json
import tomllib
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from signoff.config import settings_schema
from signoff.config.settings import LATER, TABLES
from signoff.config.toml_file import parse_settings
from signoff.errors import ConfigError

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "signoff.toml.schema.json"


def test_the_published_schema_is_the_present_one() -> None:
    """The file in docs is what `settings_schema` returns; write that to the file when this fails."""
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == settings_schema()
    assert PUBLISHED.read_text(encoding="utf-8") == json.dumps(settings_schema(), indent=2) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[contract]\nmode = 'enforce'\nmax_repairs = 3\n[[contract.artifact]]\npath = 'a'\nfresh = 'any'",
        "[[contract.command]]\nargv = ['a']\nreport = 'junit'\nbefore = 'failed'\n[contract.command.env]\nA = 'b'",
        "[agent]\ncommand = ['a']\ntimeout = '2h'\nattempt_timeout = 90",
        "[contract]\nmoed = 'enforce'",
        "[contract]\nmode = 'enforced'",
        "[contract]\nmax_repairs = -1",
        "[[contract.command]]\nargv = []",
        "[[contract.command]]\ntimeout_seconds = 0",
        "[[contract.artifact]]\nid = 'a'",
        "[store]\nstate_dir = 'x'",
    ],
)
def test_the_schema_agrees_with_the_code(text: str) -> None:
    """An editor marks exactly the files that the program refuses for their keys and types."""
    try:
        parse_settings(text.encode(), name="f")
        taken = True
    except ConfigError:
        taken = False
    assert jsonschema_rs.is_valid(settings_schema(), tomllib.loads(text)) is taken


def test_every_key_is_explained() -> None:
    """Each key that holds a value has a description, which an editor shows."""
    for names, shape in TABLES.items():
        properties = msgspec.json.schema(shape)["$defs"][shape.__name__]["properties"]
        plain = {key for key in properties if (*names, key) not in TABLES}
        assert [key for key in plain if "description" not in json.dumps(properties[key])] == []


def test_no_later_name_is_a_present_key() -> None:
    """A name is either of this version or of a later one."""
    present = {(*names, key) for names, shape in TABLES.items() for key in shape.__struct_fields__}
    assert present & LATER == set()
