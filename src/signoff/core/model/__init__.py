"""What passes between the host and a model, as plain values that no provider's format shapes.

parts       text, reasoning, refusal, call, opaque: what messages and responses are made of
request     messages, tools, and one request
response    the evidence record of one response: how it ended, and everything that was seen of it
deltas      what a response in progress adds
arguments   the strict reading of one call's arguments
ending      how a response ended, from the facts that a codec gathered: the one place that decides it
"""
