"""Tells a person's Enter from a newline of a paste that came without brackets.

A terminal without bracketed paste sends pasted lines as keys. Nobody types a key within 20 ms of
Enter, so Enter waits that long: with more input behind it, it was text; else it sends. Within a
burst that already held a newline no Enter sends at all (claude-code#73157, gemini-cli#16125).
"""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

import msgspec

__all__ = ["LULL", "QUIET", "Burst", "Do", "KeyKind", "quiet", "step"]

QUIET = 0.02
"""Seconds without a key that end a burst. A fast typist needs 30 ms from key to key."""
LULL = 0.15
"""The same after many characters came at once: more of them may be late on a busy machine."""

KeyKind: TypeAlias = Literal["text", "enter", "line-feed", "other"]


class Do(enum.Enum):
    """What the editor does, in the order given."""

    NEWLINE = "newline"
    SUBMIT = "submit"
    INSERT = "insert"
    """Handle the key itself as usual."""


class Burst(msgspec.Struct, frozen=True):
    """What is remembered between keys. Times are seconds of any steady clock."""

    last: float = float("-inf")
    waiting: float | None = None
    """When the Enter came that has not been decided yet."""
    newlines: bool = False
    """The running burst already holds a newline."""
    carriage: bool = False
    """The last key was Enter: a line feed right behind it belongs to it (CRLF is one newline)."""
    lull: float = QUIET
    """Seconds without a key that end this burst."""
    pasted: bool = False
    """A paste has just ended: text right behind it broke out of it, and its newlines are text too."""


def step(state: Burst, kind: KeyKind, at: float) -> tuple[Burst, tuple[Do, ...]]:
    """Return the state after a key that came at `at`, and what to do now."""
    close = at - state.last < state.lull
    newlines = close and (state.newlines or (state.pasted and kind == "text"))
    before: tuple[Do, ...] = ()
    if state.waiting is not None:
        inside = at - state.waiting < QUIET and kind != "other"
        before = (Do.NEWLINE,) if inside else (Do.SUBMIT,)
        newlines = newlines or inside
    lull = state.lull if close else QUIET
    if kind == "line-feed" and state.carriage and close:
        # The newline of this CRLF was either done by `before`, or at once inside the burst.
        return Burst(last=at, newlines=True, lull=lull), before
    if kind == "enter" and not newlines:
        return Burst(last=at, waiting=at, carriage=True), before
    if kind == "enter":
        return Burst(last=at, newlines=True, carriage=True, lull=lull), (*before, Do.NEWLINE)
    return Burst(last=at, newlines=newlines or kind == "line-feed", lull=lull), (*before, Do.INSERT)


def quiet(state: Burst, at: float) -> tuple[Burst, tuple[Do, ...]]:
    """Return the state after nothing came for a while: an Enter that waited long enough sends."""
    if state.waiting is None or at - state.waiting < QUIET:
        return state, ()
    return Burst(last=state.last), (Do.SUBMIT,)
