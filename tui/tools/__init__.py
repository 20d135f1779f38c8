"""Tools: what the agent can do in the project, and the rules for when it must ask.

In: a call's checked arguments and a `ToolContext`. Out: one bounded `Outcome`; no exception leaves this room.
"""
