"""A whole session killed, starved and cut off everywhere: `python -m tests.faults` tries every place."""
