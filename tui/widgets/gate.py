"""Which keys may answer a question: none that was typed for something else.

A question may appear while a person types. A key answers it only if the question had been on the
screen for a while, no other key came shortly before, and no draft is being written
(claude-code#43883: an Enter meant for a message approved a deletion).
"""

from __future__ import annotations

import msgspec

__all__ = ["PAUSE", "KeyGate"]

PAUSE = 0.4
"""Seconds without a key, with the question on the screen, before one counts."""


class KeyGate(msgspec.Struct, frozen=True):
    """What is known about the question and the keyboard. Times are seconds of one steady clock."""

    painted: float | None = None
    """When the question was on the screen; None while it is not."""
    last_key: float = float("-inf")

    def accepts(self, at: float) -> bool:
        """Return whether a key pressed at `at` may answer."""
        return self.painted is not None and at - self.painted >= PAUSE and at - self.last_key >= PAUSE

    def wait(self, now: float) -> float:
        """Return the seconds until a key would count, if none comes; never negative."""
        if self.painted is None:
            return PAUSE
        return max(0.0, PAUSE - (now - max(self.painted, self.last_key)))

    def pressed(self, at: float) -> KeyGate:
        """Return the gate after a key."""
        return msgspec.structs.replace(self, last_key=max(at, self.last_key))

    def shown(self, at: float) -> KeyGate:
        """Return the gate after the question was painted."""
        return msgspec.structs.replace(self, painted=at)
