"""Joins the requirements of all sources into one list each, without doubles, and gives every requirement its own id.

A source can only add or tighten: one that repeats another's path or command is the same requirement, and one that
takes another's id gets a new id. Where a requirement came from, and whether it counts, is decided elsewhere.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

import msgspec

from signoff.core.completion.contract import Artifact, ImmutableInput, ValidationCommand
from signoff.errors import ConfigError

T = TypeVar("T", Artifact, ValidationCommand, ImmutableInput)

_LONGEST_ID = 128


class Origin(StrEnum):
    """Who declared a requirement."""

    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


class Wanted(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One requirement as one source declares it."""

    item: T
    origin: Origin
    where: str
    """The place in its source, for messages."""
    prefix: str
    """What a made id begins with."""
    named: bool = False
    """Whether its id was chosen by who declared it."""


AnyWanted: TypeAlias = Wanted[Artifact] | Wanted[ValidationCommand] | Wanted[ImmutableInput]


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What one source, or all of them, declare."""

    artifacts: tuple[Wanted[Artifact], ...] = ()
    commands: tuple[Wanted[ValidationCommand], ...] = ()
    immutable: tuple[Wanted[ImmutableInput], ...] = ()
    given: bool = False
    """Whether anything was declared, be it an empty list."""

    @property
    def checks(self) -> bool:
        """Whether there is a check or an artifact among them."""
        return bool(self.artifacts or self.commands)


class Requirements(msgspec.Struct, frozen=True, kw_only=True):
    """The requirements of a contract, each with its id."""

    artifacts: tuple[Artifact, ...]
    commands: tuple[ValidationCommand, ...]
    immutable: tuple[ImmutableInput, ...]


def join(sources: Sequence[Declared]) -> Requirements:
    """Join sources, the one that gives way first: the file, the environment, the command line."""
    artifacts = _artifacts(sources)
    commands = _commands(each for source in sources for each in source.commands)
    immutable = _immutable(each for source in sources for each in source.immutable)
    ids = iter(_ids([*artifacts, *commands, *immutable]))
    return Requirements(
        artifacts=tuple(msgspec.structs.replace(each.item, id=next(ids)) for each in artifacts),
        commands=tuple(msgspec.structs.replace(each.item, id=next(ids)) for each in commands),
        immutable=tuple(msgspec.structs.replace(each.item, id=next(ids)) for each in immutable),
    )


def _artifacts(sources: Iterable[Declared]) -> list[Wanted[Artifact]]:
    """One requirement a path: what a later source says of it holds, and what it leaves open stays."""
    found: dict[tuple[bool, str], Wanted[Artifact]] = {}
    for source in sources:
        own: dict[tuple[bool, str], Wanted[Artifact]] = {}
        for each in source.artifacts:
            key = (each.item.glob, each.item.path)
            own[key] = _once(own[key], each) if key in own else each
        for key, each in own.items():
            found[key] = _tightened(found[key], each.item) if key in found else each
    return list(found.values())


def _once(one: Wanted[Artifact], other: Wanted[Artifact]) -> Wanted[Artifact]:
    """The one requirement that a source declares in two places."""
    same = msgspec.structs.replace(other.item, id=one.item.id)
    if same == one.item and not (one.named and other.named):
        return one if one.named else other
    if one.origin is Origin.COMMAND_LINE and None in {one.item.sha256, other.item.sha256}:
        return other if one.item.sha256 is None else one
    raise _contradiction(one.where, other.where, f"say two things of {one.item.path!r}")


def _tightened(known: Wanted[Artifact], later: Artifact) -> Wanted[Artifact]:
    item = msgspec.structs.replace(known.item, required=True, sha256=later.sha256 or known.item.sha256)
    return msgspec.structs.replace(known, item=item)


def _commands(wanted: Iterable[Wanted[ValidationCommand]]) -> list[Wanted[ValidationCommand]]:
    """One check a command, unless two were given different names on purpose."""
    found: dict[object, Wanted[ValidationCommand]] = {}
    for each in wanted:
        same = msgspec.json.encode(msgspec.structs.replace(each.item, id="same"), order="deterministic")
        known = found.get(same)
        if known is None or (each.named and not known.named):
            found[same] = each
        elif each.named and (each.item.id != known.item.id or each.origin is known.origin):
            found[same, each.origin, each.item.id, each.where] = each
    return list(found.values())


def _immutable(wanted: Iterable[Wanted[ImmutableInput]]) -> list[Wanted[ImmutableInput]]:
    """One input a pattern; it may match nothing only if everybody says so."""
    found: dict[str, Wanted[ImmutableInput]] = {}
    for each in wanted:
        known = found.get(each.item.glob)
        if known is None:
            found[each.item.glob] = each
            continue
        kept = each if each.named and not known.named else known
        allowed = known.item.allow_no_match and each.item.allow_no_match
        item = msgspec.structs.replace(kept.item, allow_no_match=allowed)
        found[each.item.glob] = msgspec.structs.replace(kept, item=item)
    return list(found.values())


def _ids(every: Sequence[AnyWanted]) -> list[str]:
    """An id for each: the file's as they stand, then the environment's, then made ones; a taken id gets a number."""
    places: dict[str, str] = {}
    for each in every:
        if each.named and each.origin is Origin.FILE:
            if each.item.id in places:
                raise _contradiction(places[each.item.id], each.where, f"share the id {each.item.id!r}")
            places[each.item.id] = each.where
    chosen = {each.item.id for each in every if each.named}
    given: dict[int, str] = {}
    used = set(places)
    for number, each in enumerate(every):
        if each.named:
            wanted = each.item.id
            given[number] = wanted if each.origin is Origin.FILE else _free(wanted, used, chosen)
            used.add(given[number])
    counts: dict[str, int] = {}
    for number, each in enumerate(every):
        if not each.named:
            counts[each.prefix] = counts.get(each.prefix, 0) + 1
            given[number] = _free(f"{each.prefix}-{counts[each.prefix]}", used, used)
            used.add(given[number])
    return [given[number] for number in range(len(every))]


def _free(wanted: str, used: AbstractSet[str], reserved: AbstractSet[str]) -> str:
    """The wanted id, or else the first with a number at its end that is neither used nor reserved."""
    name, number = wanted, 1
    while name in used or (name in reserved and name != wanted):
        number += 1
        end = f"-{number}"
        name = wanted[: _LONGEST_ID - len(end)] + end
    return name


def _contradiction(one: str, other: str, what: str) -> ConfigError:
    return ConfigError(f"{one} and {other} {what}; nothing was started; keep one of them, or make them differ")
