"""The driver of the handoff: feeds the pure machine, writes what it says, makes the summaries it asks for.

It holds no state of its own: the newest `Handoff` on the path is the state. What a person, the model or the
program does becomes an event; what the machine answers becomes one transaction, then what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import anyio
import msgspec

from tui.agent.checkpoints import CheckpointMaker, NoCheckpoint
from tui.agent.events import AgentEvent, QueueReturned
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder
from tui.agent.settle import held_back, own_words
from tui.context.checkpoint import largest_note
from tui.context.continuation import delivery, redelivery
from tui.context.gate import (
    MOST_BARREN,
    CompactionMode,
)
from tui.context.handoff import is_locked, step
from tui.context.handoff_effects import (
    AbortSummary,
    Append,
    Ask,
    Deliver,
    Effect,
    EndExchange,
    ReturnQueue,
    Say,
    StartSummary,
    Steer,
)
from tui.context.handoff_events import (
    CheckpointFailed,
    CheckpointMade,
    CompactAsked,
    DropAsked,
    EditAsked,
    Escaped,
    HandoffEvent,
    NowAsked,
    Quitting,
    Settles,
    SummaryAccepted,
    SummaryRefused,
)
from tui.context.templates import PromptFolder
from tui.log.entries import Body, Checkpoint, Entry, Handoff, Note, Queue, Settled
from tui.messages import new_id
from tui.models.base import Model

__all__ = ["Compaction", "CompactionParts", "state_of"]


class CompactionParts(msgspec.Struct, frozen=True):
    """What the driver needs from its surroundings."""

    journal: Journal
    requests: RequestBuilder
    maker: CheckpointMaker
    model: Callable[[], Model]
    emit: Callable[[AgentEvent], None]
    say: Callable[[str], None]
    """Tells the person one line that is not in the log."""
    returns: bool = True
    """Whether there is an editor that takes held texts back; else they stay in the queue."""
    mode: CompactionMode = "self"
    most_barren: int = MOST_BARREN
    """Checkpoints in a row with no work between them, before an exchange ends as context-full."""
    folders: tuple[PromptFolder, ...] = ()
    """Where templates of the person's, then of the trusted project, may lie."""


class Compaction:
    """Drives one session's handoff. All methods are for the agent's own task, or between its turns."""

    def __init__(self, parts: CompactionParts) -> None:
        self._parts = parts
        self.summary_of_branch = parts.maker.of_branch
        """Gives the summary of a branch that is left, or why there is none; writes nothing."""
        self._journal = parts.journal
        self._resuming = ""
        self._making: anyio.CancelScope | None = None
        self._overflows = 0
        """In the running exchange: each frees room for the same thing to happen again."""
        self.quitting = False
        """Set when the program ends on purpose: a cancelled summary then burns no attempt."""

    # --- facts

    @property
    def state(self) -> Handoff:
        """The state, as the log says it."""
        return state_of(self._journal.branch.newest(Handoff))

    @property
    def locked(self) -> bool:
        """Whether a handoff is pending, so that queues wait."""
        return is_locked(self.state)

    @property
    def unanswered(self) -> bool:
        """Whether a cycle is open: pending, or delivered and not answered yet."""
        return self.state.phase not in ("none", "answered")

    @property
    def mode(self) -> CompactionMode:
        """How this session compacts."""
        return self._parts.mode

    @property
    def most_barren(self) -> int:
        """Checkpoints in a row with no work between them, before an exchange ends as context-full."""
        return self._parts.most_barren

    @property
    def folders(self) -> tuple[PromptFolder, ...]:
        """Where templates of the person's, then of the trusted project, may lie."""
        return self._parts.folders

    def compactable(self) -> bool:
        """Return whether a checkpoint is worth it now: the one question that gate, tool and commands ask."""
        return self._parts.requests.compactable(self._parts.model())

    def largest(self, note: str = "") -> int:
        """Return how many UTF-16 units a note may have in this window."""
        return largest_note(self._parts.requests.budget(self._parts.model()), note)

    # --- going on

    async def advance(self) -> bool:
        """Go on with a pending handoff as far as it goes by itself; True where it wrote a continuation."""
        while self.state.phase in ("saved", "ready") and not self.state.stopped:
            for effect in await self.feed(Settles(compactable=self.compactable())):
                if isinstance(effect, StartSummary):
                    await self._own_summary(effect)
                elif isinstance(effect, Deliver):
                    return True
        return False

    def settling(self, settled: Settled) -> tuple[Body, ...]:
        """Return what is written with the end of an exchange: the continuation's answer closes its cycle."""
        self._resuming = ""
        self._overflows = 0
        if settled.reason == "aborted":
            return _bodies(step(self.state, Escaped(), new_id)[1])
        if self.state.phase != "delivered" or settled.reason == "handoff":
            return ()
        complete = settled.reason == "answered"
        return _bodies(step(self.state, Settles(complete=complete, detail=settled.detail), new_id)[1])

    def resume(self) -> None:
        """Begin the next request of a delivered continuation with its note at hand."""
        note = self.note()
        self._resuming = note.text if note is not None else ""

    def redelivered(self) -> str:
        """Return the transient text for a continuation that was taken up again; empty for any other request."""
        if not self._resuming or self.state.phase != "delivered":
            return ""
        return redelivery(self._resuming, self._parts.requests.view())

    async def feed(self, event: HandoffEvent) -> tuple[Effect, ...]:
        """Give the machine an event; its transaction is written, and what is left to do is returned."""
        found: list[Effect] = []

        def decide(_branch: object) -> tuple[Body, ...]:
            effects = step(self.state, event, new_id)[1]
            found.extend(effects)
            deliver = next((effect for effect in effects if isinstance(effect, Deliver)), None)
            note = self.note()
            sent: tuple[Body, ...] = ()
            if deliver is not None and note is not None:
                sent = (*delivery(note, deliver.handoff), *held_back(self._journal.branch.queue))
            returned = any(isinstance(effect, ReturnQueue) for effect in effects) and self._returns
            return (*_bodies(effects), *sent, *((Queue(),) if returned else ()))

        waiting = self._journal.branch.queue
        await self._journal.change(decide)
        for effect in found:
            if isinstance(effect, Say):
                self._parts.say(effect.text)
            elif isinstance(effect, AbortSummary) and self._making is not None:
                self._making.cancel()
            elif isinstance(effect, ReturnQueue) and waiting and self._parts.returns:
                self._parts.emit(QueueReturned(own_words(waiting)))
        return tuple(found)

    @property
    def _returns(self) -> bool:
        return self._parts.returns and bool(self._journal.branch.queue)

    def note(self) -> Note | None:
        """Return the note of the newest cycle, or None."""
        entry = self._journal.branch.newest(Note)
        note = entry.body if entry is not None and isinstance(entry.body, Note) else None
        return note if note is not None and note.id == self.state.note else None

    async def aclose(self) -> None:
        """Close what was opened to make summaries."""
        await self._parts.maker.aclose()

    # --- checkpoints

    async def _own_summary(self, wanted: StartSummary) -> None:
        """Make the machine's own summary; Esc and the program's end void it and are written down."""
        made: Checkpoint | NoCheckpoint | None = None
        try:
            with anyio.CancelScope() as self._making:
                made = await self._parts.maker.make("self", wanted.instructions, note=self.note())
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                if self.state.attempt == wanted.attempt:
                    await self.feed(Quitting() if self.quitting else Escaped())
            raise
        if made is None:
            return  # dropped: what is written already says so
        if isinstance(made, Checkpoint):
            await self.feed(SummaryAccepted(wanted.attempt, made))
        else:
            await self.feed(SummaryRefused(wanted.attempt, made.error, made.detail, made.pointer))
        await self._parts.requests.checkpointed()

    async def hard(self) -> Settled | None:
        """Compact without a note, at the last mark; None goes on, else how the exchange ends."""
        self._parts.say("The context is full: a checkpoint is made without a note, and the work goes on.")
        return await self._outside("hard")

    async def overflow(self, detail: str) -> Settled | None:
        """Compact after a request that did not fit; None repeats it, else how the exchange ends."""
        self._overflows += 1
        most = self._parts.most_barren
        if self._overflows > most:
            return Settled("context-full", f"The context was compacted {most} times and is full again. {detail}")
        if self._parts.mode == "off":
            return Settled("context-full", f"{detail} Compaction is switched off; /compact makes room.".lstrip())
        if not self.compactable():
            return Settled("context-full", detail)
        self._parts.say("The request did not fit the context window: it is compacted, then sent once more.")
        return await self._outside("overflow")

    async def _outside(self, trigger: Literal["overflow", "hard", "manual"], focus: str = "") -> Settled | None:
        """Make a checkpoint that is not the handoff's own; return how the exchange ends, or None."""
        pending = self.note() if self.state.phase == "delivered" else None
        made = await self._parts.maker.make(trigger, focus, pending=pending)
        checkpoint = made if isinstance(made, Checkpoint) else made.pointer
        if checkpoint is not None:
            why = "" if isinstance(made, Checkpoint) else made.error
            effects = await self.feed(CheckpointMade(trigger, checkpoint, why))
        else:
            assert not isinstance(made, Checkpoint)
            effects = await self.feed(CheckpointFailed(trigger, made.error, made.detail))
        await self._parts.requests.checkpointed()
        ends = next((effect for effect in effects if isinstance(effect, EndExchange)), None)
        return Settled(ends.reason, ends.detail) if ends is not None else None

    # --- what the person asks for, while nothing runs

    async def compact(self, instructions: str) -> None:
        """`/compact [instructions]`."""
        asked = CompactAsked(running=False, compactable=self.compactable(), instructions=instructions)
        if any(isinstance(effect, StartSummary) for effect in await self.feed(asked)):
            await self._outside("manual", instructions)

    async def now(self, about: str) -> str:
        """`/self-compact-now [what matters]`: return the text to give the model; empty where it goes on by itself."""
        for effect in await self.feed(NowAsked(about, self.compactable())):
            if isinstance(effect, Steer):
                return effect.text
            if isinstance(effect, StartSummary):
                await self._own_summary(effect)
        return ""

    async def edit(self, note: str) -> None:
        """`/self-compact-edit` came back with this note."""
        await self.feed(EditAsked(note, self.largest(note)))

    async def drop(self, *, confirmed: bool) -> str:
        """`/self-compact-drop`: return the question to ask first, or nothing where it is done."""
        for effect in await self.feed(DropAsked(confirmed)):
            if isinstance(effect, Ask):
                return effect.text
        return ""


def state_of(entry: Entry | None) -> Handoff:
    """Return the state of the handoff that its newest entry says."""
    return entry.body if entry is not None and isinstance(entry.body, Handoff) else Handoff()


def _bodies(effects: Sequence[Effect]) -> tuple[Body, ...]:
    return tuple(body for effect in effects if isinstance(effect, Append) for body in effect.bodies)
