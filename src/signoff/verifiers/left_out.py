"""What never counts in a workspace: caches, and the folders of version control. Published, so that nobody has to guess.

Nothing that an agent may be asked to deliver must stand here. A compiled module outside `__pycache__` is no cache: it
can be imported by itself, without its source.
"""

from itertools import pairwise
from typing import Final

CACHE_FOLDERS: Final = (
    ".gradle",
    ".hypothesis",
    ".import_linter_cache",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".next/cache",
    ".nox",
    ".nyc_output",
    ".parcel-cache",
    ".phpunit.cache",
    ".pyre",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".sass-cache",
    ".tox",
    ".turbo",
    "__pycache__",
    "node_modules/.cache",
    "node_modules/.vite",
)
"""Folders of caches, at any depth; `a/b` is a folder b right below a folder a."""

CACHE_FILES: Final = (
    ".DS_Store",
    ".coverage",
    ".coverage.*",
    ".dmypy.json",
    ".eslintcache",
    ".phpunit.result.cache",
    ".stylelintcache",
    "Thumbs.db",
)
"""Files of caches, at any depth; `*` stands at the end only."""

CACHES: Final = (*(f"{folder}/" for folder in CACHE_FOLDERS), *CACHE_FILES)
"""Caches as patterns of the gitignore dialect, for people."""

VERSION_CONTROL: Final = (".bzr", ".git", ".hg", ".jj", ".pijul", ".sl", ".svn", "CVS", "_darcs")
"""Folders of version control, at any depth; a file of such a name (a worktree's `.git`) is left out too."""

_FOLDERS = frozenset(folder for folder in CACHE_FOLDERS if "/" not in folder)
_NESTED = frozenset(folder for folder in CACHE_FOLDERS if "/" in folder)
_NESTED_NAMES = frozenset(folder.partition("/")[2] for folder in _NESTED)
_FILES = frozenset(file for file in CACHE_FILES if not file.endswith("*"))
_FILE_BEGINNINGS = tuple(file.removesuffix("*") for file in CACHE_FILES if file.endswith("*"))
_CONTROLLED = frozenset(VERSION_CONTROL)


def folder_left_out(name: str, *, above: str) -> bool:
    """Whether a folder of this name, right below a folder named `above`, is a cache or version control."""
    if name in _FOLDERS or name in _CONTROLLED:
        return True
    return name in _NESTED_NAMES and f"{above}/{name}" in _NESTED


def file_left_out(name: str) -> bool:
    """Whether a file of this name is a cache or belongs to version control."""
    return name in _FILES or name in _CONTROLLED or name.startswith(_FILE_BEGINNINGS)


def path_left_out(path: str) -> bool:
    """Whether a folder at a path is left out, or lies in one that is."""
    return any(folder_left_out(name, above=above) for above, name in pairwise(("", *path.split("/"))))
