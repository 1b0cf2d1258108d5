"""Finds the project's store for the commands that only read it, and runs by a prefix of their id."""

import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import anyio

from signoff.config.state_folder import existing_database
from signoff.errors import ConfigError
from signoff.ports import Record
from signoff.stores.sql import SqliteStore

T = TypeVar("T")
_MOST_NAMED = 5


def reading(cwd: str | None, read: Callable[[SqliteStore], Coroutine[Any, Any, T]]) -> T | None:
    """Open the store of the project in `cwd` and read it; None when the project has no store yet."""
    root = os.path.realpath(cwd or ".")
    if not Path(root).is_dir():
        raise ConfigError(f"--cwd {cwd} is not a folder; nothing was read; name the project's folder")
    path = existing_database(root, environment=os.environ)
    if path is None:
        return None

    async def opened() -> T:
        store = SqliteStore(path, read_only=True)
        try:
            return await read(store)
        finally:
            await store.close()

    return anyio.run(opened)


def no_such_run(run: str) -> ConfigError:
    """Return the error for a run that is not there."""
    return ConfigError(f"there is no run {run!r} in this project; nothing was shown; `signoff runs` lists them")


async def records_of(store: SqliteStore, prefix: str) -> tuple[Record, ...]:
    """Return the journal of the one run whose id begins with `prefix`; `latest` names the last one."""
    found = await store.runs()
    names = [ends.first.run_id for ends in found]
    if prefix == "latest" and names:
        return await store.read(names[0])
    if prefix in names:
        return await store.read(prefix)
    fitting = [name for name in names if prefix and name.startswith(prefix)]
    if not fitting:
        raise no_such_run(prefix)
    if len(fitting) > 1:
        shown = ", ".join(fitting[:_MOST_NAMED])
        raise ConfigError(f"{prefix!r} fits {len(fitting)} runs: {shown}; nothing was shown; give more of the id")
    return await store.read(fitting[0])
