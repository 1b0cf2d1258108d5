"""`signoff receipt verify FILE`: holds a receipt against itself and against the files it names."""

import os
import sys
from pathlib import Path

import click
import msgspec

from signoff.cli.group import Command, Group
from signoff.core.completion.contract import Artifact, leads_outside
from signoff.core.completion.evidence import FileKind
from signoff.core.receipt import TREE, Statement, Subject, inconsistencies, read_statement
from signoff.core.values import Status
from signoff.errors import ConfigError, PolicyError
from signoff.records.envelope import opened
from signoff.records.receipt_file import read_receipt
from signoff.records.text import one_line
from signoff.verifiers import inspect_one, unshown

_DIFFERS_EXIT = 1


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What came of holding a receipt against the files."""

    holds: bool
    signature: str
    """`unsigned`, or `not_checked` for a signature that this version cannot check."""
    status: Status
    run_id: str
    subjects: int
    differences: tuple[str, ...]


def verify(*, file: str, root: str, contract_sha256: str | None, as_json: bool) -> int:
    """Verify the receipt; 0 when all holds, 1 when something differs."""
    if not Path(root).is_dir():
        raise ConfigError(f"--root {root} is not a folder; nothing was verified; name the workspace's folder")
    payload, signatures = opened(read_receipt(file))
    statement = read_statement(payload)
    differences = [*inconsistencies(statement), *_expected(statement, contract_sha256)]
    differences += [fault for subject in statement.subject if (fault := _fault(subject, os.path.realpath(root)))]
    status = statement.predicate.verdict.status
    if status is not Status.COMPLETED:
        differences.append(f"it states {status}, which signs nothing off")
    result = Verified(
        holds=not differences,
        signature="not_checked" if signatures else "unsigned",
        status=status,
        run_id=statement.predicate.run.id,
        subjects=len(statement.subject),
        differences=tuple(one_line(each, limit=1000) for each in differences),
    )
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
    else:
        click.echo("\n".join(_lines(result, statement)))
    return 0 if result.holds else _DIFFERS_EXIT


def _expected(statement: Statement, contract_sha256: str | None) -> list[str]:
    if contract_sha256 is None:
        return []
    part = statement.predicate.basis
    stated = part.contract if part is not None else "none"
    wanted = contract_sha256 if contract_sha256.startswith("sha256:") else f"sha256:{contract_sha256}"
    return [] if stated == wanted else [f"it is about the contract {stated}, not {wanted}"]


def _fault(subject: Subject, root: str) -> str:
    directory = TREE in subject.digest
    stated = subject.digest.get(TREE if directory else "sha256", "")
    try:
        # With `./` before it a name is a name, also `~`.
        artifact = Artifact(id="subject", path=_in_root(unshown(subject.name)), directory=directory)
    except PolicyError:
        return f"{subject.name!r} leads out of the root and was not read"
    facts = inspect_one(root, artifact)
    if facts.kind is FileKind.MISSING:
        return f"{subject.name!r} is not there"
    if facts.sha256 is None:
        return f"{subject.name!r} cannot be compared: it is {facts.kind}"
    if facts.sha256 != f"sha256:{stated}":
        return f"{subject.name!r} has other bytes than the receipt states"
    return ""


def _in_root(name: str) -> str:
    return name if leads_outside(name) and not name.startswith("~") else f"./{name}"


def _lines(result: Verified, statement: Statement) -> list[str]:
    words = "unsigned" if result.signature == "unsigned" else "signature not checked by this version"
    run = statement.predicate.run
    lines = [
        f"{words}: run {one_line(run.id)} {result.status}, finished {one_line(run.finished_at)}",
        f"  {result.subjects} files named, assurance {statement.predicate.verdict.assurance}",
    ]
    lines += [f"  differs: {difference}" for difference in result.differences]
    if result.holds:
        more = "the files are as the receipt states" if result.subjects else "it names no file, so no file was compared"
        lines.append(f"  holds: {more}; without a checked signature this says nothing about who wrote it")
    return lines


_verify = Command(
    "verify",
    callback=verify,
    short_help="Hold a receipt against the files it names.",
    help="Hold the receipt FILE against itself and the files it names: 0 all holds, 1 something differs, 2 unreadable.",
    params=[
        click.Argument(["file"]),
        click.Option(["--root"], default=".", metavar="DIR", help="The workspace (default: this folder)."),
        click.Option(["--contract-sha256"], metavar="D", help="The contract that it must be about."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ],
    example="signoff receipt verify receipt.json --root .",
)
command = Group(
    "receipt",
    commands={"verify": _verify},
    help="Verify a receipt against the files it names.",
    example="signoff receipt verify receipt.json --root .",
)
