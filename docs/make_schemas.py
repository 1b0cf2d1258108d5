"""Writes the JSON Schemas of this folder anew from the code: `python docs/make_schemas.py`."""  # noqa: INP001 - a program

import json
from pathlib import Path

from signoff.cli.result import result_schema
from signoff.config import settings_schema

SCHEMAS = {"result.schema.json": result_schema, "signoff.toml.schema.json": settings_schema}
"""What each file is made of."""


def text_of(name: str) -> str:
    """Return what the file of this name must hold."""
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


def main() -> None:
    """Write both files beside this program."""
    for name in SCHEMAS:
        (Path(__file__).parent / name).write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
