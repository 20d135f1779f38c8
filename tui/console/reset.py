"""`clew reset-terminal`: every mode the app sets, set back, for after a kill that left no time to do so."""

from __future__ import annotations

import sys

__all__ = ["RESET", "reset_terminal"]

# In the reverse order of their coming, as on the way out; the attributes of text last.
RESET = (
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?2031l"
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    "\x1b[<u\x1b[r\x1b[23;2t\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)


def reset_terminal() -> int:
    """Write the sequences to the terminal, and say what else helps; return the exit status."""
    if not sys.stdout.isatty():
        sys.stderr.write("clew: stdout is no terminal, so there is nothing to reset.\n")
        return 2
    sys.stdout.write(RESET)
    sys.stdout.write("The terminal is reset. If what you type is not shown, `stty sane` brings it back.\n")
    return 0
