"""Runs: a list of work done unattended and verified by the program.

    plan ──► preconditions ──► machine (state, event → state, cards) ◄── driver ──► agent, checks, reviewer
                                   ▲                                      │
                                   └────── project's database ◄───────────┘

Pure: plan, preconditions, machine, gates, message, report. Shells: driver, checks, reviewer, checkout. What
comes in: a plan, a person's word, what the agent tells. The agent never accepts anything.
"""
