"""The log: append-only entries in SQLite, one path from root to leaf, one writer.

In: bodies to append, small mutable rows (draft, title). Out: entries by range scan, never a second copy
of the history. Knows no provider and no screen.
"""
