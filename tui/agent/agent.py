"""The agent: takes messages, runs exchanges one after another, tells what happens.

    send ──► (idle: Prompt, running: Queue) ──► Exchange ──► Settled ──► what comes next (settle.py)

One task runs the exchanges; everything else only writes to the journal, wakes it, or cancels its scope.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import anyio
import msgspec

from tui.agent.approvals import Approvals, Decision
from tui.agent.attaching import attach, draft_of
from tui.agent.branch import Branch, file_states
from tui.agent.broadcast import Broadcast, Subscription
from tui.agent.compaction import Compaction
from tui.agent.dispatch import Dispatcher, Nobody
from tui.agent.events import AgentEvent, QueueChanged, QueuedText, QueueReturned, Said, UsageChanged
from tui.agent.exchange import Exchange
from tui.agent.files import SeenFiles
from tui.agent.gate import Gate
from tui.agent.journal import Journal, watch
from tui.agent.loop import Loop
from tui.agent.requests import RequestBuilder
from tui.agent.saving import Saver
from tui.agent.starting import Starting
from tui.context.handoff_effects import Accept
from tui.context.handoff_events import Authored
from tui.log.entries import ApprovalMode, Body, Entry, ModelChosen, Origin, Prompt, Queue, Settled, Waiting
from tui.log.gaps import page_of
from tui.messages import UserMessage, new_id
from tui.models.base import Model, ModelInfo, WindowSource
from tui.tools.base import Preview, ToolContext
from tui.tools.permissions import Verdict

__all__ = ["Agent", "AgentParts", "AgentStoppedError", "Mode", "approval_of", "chosen_model"]

Mode = Literal["ask", "edits", "all"]


class AgentStoppedError(Exception):
    """The log cannot be written, or another window owns the session: nothing can be sent."""


class AgentParts(msgspec.Struct, frozen=True):
    """What an agent is made of; `tui.agent.session` puts it together."""

    journal: Journal
    broadcast: Broadcast
    approvals: Approvals
    exchange: Callable[[Agent], Exchange]
    """Makes the next exchange; given the agent for the model and mode in force."""
    requests: RequestBuilder
    seen: SeenFiles
    context: Callable[[Agent, str], ToolContext]
    """What a program that runs for a mark (a call id) may use."""
    judge: Callable[[Agent, Preview], Verdict]
    """Whether the person's mode and rules allow something."""
    returns: bool
    """Whether there is an editor that takes waiting texts back when the agent stops."""
    compaction: Callable[[Agent], Compaction]
    """Makes the driver of the handoff; given the agent for the model in force."""
    model_of: Callable[[ModelChosen], Awaitable[Model]]
    """Opens the model that an entry names."""
    saver: Callable[[Agent], Saver]
    """Makes what writes the summary for next time."""
    starting: Callable[[Agent], Starting]
    """Makes what decides what this start begins from."""
    checkpoint_idle: int | None = None
    """Seconds of rest after which a summary for next time is made."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


class SessionView:
    """What a front end sees of a session: values of the moment, and the way to more of the past."""

    def __init__(self, parts: AgentParts, model: Model, approval: Mode) -> None:
        self._parts = parts
        self._journal = parts.journal
        self._model = model
        self._retired: list[Model] = []
        self._approval: Mode = approval

    @property
    def journal(self) -> Journal:
        """The way everything is written."""
        return self._journal

    @property
    def requests(self) -> RequestBuilder:
        """What knows how full the context is."""
        return self._parts.requests

    @property
    def session_id(self) -> str:
        """The id to resume with."""
        return self._journal.log.id

    @property
    def branch(self) -> Sequence[Entry]:
        """The entries held in memory, oldest first; older ones come by `history_page`."""
        return self._journal.branch.entries

    @property
    def writable(self) -> bool:
        """Whether this process owns the session and the log can be written."""
        return self._journal.log.writable and not self._journal.failure

    @property
    def model(self) -> Model:
        """The model in force."""
        return self._model

    @property
    def model_info(self) -> ModelInfo:
        """What is known of the model in force."""
        return self._parts.requests.info(self._model)

    @property
    def approval(self) -> Mode:
        """How much the person is asked."""
        return self._approval

    @property
    def queue(self) -> tuple[QueuedText, ...]:
        """All waiting messages, in order."""
        return _texts(self._journal.branch.queue)

    @property
    def usage(self) -> UsageChanged:
        """How full the context is."""
        return self._parts.requests.usage(self._model)

    def emit(self, event: AgentEvent) -> None:
        """Tell front ends of something that is not in the log."""
        self._parts.broadcast.emit(event)

    def subscribe(self) -> Subscription:
        """Return the events from now on."""
        return self._parts.broadcast.subscribe()

    async def history_page(self, before_depth: int, limit: int = 400) -> list[Entry]:
        """Return up to `limit` entries of the path older than `before_depth`, oldest first."""
        return await page_of(self._journal.log, before_depth, limit)

    async def draft(self) -> str:
        """Return the unsent text of the editor as last saved."""
        return await self._journal.log.draft()

    async def save_draft(self, text: str) -> None:
        """Keep the editor's unsent text; it survives a crash."""
        if self.writable:
            await self._journal.log.set_draft(text)


class Agent(SessionView):
    """One session at work. Made by `open_session`; every method is for the loop's own thread."""

    def __init__(self, parts: AgentParts, model: Model, approval: Mode) -> None:
        super().__init__(parts, model, approval)
        self._compaction = parts.compaction(self)
        self.dispatcher: Dispatcher = Nobody()
        """Who gives the next item of a run."""
        self._gate = Gate(parts.journal, parts.requests, self._compaction, lambda: self._model)
        self.starting = parts.starting(self)
        self.saver = parts.saver(self)
        self._attaching = anyio.Lock()
        self._loop = Loop(
            parts.journal,
            self._compaction,
            lambda: parts.exchange(self),
            parts.broadcast.emit,
            self.tell,
            dispatcher=lambda: self.dispatcher,
            starting=self.starting,
            returns=parts.returns,
        )

    @property
    def compaction(self) -> Compaction:
        """What drives the handoff."""
        return self._compaction

    @property
    def gate(self) -> Gate:
        """What judges how full the context is."""
        return self._gate

    @property
    def loop(self) -> Loop:
        """The task that runs exchanges."""
        return self._loop

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing is about to."""
        return self._loop.idle

    async def send(
        self, message: UserMessage, mode: Literal["steer", "follow-up"] = "steer", *, origin: Origin = "authored"
    ) -> None:
        """Start an exchange with `message`, or queue it while one runs. Raises `AgentStoppedError`, `LogError`.

        Returns when the words are durable, or an event has given them back: a crash after that loses none.
        While a handoff is pending it waits in the queue: compact, deliver, then it. What authored words name with
        an `@` goes with them.
        """
        self.check()
        if origin == "authored":
            async with self._attaching:  # what is sent later stays later, however long a file takes
                message = await attach(self, message)
            await self.dispatcher.authored()
        self.saver.stop()
        effects = await self._compaction.feed(Authored(running=not self.idle))
        held = any(isinstance(effect, Accept) and effect.how == "queue" for effect in effects)
        if self.idle and not held:
            self._loop.start(Prompt(message, origin))
            await self._loop.accepted()
            return
        item = Waiting(id=new_id(), message=message, mode=mode, origin=origin)
        await self._journal.change(lambda branch: (Queue((*branch.queue, self._behind(item, held=held))),))
        self.tell()
        if self.idle:
            self._loop.start()

    def _behind(self, item: Waiting, *, held: bool) -> Waiting:
        """Return what was held by a handoff that has just been delivered as a follow-up: it is no steer of it."""
        late = held and not self._compaction.locked
        return msgspec.structs.replace(item, mode="follow-up") if late else item

    async def take_back(self, queued_id: str) -> None:
        """Remove a waiting message; does nothing where it is gone already."""
        self.check()
        await self._journal.change(
            lambda branch: (
                (Queue(tuple(item for item in branch.queue if item.id != queued_id)),)
                if any(item.id == queued_id for item in branch.queue)
                else ()
            )
        )
        self.tell()

    async def interrupt(self) -> None:
        """Stop what runs and wait until it is over; what was streamed is kept."""
        await self._loop.interrupt()

    def answer(self, call_id: str, *, allowed: bool, rule: str = "", reason: str = "") -> bool:
        """Answer an approval question; False where it is not open any more."""
        return self._parts.approvals.answer(call_id, Decision(allowed=allowed, rule=rule, reason=reason))

    async def settled(self) -> Settled:
        """Wait until nothing runs; return how the last exchange ended."""
        await self._loop.wait_idle()
        return self._loop.last

    async def use_model(self, model: Model) -> None:
        """Answer with `model` from the next request on. The old one is closed when it has answered."""
        self.check()
        await self._journal.append(chosen_model(model.info))
        self._retired.append(self._model)
        self._model = model
        while self.idle and self._retired:
            await self._retired.pop().aclose()
        await self._gate.model_changed()
        self.tell()

    async def use_approval(self, mode: Mode) -> None:
        """Ask the person this much from now on."""
        self.check()
        await self._journal.append(ApprovalMode(mode))
        self._approval = mode

    async def move(
        self, entry_id: str, decide: Callable[[Branch], tuple[Body, ...]], model: Model | None = None
    ) -> None:
        """Go on from the entry of this id: only while nothing runs, and nothing runs by it.

        What `decide` returns for the branch that ends there is written with the move, in one transaction. Queue,
        handoff and approval mode are those of the new path; `model` is the one that answers on it, if another.
        """
        self.check()
        await self._journal.move(entry_id, decide)
        self._parts.seen.reset(file_states(self._journal.branch.entries))
        self._approval = approval_of(self._journal.branch)
        if model is not None:
            self._retired.append(self._model)
            self._model = model
        await self.dispatcher.moved()
        self.tell()

    async def model_of(self, chosen: ModelChosen) -> Model:
        """Return the model that an entry of the log names. Raises `ModelError`."""
        return await self._parts.model_of(chosen)

    def say(self, text: str) -> None:
        """Tell the person one line that is not in the log."""
        self._parts.broadcast.emit(Said(text))

    def give_back(self, texts: tuple[str, ...]) -> None:
        """Give texts back to the editor."""
        self._parts.broadcast.emit(QueueReturned(texts))

    def context(self, mark: str) -> ToolContext:
        """Return what a program that the program itself runs may use."""
        return self._parts.context(self, mark)

    def judge(self, preview: Preview) -> Verdict:
        """Return whether mode and rules of the person allow something."""
        return self._parts.judge(self, preview)

    def tell(self) -> None:
        """Tell front ends what waits and how full the context is."""
        self._parts.broadcast.emit(QueueChanged(self.queue))
        self._parts.broadcast.emit(self.usage)

    async def run(self) -> None:
        """Run exchanges until cancelled, or until the session is not ours any more."""
        async with anyio.create_task_group() as group:
            self.saver.attach(group)
            group.start_soon(watch, self._journal, self._loop.interrupt)
            if self._parts.checkpoint_idle is not None:
                group.start_soon(self._save_at_rest, float(self._parts.checkpoint_idle))
            await self._loop.run()

    async def _save_at_rest(self, seconds: float) -> None:
        """Make a summary for next time where nothing happened for so long and the view has grown by a quarter."""
        while True:
            await self._loop.wait_idle()
            before = self._journal.log.depth
            await self._parts.sleep(seconds)
            if self.idle and self._journal.log.depth == before and self.saver.grown():
                await self.saver.save()

    async def close(self) -> None:
        """Close the models' connections; the log is closed by who opened it."""
        await self._compaction.aclose()
        for model in (*self._retired, self._model):
            await model.aclose()

    def check(self) -> None:
        """Raise `AgentStoppedError` where nothing can be written, or the outcome of a call is not known."""
        if self.saver.unconfirmed:
            raise AgentStoppedError(
                "The summary for next time was stopped and has not ended: nothing more is sent in this program. "
                "What was said is kept; start clew again to go on."
            )
        if not self.writable:
            why = self._journal.failure or "another window writes this session, or its folder cannot be written"
            raise AgentStoppedError(f"Nothing was sent: {why.rstrip('.')}. What is saved is kept.")


def approval_of(branch: Branch) -> Mode:
    """Return how much a person is asked on a branch."""
    entry = branch.newest(ApprovalMode)
    return entry.body.mode if entry is not None and isinstance(entry.body, ApprovalMode) else "ask"


def chosen_model(info: ModelInfo) -> ModelChosen:
    """Return the entry that says this model answers; the window only where a person set it."""
    window = info.window if info.window_source is WindowSource.SETTING else 0
    return ModelChosen(provider=info.provider, model=info.id, base_url=info.base_url, window=window)


def _texts(queue: tuple[Waiting, ...]) -> tuple[QueuedText, ...]:
    return tuple(QueuedText(item.id, draft_of(item.message), item.mode) for item in queue)
