"""The model response boundary: what a response is worth, and what follows from that. Pure; every attempt is counted.

reasons    why a response is not used, or a generation stopped: one closed set
classify   what one response is worth
answer     whether to take it, to ask again, or to give up
"""

from signoff.core.boundary.answer import AnswerPolicy, AskAgain, GiveUp, Next, Take, decide
from signoff.core.boundary.classify import Accepted, Discarded, Failed, Paused, Refused, StrictFinish, Worth, worth
from signoff.core.boundary.reasons import BoundaryReason

__all__ = [
    "Accepted",
    "AnswerPolicy",
    "AskAgain",
    "BoundaryReason",
    "Discarded",
    "Failed",
    "GiveUp",
    "Next",
    "Paused",
    "Refused",
    "StrictFinish",
    "Take",
    "Worth",
    "decide",
    "worth",
]
