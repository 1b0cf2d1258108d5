"""The workspace that the tests of the command line work in."""

from pathlib import Path

import pytest


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty workspace; what belongs to no workspace lies beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder
