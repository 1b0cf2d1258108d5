"""The goal run: an agent is run until its work is verified, a bound is reached, or a person is needed.

events     what happened                   decisions  what the host does next
state      what is known                   advance    the table: phase and event → state, decisions
judging    what advance asks of a state    closing    from a state to its verdict
verdict    how a run ended
"""
