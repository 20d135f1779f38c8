"""The driver of the handoff: feeds the pure machine, writes what it says, makes the summaries it asks for.

It holds no state of its own: the newest `Handoff` on the path is the state. What a person, the model or the
program does becomes an event; what the machine answers becomes one transaction, then what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from tui.agent.checkpoints import CheckpointMaker, NoCheckpoint
from tui.agent.events import AgentEvent, QueueReturned
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder
from tui.agent.settle import held_back, own_words
from tui.context.checkpoint import largest_note, made_progress, needed_window
from tui.context.continuation import delivery, redelivery
from tui.context.gate import (
    MOST_BARREN,
    CompactionMode,
    GateFacts,
    Verdict,
    act_at_hard,
    judge_batch,
    judge_latch,
    refused_answers,
)
from tui.context.guidance import announce, guidance_name, guidance_text
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
    ModelChanged,
    NowAsked,
    Quitting,
    Settles,
    SummaryAccepted,
    SummaryRefused,
)
from tui.context.templates import Template, read_template
from tui.context.thresholds import ConfigurationError, Thresholds, level_of
from tui.context.usage import fits
from tui.context.view import project
from tui.log.entries import Announced, Body, Checkpoint, Entry, Handoff, Note, Notice, Queue, Settled
from tui.messages import ToolCall, new_id
from tui.models.base import Model, WindowSource

__all__ = ["Compaction", "CompactionParts"]


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
    folders: tuple[Path, ...] = ()
    """Where templates of the person's, then of the trusted project, may lie."""


class Compaction:
    """Drives one session's handoff. All methods are for the agent's own task, or between its turns."""

    def __init__(self, parts: CompactionParts) -> None:
        self._parts = parts
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
        return _state(self._journal.branch.newest(Handoff))

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
    def folders(self) -> tuple[Path, ...]:
        """Where templates of the person's, then of the trusted project, may lie."""
        return self._parts.folders

    def compactable(self) -> bool:
        """Return whether a checkpoint is worth it : the one question gate, latch, tool and commands ask."""
        return self._parts.requests.compactable(self._parts.model())

    def largest(self, note: str = "") -> int:
        """Return how many UTF-16 units a note may have in this window."""
        budget = self._parts.requests.budget(self._parts.model())
        return largest_note(budget, note) if budget is not None else 0

    # --- before a request

    async def before_request(self) -> Settled | None:
        """Judge level and latch, tell the person of a crossing, act at hard; return how the exchange ends, or None."""
        model, requests = self._parts.model(), self._parts.requests
        limits = requests.thresholds(model)
        if self._parts.mode == "off" or isinstance(limits, ConfigurationError):
            return None
        await self._journal.append(*self._crossings(limits, model))
        act = act_at_hard(
            mode=self._parts.mode,
            latched=requests.latched,
            compactable=self.compactable(),
            refused=refused_answers(self._journal.branch.entries),
            has_tools=model.info.tools,
            checkpoint=requests.checkpoint_body,
            progress=self._progress(),
        )
        if act == "context-full":
            return Settled("context-full", "The context is full, and compacting again would change nothing.")
        if act == "checkpoint":
            self._parts.say("The context is full: a checkpoint is made without a note, and the work goes on.")
            return await self._outside("hard")
        return await self._make_room(model)

    async def _make_room(self, model: Model) -> Settled | None:
        """Compact first where the next request cannot fit a window that is known; a server must not cut it silently."""
        usage = self._parts.requests.measured(model)
        assumed = self._parts.requests.info(model).window_source is WindowSource.ASSUMED
        if assumed or fits(usage) or not self.compactable():
            return None
        return await self.overflow("")

    def _crossings(self, limits: Thresholds, model: Model) -> tuple[Body, ...]:
        usage, known_latch = self._parts.requests.measured(model), self._parts.requests.latch
        latch = judge_latch(
            latched=self._parts.requests.latched,
            tokens=usage.tokens,
            level=level_of(usage.tokens, limits),
            hard=limits.hard,
            compactable=self.compactable(),
            larger_window=known_latch is not None and limits.hard > known_latch.hard,
        )
        bodies: list[Body] = [] if latch is None else [latch]
        entry = self._journal.branch.newest(Announced)
        known = entry.body if entry is not None and isinstance(entry.body, Announced) else Announced(self.state.done)
        told = announce(known, done=self.state.done, tokens=usage.tokens, limits=limits)
        if told is not None:
            bodies.append(told.remembered)
            if told.text:
                bodies.append(Notice(told.text, _LEVELS[told.remembered.level], f"level-{told.remembered.level}"))
        return tuple(bodies)

    def guidance(self) -> str:
        """Return the transient note to the model for the next request; empty is none."""
        again = self._resuming if self.state.phase == "delivered" else ""
        told = self._level_guidance()
        if not again:
            return told
        return "\n\n".join(filter(None, (redelivery(again, project(self._journal.branch.entries)), told)))

    def _level_guidance(self) -> str:
        model, requests = self._parts.model(), self._parts.requests
        limits = requests.thresholds(model)
        if isinstance(limits, ConfigurationError):
            return ""
        tokens = requests.measured(model).tokens
        name = guidance_name(
            mode=self._parts.mode, tokens=tokens, limits=limits, state=self.state, compactable=self.compactable()
        )
        if not name or tokens is None:
            return ""
        template = read_template(name, self._parts.folders) if name != "hard" else Template("")
        return guidance_text(name, template.text if isinstance(template, Template) else "", tokens, limits)

    # --- the gate

    def judge(self, calls: Sequence[ToolCall]) -> Verdict:
        """Return what becomes of a batch; `Verdict.append` belongs into the answer's own transaction."""
        model, requests = self._parts.model(), self._parts.requests
        note = next((str(call.arguments.get("note_to_self", "")) for call in calls if call.name == "self_compact"), "")
        facts = GateFacts(
            state=self.state,
            mode=self._parts.mode,
            limits=requests.thresholds(model),
            latched=requests.latched,
            tokens=requests.measured(model).tokens,
            compactable=self.compactable(),
            new_work=self._new_work(),
            largest=self.largest(note),
            refused=refused_answers(self._journal.branch.entries),
        )
        return judge_batch(calls, facts, new_id)

    def _new_work(self) -> bool:
        """Whether a tool ran or the person wrote since the newest continuation."""
        handoff = self._journal.branch.newest(Handoff)
        after = handoff.depth if handoff is not None else -1
        return any(made_progress(entry) for entry in self._journal.branch.entries if entry.depth > after)

    def _progress(self) -> bool:
        """Whether anything was done since the checkpoint in force."""
        checkpoint = self._parts.requests.checkpoint
        after = checkpoint.depth if checkpoint is not None else -1
        return any(made_progress(entry) for entry in self._journal.branch.entries if entry.depth > after)

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
        note = self._note()
        self._resuming = note.text if note is not None else ""

    async def feed(self, event: HandoffEvent) -> tuple[Effect, ...]:
        """Give the machine an event; its transaction is written, and what is left to do is returned."""
        found: list[Effect] = []

        def decide(_branch: object) -> tuple[Body, ...]:
            effects = step(self.state, event, new_id)[1]
            found.extend(effects)
            deliver = next((effect for effect in effects if isinstance(effect, Deliver)), None)
            note = self._note()
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

    def _note(self) -> Note | None:
        entry = self._journal.branch.newest(Note)
        note = entry.body if entry is not None and isinstance(entry.body, Note) else None
        return note if note is not None and note.id == self.state.note else None

    # --- checkpoints

    async def _own_summary(self, wanted: StartSummary) -> None:
        """Make the machine's own summary; Esc and the program's end void it and are written down."""
        made: Checkpoint | NoCheckpoint | None = None
        try:
            with anyio.CancelScope() as self._making:
                made = await self._parts.maker.make("self", wanted.instructions, note=self._note())
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

    async def overflow(self, detail: str) -> Settled | None:
        """Compact after a request that did not fit; None repeats it, else how the exchange ends."""
        self._overflows += 1
        if self._overflows > MOST_BARREN:
            return Settled("context-full", f"The context was compacted {MOST_BARREN} times and is full again. {detail}")
        if not self.compactable() or self._parts.mode == "off":
            return Settled("context-full", detail)
        self._parts.say("The request did not fit the context window: it is compacted, then sent once more.")
        return await self._outside("overflow")

    async def _outside(self, trigger: Literal["overflow", "hard", "manual"], focus: str = "") -> Settled | None:
        """Make a checkpoint that is not the handoff's own; return how the exchange ends, or None."""
        pending = self._note() if self.state.phase == "delivered" else None
        made = await self._parts.maker.make(trigger, focus, pending=pending)
        checkpoint = made if isinstance(made, Checkpoint) else made.pointer
        if checkpoint is not None:
            effects = await self.feed(CheckpointMade(trigger, checkpoint))
        else:
            assert not isinstance(made, Checkpoint)
            effects = await self.feed(CheckpointFailed(trigger, made.error, made.detail))
        await self._parts.requests.checkpointed()
        ends = next((effect for effect in effects if isinstance(effect, EndExchange)), None)
        return Settled(ends.reason, ends.detail) if ends is not None else None

    async def model_changed(self) -> None:
        """Judge level and latch for the model now in force, and say where a pending note is too large for it."""
        model = self._parts.model()
        limits, budget = self._parts.requests.thresholds(model), self._parts.requests.budget(model)
        if isinstance(limits, ConfigurationError) or budget is None or self._parts.mode == "off":
            return
        await self._journal.append(*self._crossings(limits, model))
        note = self._note()
        text = note.text if note is not None else ""
        await self.feed(ModelChanged(largest=largest_note(budget, text), needed=needed_window(budget, text)))

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


_LEVELS: dict[str, Literal["info", "warning", "error"]] = {"soft": "info", "warning": "warning", "hard": "error"}


def _state(entry: Entry | None) -> Handoff:
    return entry.body if entry is not None and isinstance(entry.body, Handoff) else Handoff()


def _bodies(effects: Sequence[Effect]) -> tuple[Body, ...]:
    return tuple(body for effect in effects if isinstance(effect, Append) for body in effect.bodies)
