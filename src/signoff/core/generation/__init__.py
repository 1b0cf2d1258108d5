"""The generation of one answer of a model, bounded in time. Pure: times arrive, and deadlines go out as wake-up times.

limits     how long a generation may take, what may be spent on making it act, and the span of one answer
machine    one call of a model: what its deltas and the passing of time lead to, and the receipt of a stop
repair     the one short call that asks a model to act after a stream that would not
outcome    what a caller gets: an answer that can be used, or why there is none, and a record of each attempt
"""

from signoff.core.generation.limits import GenerationLimits, Span, spanned
from signoff.core.generation.machine import (
    Close,
    Decision,
    DeltaArrived,
    DeltaKind,
    Ended,
    Event,
    Generation,
    GenerationPhase,
    GenerationReceipt,
    GoOn,
    Repair,
    Step,
    Stop,
    TimePassed,
    advance,
    arrived,
    receipt,
    started,
)
from signoff.core.generation.outcome import Answer, Attempt, Stopped, Usable, concluded, without_calls, without_native
from signoff.core.generation.repair import after_repair, repair_request, worth_of_stop

__all__ = [
    "Answer",
    "Attempt",
    "Close",
    "Decision",
    "DeltaArrived",
    "DeltaKind",
    "Ended",
    "Event",
    "Generation",
    "GenerationLimits",
    "GenerationPhase",
    "GenerationReceipt",
    "GoOn",
    "Repair",
    "Span",
    "Step",
    "Stop",
    "Stopped",
    "TimePassed",
    "Usable",
    "advance",
    "after_repair",
    "arrived",
    "concluded",
    "receipt",
    "repair_request",
    "spanned",
    "started",
    "without_calls",
    "without_native",
    "worth_of_stop",
]
