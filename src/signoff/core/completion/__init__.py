"""The completion contract, the evidence the host gathers, and the pure judgement of one against the other."""
