"""What an opened session does about its handoff: a pure function of the newest state and the tail of the path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from tui.log.entries import Answer, Checkpoint, Entry, Handoff, Prompt, Settled, ToolStarted

__all__ = ["Opened", "Recovery", "TailFacts", "recover_handoff", "tail_facts"]

Opened: TypeAlias = Literal["asked", "arrived"]
"""`asked`: by -c, -r, the picker's Enter or with a prompt. `arrived`: by /tree, /fork, preview or take-over."""
Act: TypeAlias = Literal["nothing", "wait", "fail-interrupted", "deliver", "resume", "retry", "settles"]

_CAME_BACK = frozenset({"error", "interrupted"})
"""Ends of an exchange that a connection or a crash made, not the model or the person."""


class TailFacts(msgspec.Struct, frozen=True):
    """What the path says after, or beside, the newest handoff entry."""

    checkpoint: bool = False
    """A checkpoint that names the cycle."""
    continuation: bool = False
    """A continuation that names the cycle."""
    exchange_open: bool = False
    """The newest prompt has no settle after it."""
    ended: str = ""
    """Reason of the newest settle after the continuation."""
    dropped: bool = True
    """That end came from a connection, and not from an error that waits for a person."""


class Recovery(msgspec.Struct, frozen=True):
    """What to do. What goes on by itself shows its line first, which Esc stops.

    `wait`: one line, one key. `fail-interrupted`: feed `Reloaded`. `retry`: feed `NowAsked`. `deliver`: feed
    `Settles`. `settles`: feed `Settles` too; the exchange had ended well. `resume`: repeat the request, with
    `continuation.redelivery` as guidance.
    """

    act: Act
    settle_calls: bool = False
    """Give open calls their result first: once, durably."""
    line: str = ""
    """For the person."""


def tail_facts(entries: Sequence[Entry], state: Handoff) -> TailFacts:
    """Return the facts; `entries` reach back to the newest handoff entry, or to the newest prompt if that is older."""
    prompts = [entry for entry in entries if isinstance(entry.body, Prompt)]
    settles = [entry for entry in entries if isinstance(entry.body, Settled)]
    newest_prompt = prompts[-1].depth if prompts else -1
    newest_settle = settles[-1] if settles else None
    sent = next((e.depth for e in reversed(prompts) if _continues(e, state)), None)
    ended = newest_settle if newest_settle and sent is not None and newest_settle.depth > sent else None
    return TailFacts(
        checkpoint=any(isinstance(e.body, Checkpoint) and e.body.cycle == state.cycle != "" for e in entries),
        continuation=sent is not None,
        exchange_open=_goes_on(entries, newest_prompt, newest_settle),
        ended=ended.body.reason if ended and isinstance(ended.body, Settled) else "",
        dropped=_dropped(ended),
    )


def _continues(entry: Entry, state: Handoff) -> bool:
    body = entry.body
    return isinstance(body, Prompt) and body.origin == "continuation" and body.queued == state.cycle != ""


def _goes_on(entries: Sequence[Entry], newest_prompt: int, newest_settle: Entry | None) -> bool:
    """Whether an exchange is open: something of one stands after the newest settle."""
    settled = newest_settle.depth if newest_settle else -1
    return newest_prompt > settled or any(
        entry.depth > settled and isinstance(entry.body, Answer | ToolStarted) for entry in entries
    )


def _dropped(ended: Entry | None) -> bool:
    """Whether an exchange ended by a lost connection or a crash: the stop reason tells which error it was."""
    if ended is None or not isinstance(ended.body, Settled):
        return True
    if ended.body.reason == "interrupted":
        return True
    stop = ended.body.stop.value if ended.body.stop else ""
    return ended.body.reason == "error" and stop in ("dropped", "stalled", "")


def recover_handoff(state: Handoff, facts: TailFacts, opened: Opened, *, headless: bool = False) -> Recovery:
    """Return what opening does, by the table of recovery. Arriving runs nothing."""
    found = _asked(state, facts, headless=headless)
    if opened == "asked" or found.act in ("nothing", "wait", "fail-interrupted", "settles"):
        return found
    return msgspec.structs.replace(found, act="wait")


def _asked(state: Handoff, facts: TailFacts, *, headless: bool) -> Recovery:
    match state.phase:
        case "none" | "answered":
            if not facts.exchange_open:
                return Recovery("nothing")
            return Recovery("wait", settle_calls=True, line="/continue goes on.")
        case "compacting" if not facts.checkpoint:
            return Recovery(
                "fail-interrupted",
                line="The program ended while the summary was written. The note is kept; /continue makes it once more.",
            )
        case "saved" | "failed" if not facts.checkpoint:
            return _locked(state, headless=headless)
        case "saved" | "compacting" | "failed" | "ready":
            return _undelivered(state, facts)
        case "delivered":
            return _delivered(state, facts)


def _locked(state: Handoff, *, headless: bool) -> Recovery:
    """Wait for resume, edit or drop; with nobody to ask a failed one is tried once more."""
    if state.phase == "failed" and headless and not state.stopped:
        return Recovery("retry", line="The handoff had failed; it is tried once more.")
    what = "failed" if state.phase == "failed" else "is saved and waits"
    return Recovery("wait", line=f"A handoff {what}: resume, edit its note, or drop it.")


def _undelivered(state: Handoff, facts: TailFacts) -> Recovery:
    if facts.continuation:
        return _delivered(state, facts)  # it stands in the log: never a second one
    if state.stopped:
        return Recovery("wait", line="A note waits to be delivered; it was stopped. One key delivers it.")
    return Recovery("deliver", line="The note of the handoff is delivered.")


def _delivered(state: Handoff, facts: TailFacts) -> Recovery:
    if facts.ended == "answered" and not facts.exchange_open:
        return Recovery("settles")
    if state.stopped:
        return Recovery(
            "wait", settle_calls=facts.exchange_open, line="The work after the handoff was stopped. /continue goes on."
        )
    if facts.exchange_open:
        return Recovery("resume", settle_calls=True, line="The work after the handoff goes on.")
    if facts.ended in _CAME_BACK and facts.dropped:
        return Recovery("resume", line="The connection was lost after the handoff; the work goes on.")
    why = f" ({facts.ended})" if facts.ended else ""
    return Recovery("wait", line=f"The work after the handoff ended without an answer{why}. /continue goes on.")
