"""The agent: the loop from a prompt to `settled`, its queue, its gate, and the events a front end consumes.

In: a log, a model, tools. Out: events. Knows no screen and no wire protocol.
"""
