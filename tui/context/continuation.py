"""The continuation: the note, byte for byte and in one piece, and what the model is told around it."""

from __future__ import annotations

from collections.abc import Iterable

from tui.log.entries import Body, Handoff, Note, Prompt
from tui.messages import Message, Text, UserMessage

__all__ = ["continuation_text", "delivery", "note_in", "redelivery"]

_BLOCK = """<continuation>
The conversation was compacted. The note above is yours, word for word. Do only what is unfinished; do not redo what \
it says is done. If the whole task is complete, report to the person; else take the next action, and report when done.
</continuation>"""
_POINTER = (
    "The program was interrupted and started again. Your note to yourself stands above; go on from it and from "
    "what came after it. Do not repeat a call whose result you can see; check first where its effects are unknown."
)


def continuation_text(note: str) -> str:
    """Return what is sent: the note, a blank line, the block."""
    return f"{note}\n\n{_BLOCK}"


def note_in(text: str) -> str:
    """Return the note of a continuation, for the screen; any other text comes back as it is."""
    return text.removesuffix(continuation_text(""))


def delivery(note: Note, handoff: Handoff) -> tuple[Body, ...]:
    """Return the one transaction of a delivery: the continuation, which names its cycle, and the state."""
    message = UserMessage((Text(continuation_text(note.text)),))
    return Prompt(message, origin="continuation", queued=handoff.cycle), handoff


def redelivery(note: str, view: Iterable[Message]) -> str:
    """Return the transient text for a resumed continuation: a pointer, or the note in full where the view lost it.

    It goes into `Request.guidance` and never into the log, so that a cycle has one continuation for ever.
    """
    for message in view:
        if isinstance(message, UserMessage) and any(isinstance(p, Text) and note in p.text for p in message.content):
            return _POINTER
    return f"{continuation_text(note)}\n\n{_POINTER}"
