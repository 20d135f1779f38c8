"""A session without a screen: print mode and JSON events, for scripts and pipes.

In: the options of a session and one message. Out: the answer or the events on stdout, all else on
stderr, and an exit status. Knows no Textual.
"""
