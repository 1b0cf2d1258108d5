"""What passes between the host and a model, as plain values that no provider's format shapes.

parts       text, reasoning, refusal, call, opaque: what messages and responses are made of
request     messages, tools, and one request
response    the evidence record of one response: how it ended, and everything that was seen of it
deltas      what a response in progress adds
arguments   the strict reading of one call's arguments      diagnosis  why a text is no arguments
calls       the accepted call                               turns      a response as the next turn of a conversation
texts       what is asked of a text without its meaning
ending      how a response ended, from the facts that a codec gathered: the one place that decides it
"""
