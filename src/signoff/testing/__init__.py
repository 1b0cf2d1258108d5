"""The test kit that is shipped for users: scripts for the machine, a fake clock, and doers that follow a script.

screenplay    >> what happens, << what must be decided     placeholders  ANY and like, for what does not matter
builders      short ways to write evidence and events      fake_clock    a clock that a test moves
scripted      a verifier and an agent that follow a list
replies       short ways to write a model's response
scripted_server · plays · http_requests    a provider of the four protocols that follows a list, on a real socket

It may use every part of signoff below it; no part of signoff uses it.
"""

from signoff.models.scripted import ScriptExhausted
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
from signoff.testing.plays import BEFORE_HEAD, Fault, Framing, Play
from signoff.testing.replies import call, reply
from signoff.testing.screenplay import A_REFUSAL, Screenplay
from signoff.testing.scripted import ScriptedAgent, ScriptedVerifier
from signoff.testing.scripted_server import ScriptedServer, SeenRequest

__all__ = [
    "ANY",
    "A_REFUSAL",
    "BEFORE_HEAD",
    "FakeClock",
    "Fault",
    "Framing",
    "Play",
    "Scene",
    "Screenplay",
    "ScriptExhausted",
    "ScriptedAgent",
    "ScriptedServer",
    "ScriptedVerifier",
    "SeenRequest",
    "a_check",
    "a_file",
    "a_picture",
    "an_artifact",
    "an_input",
    "call",
    "digest_of",
    "like",
    "no_file",
    "reply",
]
