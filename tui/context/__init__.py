"""Context: what the model sees and how full it is. Pure functions of the branch.

In: entries. Out: the view, usage, thresholds, the bar, the handoff. No clock, no file, no network.
"""
