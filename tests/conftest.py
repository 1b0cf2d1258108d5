"""What every test may count on: the developer's own settings do not reach it, and it does not reach their records."""

import os

import pytest
from hypothesis import settings

# On a loaded machine an example may take long; that says nothing about the code. (In CI the parent is Hypothesis's own
# profile for it, which makes examples repeatable.)
settings.register_profile("signoff", parent=settings(), deadline=None)
settings.load_profile("signoff")


@pytest.fixture(scope="session", autouse=True)
def _apart_from_the_developer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Forget the settings of the surrounding shell, and keep records of runs in a folder that goes with the tests."""
    for name in [name for name in os.environ if name.startswith(("AWORLD_", "SIGNOFF_"))]:
        del os.environ[name]
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
