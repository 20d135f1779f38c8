"""When a person who looks elsewhere is called, and the bytes that do it.

    agent event ──step──► moment ──decide──► Notification ──sequences──► the terminal

What is written is of our own making: words from models, plans and files lose every control character
and most of their length before they come near a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from tui.agent.events import AgentEvent, ApprovalAsked, ApprovalClosed, EntryAdded, Failed, PhaseChanged, RunChanged
from tui.log.entries import Handoff, Settled
from tui.plain import plain_line
from tui.settings import NotifyWord
from tui.widgets.title import MOST, MUTE

__all__ = ["Moment", "Notification", "Watch", "decide", "sequences", "step"]

_Kind: TypeAlias = Literal["needed", "done"]

_CALLING = {
    "waits for you": "waits for you",
    "paused": "is paused",
    "blocked": "is blocked",
    "complete": "is complete",
}
"""Words of a run that a person wants to hear, and how they are told."""

_ENDS = {
    "needs-person": "a person is needed",
    "error": "it stopped with an error",
    "context-full": "the context is full",
}
"""Reasons for which work ended that call for a person."""


class Moment(msgspec.Struct, frozen=True):
    """Something a person may want to know now. `text` may be foreign."""

    kind: _Kind
    text: str


class Notification(msgspec.Struct, frozen=True):
    """What is told: one safe line, and by which ways."""

    text: str
    bell: bool
    terminal: bool


class Watch(msgspec.Struct, frozen=True):
    """What the session does, as far as it matters here."""

    since: float | None = None
    """When the work that goes on began, in seconds; None: nothing goes on."""
    run: str = ""
    """The run's newest word."""
    told: bool = False
    """Whether this work has called the person already; its end is then no news."""


def step(watch: Watch, event: AgentEvent, now: float) -> tuple[Watch, Moment | None]:
    """Return what is true after an event, and what of it a person may want to know."""
    match event:
        case ApprovalAsked(name=name):
            return _told(watch), Moment("needed", f"{name} waits for your decision")
        case Failed(taken=False):
            return _told(watch), Moment("needed", "the session cannot be saved; the agent has stopped")
        case EntryAdded(entry=entry) if isinstance(entry.body, Handoff):
            failed = entry.body.phase == "failed" and not entry.body.stopped
            return (_told(watch), Moment("needed", "a handoff failed")) if failed else (watch, None)
        case EntryAdded(entry=entry) if isinstance(entry.body, Settled):
            words = _ENDS.get(entry.body.reason)
            return (watch, None) if words is None or watch.told else (_told(watch), Moment("needed", words))
        case RunChanged(run=run):
            return _run(watch, run.status if run is not None else "", run.title if run is not None else "")
        case ApprovalClosed():
            return msgspec.structs.replace(watch, told=False), None
        case PhaseChanged(phase="idle"):
            ended = watch.since is not None and not watch.told
            moment = Moment("done", "the answer is there") if ended else None
            return msgspec.structs.replace(watch, since=None, told=False), moment
        case PhaseChanged() if watch.since is None:
            return msgspec.structs.replace(watch, since=now, told=False), None
        case _:
            return watch, None


def _told(watch: Watch) -> Watch:
    return msgspec.structs.replace(watch, told=True)


def _run(watch: Watch, status: str, name: str) -> tuple[Watch, Moment | None]:
    if status == watch.run:
        return watch, None
    after = msgspec.structs.replace(watch, run=status)
    if status not in _CALLING:
        return after, None
    kind: _Kind = "done" if status == "complete" else "needed"
    return _told(after), Moment(kind, f"run {name} {_CALLING[status]}")


def decide(moment: Moment, *, front: bool | None, seconds: float, way: NotifyWord, after: int) -> Notification | None:
    """Return how to call the person, or None.

    `front`: whether the window is; None: the terminal has not said. `seconds` is how long the work has gone on.
    What needs a person is told at once where the window is not in front; what is done, and everything where
    nothing is known of the window, only after `after` seconds.
    """
    if way == "off" or front is True:
        return None
    at_once = moment.kind == "needed" and front is False
    if not at_once and seconds < after:
        return None
    text = plain_line(f"clew: {moment.text}", MOST)
    return Notification(text, bell=way in ("bell", "both"), terminal=way in ("terminal", "both"))


def sequences(notification: Notification, environ: Mapping[str, str]) -> str:
    """Return what the terminal is sent: a bell, a notification in the form it knows, or nothing."""
    term = environ.get("TERM", "")
    if term in MUTE:
        return ""
    shown = notification.terminal and term != "linux"  # the console would print it
    bell = "\x07" if notification.bell else ""
    return (_through(_form(notification.text, environ), environ) if shown else "") + bell


def _form(text: str, environ: Mapping[str, str]) -> str:
    """Return the sequence of this terminal; those that know none of them pass over OSC 9."""
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "").lower()
    if environ.get("KITTY_WINDOW_ID") or "kitty" in term:
        return f"\x1b]99;i=clew;{text}\x07"
    if term.startswith(("rxvt", "foot", "xterm-ghostty")) or program in ("ghostty", "wezterm"):
        return f"\x1b]777;notify;clew;{text.removeprefix('clew: ').replace(';', ',')}\x07"
    return f"\x1b]9;{text}\x07"


def _through(sequence: str, environ: Mapping[str, str]) -> str:
    """Wrap a sequence for tmux or screen, which pass nothing through that they do not know."""
    if environ.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return f"\x1bP{sequence}\x1b\\" if environ.get("STY") else sequence
