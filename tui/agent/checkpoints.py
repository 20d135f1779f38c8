"""Makes checkpoints: plans what is covered and kept, has the rest summarised, and judges what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from tui.agent.events import AgentEvent, PhaseChanged
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder, price
from tui.agent.summariser import Summarised, Summariser
from tui.agent.summary_models import SummaryModels
from tui.context.checkpoint import Budget, Plan, files_of, plan, summary_cap
from tui.context.summary import Accepted, Material, Rejected, pointer_checkpoint, prepare, with_summary
from tui.context.templates import PromptFolder, Template, TemplateFault, read_template
from tui.context.view import effective, in_force
from tui.log.entries import BranchSummary, Checkpoint, Entry, HandoffError, Note
from tui.messages import Usage
from tui.models.base import Model, ModelError

__all__ = ["CheckpointMaker", "CheckpointMakerParts", "NoCheckpoint"]

_SMALLER_AT_MOST = 4
"""Times a summary is asked for in smaller parts, before it is given up."""
Origin = Literal["self", "manual", "overflow", "hard", "resume"]


class NoCheckpoint(msgspec.Struct, frozen=True):
    """Why there is no summary; `pointer` is the checkpoint without a model, where that is wanted."""

    error: HandoffError
    detail: str = ""
    pointer: Checkpoint | None = None


class _Written(msgspec.Struct, frozen=True):
    text: str
    model: str
    seconds: float
    usage: Usage
    cost: float | None


class CheckpointMakerParts(msgspec.Struct, frozen=True):
    """What the maker needs from its surroundings."""

    journal: Journal
    requests: RequestBuilder
    summariser: Summariser
    models: SummaryModels
    model: Callable[[], Model]
    emit: Callable[[AgentEvent], None]
    pointer: bool = False
    """Whether a failed summary is replaced by a checkpoint without a model."""
    folders: tuple[PromptFolder, ...] = ()
    """Where the summary instruction of the person's, then of the trusted project, may lie."""


class CheckpointMaker:
    """Makes one checkpoint at a time; writes nothing. Cancelling `make` ends the summary call."""

    def __init__(self, parts: CheckpointMakerParts) -> None:
        self._parts = parts

    async def make(
        self, origin: Origin, focus: str = "", *, note: Note | None = None, pending: Note | None = None
    ) -> Checkpoint | NoCheckpoint:
        """Return the checkpoint to write, or why there is none.

        `note` is delivered after it, so its size counts; `pending` was delivered and is not answered yet, so
        its words are carried.
        """
        self._parts.emit(PhaseChanged("compacting"))
        await self._parts.requests.load()
        model = self._parts.model()
        budget = self._parts.requests.budget(model)
        planned = self._plan(origin, budget, model, note, pending)
        made = await self._summarised(planned, budget, model, focus)
        if isinstance(made, Checkpoint) or not self._parts.pointer:
            return made
        return msgspec.structs.replace(made, pointer=pointer_checkpoint(planned, arrived=self._arrived(planned)))

    async def aclose(self) -> None:
        """Close the summary model, where there is one of its own."""
        await self._parts.models.aclose()

    def _plan(self, origin: Origin, budget: Budget, model: Model, note: Note | None, pending: Note | None) -> Plan:
        usage = self._parts.requests.measured(model)
        return plan(
            self._parts.requests.situation(pending.text if pending is not None else ""),
            budget,
            origin,
            used=usage.estimate if usage.tokens is None else usage.tokens,
            known=usage.tokens is not None,
            note=note.text if note is not None else "",
        )

    async def _summarised(self, planned: Plan, budget: Budget, model: Model, focus: str) -> Checkpoint | NoCheckpoint:
        made = await self._asked(planned, budget, model, focus)
        if isinstance(made, NoCheckpoint):
            return made
        return with_summary(
            planned,
            made.text,
            arrived=self._arrived(planned),
            model=made.model,
            seconds=made.seconds,
            usage=made.usage,
            cost=made.cost,
        )

    async def _asked(self, what: Plan | Material, budget: Budget, model: Model, focus: str) -> _Written | NoCheckpoint:
        """Return what the summary model writes of something, or why it may not stand."""
        literal = self._parts.requests.given(model).prompt
        template = read_template("summary", self._parts.folders, literal=literal)
        if isinstance(template, TemplateFault):
            return NoCheckpoint("template", template.message)
        try:
            asked = await self._parts.models.get(model)
        except ModelError as error:
            return NoCheckpoint("provider-failure", f"the summary model cannot be used: {error}")
        own = budget if asked is model else self._parts.requests.budget(asked)
        done = await self._run(what, template, own, asked, focus)
        cost = price(done.usage, asked.info)
        self._parts.requests.spent(cost)
        if not isinstance(done.verdict, Accepted):
            return NoCheckpoint(done.verdict.error, done.verdict.detail)
        return _Written(done.verdict.text, asked.info.id, done.seconds, done.usage, cost)

    async def of_branch(self, left: Sequence[Entry], shared: str) -> BranchSummary | NoCheckpoint:
        """Return the summary of a branch that is left, by the rules of a checkpoint's; `left`: what it has alone.

        `shared` is the id of the newest entry both paths have.
        """
        self._parts.emit(PhaseChanged("compacting"))
        model = self._parts.model()
        budget = self._parts.requests.budget(model)
        checkpoint = in_force(left)
        covered = tuple(effective(left, checkpoint))
        before = checkpoint.body if checkpoint is not None and isinstance(checkpoint.body, Checkpoint) else None
        what = Material(covered, before.summary if before is not None else "", summary_cap(budget))
        made = await self._asked(what, budget, model, "")
        if isinstance(made, NoCheckpoint):
            return made
        changed = files_of(covered, before)[1]
        return BranchSummary(left[-1].id, shared, made.text, changed, made.model, made.seconds, made.usage)

    async def _run(
        self, planned: Plan | Material, template: Template, budget: Budget, model: Model, focus: str
    ) -> Summarised:
        """Ask for the summary; where its server refuses the size after all, in smaller parts: no dead end."""
        room, left = budget, _SMALLER_AT_MOST
        while True:
            job = prepare(planned, template.text, room, focus=focus)
            if isinstance(job, Rejected):
                return Summarised(job, Usage(), 0.0)
            done = await self._parts.summariser.run(job, model, self._parts.journal.log.id)
            if done.too_long is None or not left:
                return done
            left -= 1
            self._parts.requests.too_long(done.too_long, model)
            window = min(done.too_long.limit or room.window, room.window * 3 // 4)
            room = msgspec.structs.replace(room, window=window)

    def _arrived(self, planned: Plan) -> list[Entry]:
        """Return what came while the summary was made: it is kept."""
        return [entry for entry in self._parts.journal.branch.entries if entry.depth > planned.leaf_depth]
