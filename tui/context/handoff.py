"""The handoff: a pure machine over the newest `Handoff` entry.

    none → saved → compacting → ready → delivered → answered      and      failed

`step` answers every event in every state. It returns the state the newest `Handoff` on the path will say
once the effects are done, and the effects, in order. It holds nothing, reads no clock and draws no ids but
those it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from tui.context.checkpoint import NOTE_LIMIT, note_fault, utf16_units
from tui.context.handoff_effects import (
    AbortSummary,
    Accept,
    Append,
    Ask,
    Deliver,
    Effect,
    EndExchange,
    Move,
    Proceed,
    RepeatRequest,
    Reply,
    Resume,
    ReturnQueue,
    Say,
    StartSummary,
    Steer,
    StopAgent,
    StopExchange,
)
from tui.context.handoff_events import (
    Arrived,
    Authored,
    BranchAway,
    CheckpointFailed,
    CheckpointMade,
    CompactAsked,
    DropAsked,
    EditAsked,
    Escaped,
    HandoffEvent,
    LogBack,
    LogLost,
    ModelChanged,
    NoteGiven,
    NowAsked,
    Quitting,
    Reloaded,
    ResumeAsked,
    Settles,
    SummaryAccepted,
    SummaryRefused,
    Undone,
)
from tui.context.render import sha256_of
from tui.log.entries import Body, Handoff, HandoffError, Note, Notice

__all__ = ["LOCKED", "Fresh", "Step", "is_locked", "step"]

Fresh: TypeAlias = Callable[[], str]
"""Gives a new uuid7."""
Step: TypeAlias = tuple[Handoff, tuple[Effect, ...]]

LOCKED = frozenset({"saved", "compacting", "ready", "failed"})
"""Phases in which ordinary tool calls are refused."""

_SAVED_REPLY = (
    "Saved. The conversation is compacted now; your note comes back to you word for word, then go on from it."
)
_KNOWN_REPLY = "This note is saved already; the handoff goes on."
_ERROR_WORDS: dict[HandoffError, str] = {
    "": "it did not work",
    "empty": "the summary was empty",
    "truncated": "the summary was cut off",
    "over-long": "the summary was too long",
    "tool-call": "the model called a tool instead of writing the summary",
    "refused": "the model declined to write the summary",
    "aborted": "it was stopped",
    "interrupted": "the program ended in the middle of it",
    "timeout": "the summary took too long",
    "provider-failure": "the provider failed",
    "template": "the summary instruction cannot be read",
    "does-not-fit": "it does not fit the context window",
}
_WAYS_ON = "/self-compact-now tries again, /self-compact-edit changes the note, /self-compact-drop gives it up."


def is_locked(state: Handoff) -> bool:
    """Whether a handoff is pending, so that ordinary tools wait for it."""
    return state.phase in LOCKED


def step(state: Handoff, event: HandoffEvent, fresh: Fresh) -> Step:
    """Return the next state and what to do. Same state, event and ids, same answer."""
    match event:
        case NoteGiven():
            return _note_given(state, event, fresh)
        case Settles():
            return _settles(state, event, fresh)
        case Escaped():
            return _escaped(state)
        case SummaryAccepted():
            return _summary_accepted(state, event)
        case SummaryRefused():
            return _summary_refused(state, event)
        case CompactAsked():
            return _compact_asked(state, event)
        case CheckpointMade():
            return _checkpoint_made(state, event)
        case CheckpointFailed():
            return _checkpoint_failed(state, event)
        case _:
            return _by_person(state, event, fresh)


_PersonEvent: TypeAlias = NowAsked | ResumeAsked | EditAsked | DropAsked | Authored
_OutsideEvent: TypeAlias = BranchAway | Arrived | ModelChanged | Quitting | Reloaded | LogLost | LogBack | Undone


def _by_person(state: Handoff, event: _PersonEvent | _OutsideEvent, fresh: Fresh) -> Step:
    match event:
        case NowAsked():
            return _now_asked(state, event, fresh)
        case ResumeAsked():
            return _resume_asked(state, event, fresh)
        case EditAsked():
            return _edit_asked(state, event, fresh)
        case DropAsked():
            return _drop_asked(state, event)
        case Authored():
            return _authored(state, event)
        case _:
            return _from_outside(state, event)


def _from_outside(state: Handoff, event: _OutsideEvent) -> Step:
    match event:
        case BranchAway():
            return _branch_away(state, event)
        case Arrived():
            return _arrived(state, event)
        case ModelChanged():
            return _model_changed(state, event)
        case Quitting():
            return _quitting(state)
        case Reloaded():
            return _reloaded(state)
        case LogLost():
            return _stay(state, StopAgent(_banner(event.reason)))
        case LogBack():
            return _log_back(state)
        case Undone():
            return _undone(state, event)


# --- pieces -------------------------------------------------------------------------------------


def _change(state: Handoff, *before: Body, **fields: object) -> tuple[Handoff, Append]:
    """Return the changed state and the one transaction that says it, with `before` written ahead of it."""
    new = msgspec.structs.replace(state, **fields)
    return new, Append((*before, new))


def _begin(state: Handoff, note: str, fresh: Fresh, *, replaces: str = "") -> tuple[Handoff, Append]:
    """Return a new cycle that has its note saved, and the transaction that says it."""
    entry = Note(fresh(), note)
    new = Handoff(
        phase="saved",
        cycle=fresh(),
        note=entry.id,
        note_sha256=sha256_of(note),
        note_units=utf16_units(note),
        done=state.done,
        replaces=replaces,
        closed=state.closed,
    )
    return new, Append((entry, new))


def _compact(state: Handoff, fresh: Fresh, *, compactable: bool, instructions: str = "") -> Step:
    """Go from a saved note to its summary, or straight to ready where nothing can be compacted."""
    if not compactable:
        return _ready(state)
    new, written = _change(
        state, phase="compacting", attempt=fresh(), attempts=state.attempts + 1, error="", detail="", stopped=False
    )
    return new, (written, StartSummary("self", new.attempt, instructions))


def _ready(state: Handoff, *before: Body) -> Step:
    new, written = _change(state, *before, phase="ready", attempt="", error="", detail="", stopped=False)
    return new, (written, Proceed())


def _deliver(state: Handoff) -> Step:
    new = msgspec.structs.replace(state, phase="delivered", stopped=False)
    return new, (Deliver(new),)


def _fail(state: Handoff, error: HandoffError, detail: str = "", *then: Effect) -> Step:
    """Keep note and lock, say why, and give held texts back."""
    why = _ERROR_WORDS[error] + (f" ({detail})" if detail else "")
    said = Notice(f"The handoff failed: {why}. The note is kept. {_WAYS_ON}", "error", "handoff-failed")
    new, written = _change(state, said, phase="failed", attempt="", error=error, detail=detail, stopped=False)
    return new, (*then, written, ReturnQueue())


def _stay(state: Handoff, *effects: Effect) -> Step:
    return state, effects


def _pending(state: Handoff) -> str:
    words = {
        "saved": "A handoff is pending: its note is saved.",
        "compacting": "A handoff is pending: its summary was being written.",
        "ready": "A handoff is pending: its note waits to be delivered.",
        "delivered": "The note was delivered and is not answered yet; /continue goes on.",
        "failed": f"A handoff failed: {_ERROR_WORDS[state.error]}.",
    }
    ways = "" if state.phase == "delivered" else f" {_WAYS_ON}"
    return words.get(state.phase, "") + ways


def _banner(reason: str) -> str:
    return f"The log cannot be written ({reason}). The agent has stopped; what stands in the log is kept."


# --- the model ----------------------------------------------------------------------------------


def _note_given(state: Handoff, event: NoteGiven, fresh: Fresh) -> Step:
    fault = note_fault(event.note, event.largest)
    if fault or not isinstance(event.note, str):
        return _stay(state, Reply(event.call_id, fault, is_error=True))
    same = sha256_of(event.note) == state.note_sha256
    match state.phase:
        case "none" | "answered":
            return _save(state, event, event.note, fresh)
        case "saved" | "compacting" | "ready":
            return _already_pending(state, event.call_id, same=same)
        case "delivered":
            return _after_delivery(state, event, event.note, fresh, same=same)
        case "failed":
            return _after_failure(state, event, event.note, fresh, same=same)


def _save(state: Handoff, event: NoteGiven, note: str, fresh: Fresh, *, replaces: str = "") -> Step:
    if not event.compactable:
        text = "Nothing can be compacted yet: a checkpoint would free too little. Nothing was saved; go on working."
        return _stay(state, Reply(event.call_id, text, is_error=True))
    new, written = _begin(state, note, fresh, replaces=replaces)
    return new, (written, Reply(event.call_id, _SAVED_REPLY, recorded=True), EndExchange("handoff"))


def _already_pending(state: Handoff, call_id: str, *, same: bool) -> Step:
    if same:
        return _stay(state, Reply(call_id, _KNOWN_REPLY))
    text = "Another note is pending already; this one was not saved. End your answer: the handoff goes on by itself."
    return _stay(state, Reply(call_id, text, is_error=True))


def _after_delivery(state: Handoff, event: NoteGiven, note: str, fresh: Fresh, *, same: bool) -> Step:
    """Open a new cycle; the unanswered one is superseded: counted once, never delivered again."""
    if same and not event.new_work:
        text = "This note was already delivered to you. Nothing was saved; do what it says is next, or report."
        return _stay(state, Reply(event.call_id, text, is_error=True))
    superseded = msgspec.structs.replace(state, done=state.done + 1, closed="superseded")
    new, effects = _save(superseded, event, note, fresh, replaces=state.cycle)
    return (new, effects) if event.compactable else (state, effects)


def _after_failure(state: Handoff, event: NoteGiven, note: str, fresh: Fresh, *, same: bool) -> Step:
    if same:
        new, written = _change(state, phase="saved", error="", detail="")
    else:
        new, written = _begin(state, note, fresh, replaces=state.cycle)
    reply = Reply(event.call_id, _SAVED_REPLY, recorded=True)
    if event.compactable:
        return new, (written, reply, EndExchange("handoff"))
    ready = msgspec.structs.replace(new, phase="ready")
    return ready, (Append((*written.bodies[:-1], ready)), reply, EndExchange("handoff"))


# --- settling, Esc, summaries -------------------------------------------------------------------


def _settles(state: Handoff, event: Settles, fresh: Fresh) -> Step:
    if state.stopped:
        return _stay(state)
    match state.phase:
        case "none" | "answered" | "compacting" | "failed":
            return _stay(state)
        case "saved":
            return _compact(state, fresh, compactable=event.compactable)
        case "ready":
            return _deliver(state)
        case "delivered":
            return _continuation_settles(state, event)


def _continuation_settles(state: Handoff, event: Settles) -> Step:
    if event.complete:
        new, written = _change(state, phase="answered", done=state.done + 1, closed="answered")
        return new, (written,)
    why = f": {event.detail}" if event.detail else ""
    return _stay(state, Say(f"The continuation did not end with an answer{why}. /continue goes on.", "warning"))


def _escaped(state: Handoff) -> Step:
    match state.phase:
        case "none" | "answered" | "failed":
            return _stay(state, StopExchange())
        case "compacting":
            return _fail(state, "aborted", "", AbortSummary())
        case "saved" | "ready" | "delivered":
            if state.stopped:
                return _stay(state, StopExchange())
            new, written = _change(state, stopped=True)
            return new, (StopExchange(), written)


def _summary_accepted(state: Handoff, event: SummaryAccepted) -> Step:
    if state.phase != "compacting" or event.attempt != state.attempt:
        return _stay(state)  # late: a result that was given up applies to nothing (oh-my-openagent#8473)
    return _ready(state, msgspec.structs.replace(event.checkpoint, cycle=state.cycle))


def _summary_refused(state: Handoff, event: SummaryRefused) -> Step:
    if state.phase != "compacting" or event.attempt != state.attempt:
        return _stay(state)
    if event.pointer is None or event.error == "aborted":
        return _fail(state, event.error, event.detail)
    return _ready(
        state, *_stands_in(event.error), msgspec.structs.replace(event.pointer, cycle=state.cycle, pointer=True)
    )


def _stands_in(error: HandoffError) -> tuple[Body, ...]:
    """Return what is said where a pointer checkpoint stands in for a summary; nothing where there is one."""
    text = f"No summary: {_ERROR_WORDS[error]}. A pointer checkpoint stands in; details are found by recall."
    return (Notice(text, "warning", "pointer"),) if error else ()


# --- /compact, overflow, hard -------------------------------------------------------------------


def _compact_asked(state: Handoff, event: CompactAsked) -> Step:
    if event.running:
        return _stay(state, Say("/compact waits until this exchange has settled."))
    match state.phase:
        case "compacting":
            return _stay(state, Say("A summary is being written already: one at a time.", "warning"))
        case "ready":
            return _stay(state, Say("A note waits to be delivered: send anything, or drop it, first.", "warning"))
        case "none" | "answered" | "saved" | "delivered" | "failed":
            if not event.compactable:
                return _stay(state, Say("Nothing to compact: a checkpoint would free too little."))
            return _stay(state, StartSummary("manual", instructions=event.instructions))


def _checkpoint_made(state: Handoff, event: CheckpointMade) -> Step:
    repeat = () if event.trigger == "manual" else (RepeatRequest(),)
    own, said = msgspec.structs.replace(event.checkpoint, cycle=""), _stands_in(event.error)
    match state.phase:
        case "none" | "answered" | "delivered":
            return _stay(state, Append((*said, own)), *repeat)
        case "saved":
            new, effects = _ready(state, *said, msgspec.structs.replace(own, cycle=state.cycle))
            return new, (effects if event.trigger == "manual" else (EndExchange("handoff"), *effects))
        case "failed":
            if event.trigger == "manual":
                return _ready(state, *said, msgspec.structs.replace(own, cycle=state.cycle))
            return _stay(state, Append((*said, own)), *repeat)
        case "compacting" | "ready":
            return _stay(state)  # the machine's own summary rules; one at a time


def _checkpoint_failed(state: Handoff, event: CheckpointFailed) -> Step:
    why = _ERROR_WORDS[event.error] + (f" ({event.detail})" if event.detail else "")
    said: Effect = Say(f"Not compacted: {why}. Everything is as it was.", "error")
    if event.trigger != "manual":
        said = EndExchange("context-full", f"The context is full and could not be compacted: {why}.")
    match state.phase:
        case "none" | "answered" | "delivered":
            return _stay(state, said)
        case "saved":
            return _fail(state, event.error, event.detail, *(() if event.trigger == "manual" else (said,)))
        case "failed":
            if event.trigger != "manual":
                return _stay(state, said)
            new, written = _change(state, error=event.error, detail=event.detail)
            return new, (written, said)
        case "compacting" | "ready":
            return _stay(state)


# --- the person's commands ----------------------------------------------------------------------


def _now_asked(state: Handoff, event: NowAsked, fresh: Fresh) -> Step:
    match state.phase:
        case "none" | "answered" | "delivered":
            return _stay(state, Steer(_asking(event.about)))
        case "saved" | "failed":
            return _compact(state, fresh, compactable=event.compactable, instructions=event.about)
        case "compacting":
            return _stay(state, Say("The summary is being written already."))
        case "ready":
            return _deliver(state)


def _resume_asked(state: Handoff, event: ResumeAsked, fresh: Fresh) -> Step:
    match state.phase:
        case "none" | "answered":
            return _stay(state, Resume())
        case "delivered":
            return _goes_on(state, Resume())
        case "saved" | "failed" | "ready" | "compacting":
            return _now_asked(state, NowAsked(compactable=event.compactable), fresh)


def _asking(about: str) -> str:
    wanted = f" Above all, note this: {about}" if about.strip() else ""
    return (
        "Pause here: bring what you are doing to a safe state, write a note to yourself (done with exact paths, how it "
        f"was checked, the one next action, whether the task is complete) and call self_compact alone with it.{wanted}"
    )


def _edit_asked(state: Handoff, event: EditAsked, fresh: Fresh) -> Step:
    refusals = {
        "none": "There is no handoff whose note could be edited.",
        "answered": "There is no handoff whose note could be edited.",
        "compacting": "The summary is being written: stop it with Esc first, then edit the note.",
        "delivered": "The note was already sent; write to the model instead.",
    }
    refusal = refusals.get(state.phase) or note_fault(event.note, event.largest)
    if refusal:
        return _stay(state, Say(refusal, "warning"))
    if state.phase == "ready":
        entry = Note(fresh(), event.note)
        new, written = _change(
            state,
            entry,
            note=entry.id,
            note_sha256=sha256_of(event.note),
            note_units=utf16_units(event.note),
        )
    else:
        new, written = _begin(state, event.note, fresh, replaces=state.cycle)
    return new, (written, Say("The note was changed. /self-compact-now goes on with it."))


def _drop_asked(state: Handoff, event: DropAsked) -> Step:
    if state.phase in ("none", "answered"):
        return _stay(state, Say("There is no handoff to drop."))
    if not event.confirmed:
        return _stay(state, Ask("Give this handoff up? Its note stays in the log, but is not delivered."))
    done = state.done + 1 if state.phase == "delivered" else state.done
    new, written = _change(Handoff(), done=done, closed="dropped")
    return new, ((AbortSummary(), written) if state.phase == "compacting" else (written,))


def _authored(state: Handoff, event: Authored) -> Step:
    match state.phase:
        case "none" | "answered":
            return _stay(state, Accept("steer-or-queue" if event.running else "send"))
        case "saved" | "ready":
            return _goes_on(state, Accept("queue"), Proceed())
        case "compacting":
            return _stay(state, Accept("queue"))
        case "delivered":
            return _stay(state, Accept("steer-or-queue")) if event.running else _goes_on(state, Accept("send"))
        case "failed":
            return _stay(state, Accept("send"))


def _goes_on(state: Handoff, *effects: Effect) -> Step:
    """Lift the stop: a prompt, key or command of the person does."""
    if not state.stopped:
        return state, effects
    new, written = _change(state, stopped=False)
    return new, (written, *effects)


# --- branches, models, ends and beginnings ------------------------------------------------------


def _branch_away(state: Handoff, event: BranchAway) -> Step:
    match state.phase:
        case "none" | "answered" | "saved" | "ready" | "failed":
            return _stay(state, Move())
        case "compacting":
            new, effects = _fail(state, "aborted", "the branch was left", AbortSummary())
            return new, (*effects, Move())
        case "delivered":
            if event.running and not event.confirmed:
                return _stay(
                    state, Ask("The continuation of a handoff is running here. Stop it and leave this branch?")
                )
            return _stay(state, *((StopExchange(),) if event.running else ()), Move())


def _arrived(state: Handoff, event: Arrived) -> Step:
    match state.phase:
        case "none" | "answered":
            return _stay(state)
        case "compacting":
            if event.how == "fork":
                return _stay(state, Say("A summary is being written here: fork when it is over.", "warning"))
            return _fail(state, "interrupted")
        case "saved" | "ready" | "delivered" | "failed":
            return _stay(state, Say(_pending(state)))


def _model_changed(state: Handoff, event: ModelChanged) -> Step:
    match state.phase:
        case "none" | "answered" | "delivered":
            return _stay(state, *_at_new_window(event))
        case "compacting":
            return _stay(state)  # this attempt ends on its model
        case "saved" | "ready" | "failed":
            if state.note_units <= event.largest or event.largest >= NOTE_LIMIT:
                return _stay(state)
            text = (
                f"The pending note is too large for this model's window: it needs at least {event.needed} tokens. "
                "It is kept; take a larger model, or shorten it with /self-compact-edit."
            )
            return _stay(state, Say(text, "warning"))


def _at_new_window(event: ModelChanged) -> tuple[Effect, ...]:
    latch = (Append((event.latch,)),) if event.latch is not None else ()
    if event.fits or not event.compactable:
        return latch
    return (*latch, StartSummary("overflow"))


def _quitting(state: Handoff) -> Step:
    if state.phase != "compacting":
        return _stay(state)
    new, written = _change(state, phase="saved", attempt="", attempts=max(0, state.attempts - 1))
    return new, (AbortSummary(), written)


def _reloaded(state: Handoff) -> Step:
    if state.phase == "compacting":
        return _fail(state, "interrupted")
    if state.stopped or state.phase not in ("ready", "delivered"):
        return _stay(state)
    return _stay(state, Proceed() if state.phase == "ready" else Resume())


def _log_back(state: Handoff) -> Step:
    if state.phase == "compacting":
        return _fail(state, "interrupted")
    return _stay(state, Proceed()) if state.phase == "ready" and not state.stopped else _stay(state)


def _undone(state: Handoff, event: Undone) -> Step:
    """Close the cycle whose checkpoint is undone; a checkpoint of another origin leaves the handoff as it was."""
    if not event.cycle or event.cycle != state.cycle or state.phase in ("none", "answered"):
        return _stay(state)
    new, written = _change(Handoff(), done=state.done, closed="undone")
    return new, (written,)
