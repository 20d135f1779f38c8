"""Whether and when a failed request is tried again. Pure: the agent owns the waiting and the countdown.

One layer decides (pi#9595: a second one that knew no `retry-after` won).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tui.models.base import EmptyAnswer, ModelError, StreamDropped, StreamStalled

__all__ = ["BASE_SECONDS", "MAX_ATTEMPTS", "MAX_BACKOFF", "MAX_SERVER_WAIT", "Decision", "Stop", "Wait", "decide"]

MAX_ATTEMPTS = 5
"""Requests in all, the first included."""
BASE_SECONDS = 1.0
MAX_BACKOFF = 30.0
"""Longest wait of our own choosing, in seconds."""
MAX_SERVER_WAIT = 600.0
"""Longest `retry-after` that is waited for without a person, in seconds."""


class Wait(msgspec.Struct, frozen=True):
    """Try again after `seconds`, at time `until` on the caller's clock."""

    seconds: float
    until: float
    attempt: int
    """The number the next request will have, from 2."""


class Stop(msgspec.Struct, frozen=True):
    """Do not try again. `reason` is for a person; empty where the error says it all."""

    reason: str = ""


Decision: TypeAlias = Wait | Stop


def decide(error: ModelError, attempt: int, random: float, now: float, *, partial: bool = False) -> Decision:
    """Return what follows on `error` of request number `attempt` (from 1).

    `random` is in [0, 1), `now` is in seconds of any clock. What the server asks for is a lower bound.
    `partial`: visible text had already come, so a dropped or stalled stream is a person's to repeat.
    """
    if not error.retryable:
        return Stop()
    if partial and isinstance(error, StreamDropped | StreamStalled):
        return Stop("A part of the answer had already come and is kept: send it again, or go on from there.")
    most = 2 if isinstance(error, EmptyAnswer) else MAX_ATTEMPTS
    if attempt >= most:
        return Stop(f"Tried {attempt} times.")
    asked = error.retry_after or 0.0
    if asked > MAX_SERVER_WAIT:
        return Stop(f"The server asks to wait {asked / 60:.0f} minutes: go on with it then.")
    backoff = min(BASE_SECONDS * 2 ** (attempt - 1), MAX_BACKOFF)
    # Half is fixed, half is chance, so that many clients do not come back together; on top of a
    # server's figure the chance only adds.
    seconds = asked + random * min(backoff, 1.0) if asked else backoff * (0.5 + random / 2)
    return Wait(seconds, now + seconds, attempt + 1)
