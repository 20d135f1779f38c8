"""Makes checkpoints: plans what is covered and kept, has the rest summarised, and judges what comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from tui.agent.events import AgentEvent, PhaseChanged
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder
from tui.agent.summariser import Summariser
from tui.context.checkpoint import Budget, Plan, plan
from tui.context.summary import Accepted, Rejected, pointer_checkpoint, prepare, with_summary
from tui.context.templates import TemplateFault, read_template
from tui.log.entries import Checkpoint, Entry, HandoffError, Note
from tui.models.base import Model

__all__ = ["CheckpointMaker", "CheckpointMakerParts", "NoCheckpoint"]

Origin = Literal["self", "manual", "overflow", "hard"]


class NoCheckpoint(msgspec.Struct, frozen=True):
    """Why there is no summary; `pointer` is the checkpoint without a model, where that is wanted."""

    error: HandoffError
    detail: str = ""
    pointer: Checkpoint | None = None


class CheckpointMakerParts(msgspec.Struct, frozen=True):
    """What the maker needs from its surroundings."""

    journal: Journal
    requests: RequestBuilder
    summariser: Summariser
    model: Callable[[], Model]
    emit: Callable[[AgentEvent], None]
    pointer: bool = False
    """Whether a failed summary is replaced by a checkpoint without a model."""
    folders: tuple[Path, ...] = ()
    """Where the summary instruction of the person's, then of the trusted project, may lie."""
    prompt: str | None = None
    """The summary instruction given as a literal."""


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
        if budget is None:
            return NoCheckpoint("does-not-fit", "the compaction settings are invalid")
        planned = self._plan(origin, budget, model, note, pending)
        last = self._parts.journal.branch.entries[-1].depth
        made = await self._summarised(planned, budget, model, focus, last)
        if isinstance(made, Checkpoint) or not self._parts.pointer:
            return made
        return msgspec.structs.replace(made, pointer=pointer_checkpoint(planned, arrived=self._arrived(last)))

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

    async def _summarised(
        self, planned: Plan, budget: Budget, model: Model, focus: str, last: int
    ) -> Checkpoint | NoCheckpoint:
        template = read_template("summary", self._parts.folders, literal=self._parts.prompt)
        if isinstance(template, TemplateFault):
            return NoCheckpoint("template", template.message)
        job = prepare(planned, template.text, budget, focus=focus)
        if isinstance(job, Rejected):
            return NoCheckpoint(job.error, job.detail)
        done = await self._parts.summariser.run(job, model, self._parts.journal.log.id)
        if not isinstance(done.verdict, Accepted):
            return NoCheckpoint(done.verdict.error, done.verdict.detail)
        return with_summary(
            planned,
            done.verdict.text,
            arrived=self._arrived(last),
            model=model.info.id,
            seconds=done.seconds,
            usage=done.usage,
        )

    def _arrived(self, last: int) -> list[Entry]:
        """Return what came while the summary was made: it is kept."""
        return [entry for entry in self._parts.journal.branch.entries if entry.depth > last]
