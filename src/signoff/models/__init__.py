"""Models that answer requests: over HTTP in four protocols, by way of pydantic-ai, or from a script.

open_model    a model by one string, such as `openai:NAME`      names     what such a string means
http          over the codecs of `signoff.wire`                 scripted  in process, from a list
pydantic_ai   any other provider                                prompts   a request that is one text
"""

from signoff.models.keys import Key
from signoff.models.opening import open_model
from signoff.models.prompts import prompt
from signoff.models.timeouts import Timeouts

__all__ = ["Key", "Timeouts", "open_model", "prompt"]
