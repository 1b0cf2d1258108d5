"""The test kit that is shipped for users: scripts for the machine, a fake clock, and doers that follow a script.

screenplay    >> what happens, << what must be decided     placeholders  ANY and like, for what does not matter
builders      short ways to write evidence and events      fake_clock    a clock that a test moves
scripted      a verifier and an agent that follow a list

It may use every part of signoff below it; no part of signoff uses it.
"""

from signoff.testing.builders import (
    Scene,
    a_check,
    a_file,
    a_picture,
    an_artifact,
    an_input,
    digest_of,
    no_file,
)
from signoff.testing.fake_clock import FakeClock
from signoff.testing.placeholders import ANY, like
from signoff.testing.screenplay import A_REFUSAL, Screenplay
from signoff.testing.scripted import ScriptedAgent, ScriptedVerifier, ScriptExhausted

__all__ = [
    "ANY",
    "A_REFUSAL",
    "FakeClock",
    "Scene",
    "Screenplay",
    "ScriptExhausted",
    "ScriptedAgent",
    "ScriptedVerifier",
    "a_check",
    "a_file",
    "a_picture",
    "an_artifact",
    "an_input",
    "digest_of",
    "like",
    "no_file",
]
