"""The checks, one session each, for work on one of them; `.ci/run` is all of them on a clean copy."""

import nox

PYTHONS = ("3.11", "3.12", "3.13")

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "typing", "tests"]


def install(session: nox.Session) -> None:
    """Install the locked packages, then the package itself as users get it: built, not linked to the sources."""
    session.install("--quiet", "--require-hashes", "-r", "requirements.lock")
    session.install("--quiet", "--no-deps", ".")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests on the installed package; arguments after `--` go to pytest."""
    install(session)
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python=PYTHONS[0])
def typing(session: nox.Session) -> None:
    """Check the types of source and tests, and what a user's checker sees of the public names."""
    install(session)
    session.run("mypy")
    session.run("pyright")


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Check style, format and layers."""
    install(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
