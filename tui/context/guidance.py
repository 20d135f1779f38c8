"""What the model and the person are told about the level of the context.

To the model: fresh for each request, never stored. To the person: each crossing once, upwards only.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tui.context.gate import CompactionMode
from tui.context.handoff import is_locked
from tui.context.templates import TemplateName, interpolate, values_for
from tui.context.thresholds import Level, Thresholds, level_of
from tui.log.entries import Announced, Handoff

__all__ = ["Announcement", "announce", "guidance_name", "guidance_text", "wants_response"]

_HARD = (
    "Context: {{tokens}} of {{context_window}} tokens used ({{percent}}%), at the last mark ({{hard_tokens}}). "
    "Ordinary tools are refused from here. Call self_compact alone now, with a note to yourself: what is done with "
    "exact paths, how it was checked and with which result, the one next action, whether the whole task is complete."
)
_SAID: dict[Level, str] = {
    Level.SOFT: "Context at {{percent}}% ({{tokens}} of {{context_window}}): the soft mark. /compact is possible.",
    Level.WARNING: "Context at {{percent}}% ({{tokens}} of {{context_window}}): the agent is asked to hand over.",
    Level.HARD: "Context at {{percent}}% ({{tokens}} of {{context_window}}): tools wait for the agent's handover.",
}
_ONCE_MORE = 2


def guidance_name(
    *, mode: CompactionMode, tokens: int | None, limits: Thresholds, state: Handoff, compactable: bool
) -> Literal["", "soft", "warning", "hard"]:
    """Return which guidance the next request carries; empty is none.

    Absent when usage is unknown, a handoff is pending or nothing is compactable, and in every mode but `self`.
    """
    if mode != "self" or tokens is None or is_locked(state) or not compactable:
        return ""
    names: dict[Level, Literal["", "soft", "warning", "hard"]] = {
        Level.NONE: "",
        Level.SOFT: "soft",
        Level.WARNING: "warning",
        Level.HARD: "hard",
    }
    return names[level_of(tokens, limits)]


def guidance_text(name: TemplateName | Literal["hard"], template: str, tokens: int, limits: Thresholds) -> str:
    """Return the guidance with live numbers. `template` is what was read for it; hard's is built in."""
    return interpolate(_HARD if name == "hard" else template, values_for(tokens, limits))


def wants_response(before: Level, after: Level) -> bool:
    """Whether a tool batch crossed warning or hard, so that the model is asked for exactly one further response."""
    return after.rank > before.rank and after.rank >= Level.WARNING.rank


class Announcement(msgspec.Struct, frozen=True):
    """What is remembered, and what the person is told; an empty text is nothing."""

    remembered: Announced
    text: str = ""


def announce(state: Announced, *, done: int, tokens: int | None, limits: Thresholds) -> Announcement | None:
    """Return what to write and say for the current usage, or None.

    The strongest crossing only, once per cycle and level, and once more after falling below it.
    """
    if tokens is None:
        return None
    now = level_of(tokens, limits)
    known = state if state.done == done else Announced(done)
    before = Level(known.level)
    if now is before:
        return None
    times = dict(known.times)
    said = now.rank > before.rank and times.get(now.value, 0) < _ONCE_MORE
    if said:
        times[now.value] = times.get(now.value, 0) + 1
    remembered = Announced(done, now.value, times)
    return Announcement(remembered, interpolate(_SAID[now], values_for(tokens, limits)) if said else "")
