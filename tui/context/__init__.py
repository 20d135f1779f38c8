"""Context: what the model sees, how full it is, and the handoff. Pure functions of the branch.

In: entries, model facts, ids. Out: the view, usage, thresholds, the bar, decisions and effects. No clock,
no network; the only files read are templates, and only by `templates`.
"""
