"""Before each request and each batch of calls: how full the context is, what that means, who is told.

It judges and writes what was judged; the pure rules are in `tui.context.gate` and `tui.context.guidance`. What
must be done about it (a checkpoint) is the business of `compaction`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from tui.agent.compaction import Compaction
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder
from tui.context.checkpoint import largest_note, made_progress, needed_window
from tui.context.gate import GateFacts, Verdict, act_at_hard, judge_batch, judge_latch, refused_answers
from tui.context.guidance import announce, guidance_name, guidance_text
from tui.context.handoff_events import ModelChanged
from tui.context.templates import Template, read_template
from tui.context.thresholds import ConfigurationError, Thresholds, level_of
from tui.context.usage import fits
from tui.log.entries import Announced, Body, Handoff, Notice, Settled
from tui.messages import ToolCall, new_id
from tui.models.base import Model, WindowSource

__all__ = ["Gate"]

_LEVELS: dict[str, Literal["info", "warning", "error"]] = {"soft": "info", "warning": "warning", "hard": "error"}


class Gate:
    """One per agent; holds nothing."""

    def __init__(
        self, journal: Journal, requests: RequestBuilder, compaction: Compaction, model: Callable[[], Model]
    ) -> None:
        self._journal = journal
        self._requests = requests
        self._compaction = compaction
        self._model = model

    async def before_request(self) -> Settled | None:
        """Judge level and latch, tell the person of a crossing, act at hard; return how the exchange ends, or None."""
        model, requests = self._model(), self._requests
        limits = requests.thresholds(model)
        if self._compaction.mode == "off" or isinstance(limits, ConfigurationError):
            return self._no_room(model, limits)
        await self._journal.append(*self._crossings(limits, model))
        act = act_at_hard(
            mode=self._compaction.mode,
            latched=requests.latched,
            compactable=self._compaction.compactable(),
            refused=refused_answers(self._journal.branch.entries),
            has_tools=model.info.tools,
            checkpoint=requests.checkpoint_body,
            progress=self._progress(),
            most_barren=self._compaction.most_barren,
        )
        if act == "context-full":
            return Settled("context-full", "The context is full, and compacting again would change nothing.")
        if act == "checkpoint":
            return await self._compaction.hard()
        return await self._make_room(model)

    async def _make_room(self, model: Model) -> Settled | None:
        """Compact first where the next request cannot fit a window that is known; a server must not cut it silently."""
        if self._compaction.compactable() and not self._fits(model):
            return await self._compaction.overflow("")
        return self._no_room(model, self._requests.thresholds(model))

    def _fits(self, model: Model) -> bool:
        """Whether an answer can fit; a window that is only assumed may be larger, so it keeps nothing back."""
        assumed = self._requests.info(model).window_source is WindowSource.ASSUMED
        return assumed or fits(self._requests.measured(model))

    def _no_room(self, model: Model, limits: Thresholds | ConfigurationError) -> Settled | None:
        """Return how the exchange ends where no answer can fit: a limit of one token is no answer."""
        if self._fits(model):
            return None
        if isinstance(limits, ConfigurationError):
            return Settled("needs-person", f"{limits.message} Nothing was sent; the words are kept.")
        window = self._requests.info(model).window
        left = self._compaction.mode == "off" and self._compaction.compactable()
        text = f"The next request would leave no room for an answer in the window of {window:,} tokens"
        text += ". /compact makes room" if left else ", and there is nothing left to compact"
        text += ". Nothing was sent: use a model with a larger window, or begin a new session."
        return Settled("context-full", text)

    def _crossings(self, limits: Thresholds, model: Model) -> tuple[Body, ...]:
        usage, known_latch = self._requests.measured(model), self._requests.latch
        latch = judge_latch(
            latched=self._requests.latched,
            tokens=usage.tokens,
            level=level_of(usage.tokens, limits),
            hard=limits.hard,
            compactable=self._compaction.compactable(),
            larger_window=known_latch is not None and limits.hard > known_latch.hard,
        )
        bodies: list[Body] = [] if latch is None else [latch]
        entry, done = self._journal.branch.newest(Announced), self._compaction.state.done
        known = entry.body if entry is not None and isinstance(entry.body, Announced) else Announced(done)
        told = announce(known, done=done, tokens=usage.tokens, limits=limits)
        if told is not None:
            bodies.append(told.remembered)
            if told.text:
                bodies.append(Notice(told.text, _LEVELS[told.remembered.level], f"level-{told.remembered.level}"))
        return tuple(bodies)

    def guidance(self) -> str:
        """Return the transient note to the model for the next request; empty is none."""
        return "\n\n".join(filter(None, (self._compaction.redelivered(), self._level_guidance())))

    def _level_guidance(self) -> str:
        model, requests = self._model(), self._requests
        limits = requests.thresholds(model)
        if isinstance(limits, ConfigurationError):
            return ""
        tokens = requests.measured(model).tokens
        name = guidance_name(
            mode=self._compaction.mode,
            tokens=tokens,
            limits=limits,
            state=self._compaction.state,
            compactable=self._compaction.compactable(),
        )
        if not name or tokens is None:
            return ""
        template = read_template(name, self._compaction.folders) if name != "hard" else Template("")
        return guidance_text(name, template.text if isinstance(template, Template) else "", tokens, limits)

    def judge(self, calls: Sequence[ToolCall]) -> Verdict:
        """Return what becomes of a batch; `Verdict.append` belongs into the answer's own transaction."""
        model, requests = self._model(), self._requests
        note = next((str(call.arguments.get("note_to_self", "")) for call in calls if call.name == "self_compact"), "")
        facts = GateFacts(
            state=self._compaction.state,
            mode=self._compaction.mode,
            limits=requests.thresholds(model),
            latched=requests.latched,
            tokens=requests.measured(model).tokens,
            compactable=self._compaction.compactable(),
            new_work=self._new_work(),
            largest=self._compaction.largest(note),
            barren=self._barren(),
            refused=refused_answers(self._journal.branch.entries),
        )
        return judge_batch(calls, facts, new_id)

    def _new_work(self) -> bool:
        """Whether a tool ran or the person wrote since the newest continuation."""
        handoff = self._journal.branch.newest(Handoff)
        after = handoff.depth if handoff is not None else -1
        return any(made_progress(entry) for entry in self._journal.branch.entries if entry.depth > after)

    def _barren(self) -> bool:
        checkpoint = self._requests.checkpoint_body
        return checkpoint is not None and checkpoint.barren >= self._compaction.most_barren and not self._progress()

    def _progress(self) -> bool:
        """Whether anything was done since the checkpoint in force."""
        checkpoint = self._requests.checkpoint
        after = checkpoint.depth if checkpoint is not None else -1
        return any(made_progress(entry) for entry in self._journal.branch.entries if entry.depth > after)

    async def model_changed(self) -> None:
        """Judge level and latch for the model now in force, and say where a pending note is too large for it."""
        model = self._model()
        limits, budget = self._requests.thresholds(model), self._requests.budget(model)
        if isinstance(limits, ConfigurationError) or self._compaction.mode == "off":
            return
        await self._journal.append(*self._crossings(limits, model))
        note = self._compaction.note()
        text = note.text if note is not None else ""
        await self._compaction.feed(
            ModelChanged(largest=largest_note(budget, text), needed=needed_window(budget, text))
        )
