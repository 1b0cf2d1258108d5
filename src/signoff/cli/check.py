"""`signoff check`: takes the checks of the contract once, without an agent."""

import os

import click

from signoff.cli.group import Command
from signoff.cli.hosting import host
from signoff.cli.options import command_line, contract_options, here, place_options
from signoff.config.resolve import resolve
from signoff.core.goal.events import Kind


def check(**values: object) -> int:
    """Take the checks and return the exit code."""
    configuration = resolve(command_line(values), environment=os.environ, cwd=here())
    receipt = values.get("receipt")
    return host(
        configuration,
        Kind.CHECK,
        receipt=receipt if isinstance(receipt, str) else None,
        as_json=bool(values["as_json"]),
    )


command = Command(
    "check",
    callback=check,
    help="Take the checks of the contract once, for people and CI.",
    params=[
        *contract_options(),
        click.Option(["--timeout"], metavar="TIME", help="Bound of all checks together, as 90s, 10m (default: 24h)."),
        *place_options(),
    ],
    example='signoff check --verify "pytest -q" --artifact dist/report.txt',
)
