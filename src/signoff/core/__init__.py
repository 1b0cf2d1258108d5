"""The pure decision core: what may happen next, and whether it is really done.

canonical   strict JSON → canonical bytes → digest
values      words shared by all machines: statuses, reasons, moments, ids
budget      limits of a run, and what it has used
completion  the contract, the evidence, and the judgement of one against the other
goal        the goal run: attempts, checks before and after, feedback, repairs, verdict
model       what passes between the host and a model: requests, and the evidence record of a response
boundary    what a response is worth, and what follows from it
generation  the deadlines of one generation
receipt     the statement of a verdict
codec       values ↔ bytes of the journal, with a format version

No clock, ids, randomness, environment, files, sockets, logging or asyncio: times and ids arrive inside events.
"""
