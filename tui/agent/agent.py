"""The agent: takes messages, runs exchanges one after another, tells what happens.

    send ──► (idle: Prompt, running: Queue) ──► Exchange ──► Settled ──► what comes next (settle.py)

One task runs the exchanges; everything else only writes to the journal, wakes it, or cancels its scope.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

import anyio
import msgspec

from tui.agent.approvals import Approvals, Decision
from tui.agent.broadcast import Broadcast, Subscription
from tui.agent.events import AgentEvent, PhaseChanged, QueueChanged, QueuedText, QueueReturned, UsageChanged
from tui.agent.exchange import Exchange
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder
from tui.agent.settle import deliver, next_waiting, stopped
from tui.log import LogError
from tui.log.entries import ApprovalMode, Entry, ModelChosen, Prompt, Queue, Settled, Waiting
from tui.messages import UserMessage, new_id
from tui.models.base import Model, ModelInfo, WindowSource

__all__ = ["Agent", "AgentParts", "AgentStoppedError", "Mode", "chosen_model"]

Mode = Literal["ask", "edits", "all"]


GOES_ON = ("answered", "length", "empty", "refusal")
"""After these the next waiting message is sent; after any other it would only fail the same way."""


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


class Agent:
    """One session at work. Made by `open_session`; every method is for the loop's own thread."""

    def __init__(self, parts: AgentParts, model: Model, approval: Mode) -> None:
        self._parts = parts
        self._journal = parts.journal
        self._model = model
        self._approval: Mode = approval
        self._prompts: deque[UserMessage] = deque()
        self._wake = anyio.Event()
        self._idle = anyio.Event()
        self._idle.set()
        self._scope: anyio.CancelScope | None = None
        self._stop = False
        self._last = Settled("answered")

    # What a front end sees

    @property
    def session_id(self) -> str:
        """The id to resume with."""
        return self._journal.log.id

    @property
    def branch(self) -> Sequence[Entry]:
        """The entries held in memory, oldest first; older ones come by `history_page`."""
        return self._journal.branch.entries

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing is about to."""
        return self._idle.is_set()

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

    def subscribe(self) -> Subscription:
        """Return the events from now on."""
        return self._parts.broadcast.subscribe()

    async def history_page(self, before_depth: int, limit: int = 400) -> list[Entry]:
        """Return up to `limit` entries of the path older than `before_depth`, oldest first."""
        return await self._journal.log.page(before=before_depth, limit=limit)

    async def draft(self) -> str:
        """Return the unsent text of the editor as last saved."""
        return await self._journal.log.draft()

    async def save_draft(self, text: str) -> None:
        """Keep the editor's unsent text; it survives a crash."""
        if self.writable:
            await self._journal.log.set_draft(text)

    # What a front end asks for

    async def send(self, message: UserMessage, mode: Literal["steer", "follow-up"] = "steer") -> None:
        """Start an exchange with `message`, or queue it while one runs. Raises `AgentStoppedError`, `LogError`."""
        self._check()
        if self.idle:
            self._idle = anyio.Event()
            self._prompts.append(message)
            self._wake.set()
            return
        item = Waiting(id=new_id(), message=message, mode=mode)
        await self._journal.change(lambda branch: (Queue((*branch.queue, item)),))
        self._tell_queue()

    async def take_back(self, queued_id: str) -> None:
        """Remove a waiting message; does nothing where it is gone already."""
        self._check()
        await self._journal.change(
            lambda branch: (
                (Queue(tuple(item for item in branch.queue if item.id != queued_id)),)
                if any(item.id == queued_id for item in branch.queue)
                else ()
            )
        )
        self._tell_queue()

    async def interrupt(self) -> None:
        """Stop the exchange that runs and wait until it is over; what was streamed is kept."""
        if not self.idle:
            self._stop = True
            if self._scope is not None:
                self._scope.cancel()
        await self._idle.wait()

    def answer(self, call_id: str, *, allowed: bool, rule: str = "", reason: str = "") -> bool:
        """Answer an approval question; False where it is not open any more."""
        return self._parts.approvals.answer(call_id, Decision(allowed=allowed, rule=rule, reason=reason))

    async def settled(self) -> Settled:
        """Wait until nothing runs; return how the last exchange ended."""
        await self._idle.wait()
        return self._last

    async def use_model(self, model: Model) -> None:
        """Answer with `model` from the next request on. The old one is closed."""
        self._check()
        await self._journal.append(chosen_model(model.info))
        old, self._model = self._model, model
        await old.aclose()
        self._tell_usage()

    async def use_approval(self, mode: Mode) -> None:
        """Ask the person this much from now on."""
        self._check()
        await self._journal.append(ApprovalMode(mode))
        self._approval = mode

    async def close(self) -> None:
        """Close the model's connections; the log is closed by who opened it."""
        await self._model.aclose()

    # The one task

    async def run(self) -> None:
        """Run exchanges until cancelled. A log that cannot be written ends it; the screen stays."""
        try:
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                while await self._open_exchange():
                    await self._run_exchange()
                self._rest()
        except* LogError as errors:
            for error in _flat(errors):
                self._journal.fail(error)
            self._last = Settled("error", self._journal.failure)
            self._rest()

    async def _open_exchange(self) -> bool:
        """Make the next prompt durable: what was sent, else what waits. False where there is nothing to do."""
        if self._prompts:
            await self._journal.append(Prompt(self._prompts.popleft()))
            return True
        if next_waiting(self._journal.branch) is None:
            return False
        await self._journal.change(deliver)
        self._tell_queue()
        return True

    async def _run_exchange(self) -> None:
        settled = Settled("aborted", "Interrupted.")
        try:
            with anyio.CancelScope() as scope:
                self._scope = scope
                if self._stop:  # Esc came before the exchange had begun
                    scope.cancel()
                settled = await self._parts.exchange(self).run()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._journal.append(Settled("interrupted", "The program was closed."))
            raise
        finally:
            self._scope = None
        await self._settle(settled)

    async def _settle(self, settled: Settled) -> None:
        """Write how it ended; after a stop or an error the waiting texts go back to the editor."""
        self._last = settled
        self._stop = False
        if settled.reason in GOES_ON:
            await self._journal.append(settled)
        else:
            waiting = self._journal.branch.queue
            await self._journal.change(lambda branch: stopped(branch, settled))
            if waiting:
                self._emit(QueueReturned(tuple(item.message.authored for item in waiting)))
        self._tell_queue()
        self._tell_usage()

    def _rest(self) -> None:
        self._emit(PhaseChanged("idle"))
        self._idle.set()

    def _check(self) -> None:
        if not self.writable:
            raise AgentStoppedError(
                f"Nothing can be sent: {self._journal.failure or 'another window owns this session'}. "
                "What is saved is kept; the text stays in the editor."
            )

    def _emit(self, event: AgentEvent) -> None:
        self._parts.broadcast.emit(event)

    def _tell_queue(self) -> None:
        self._emit(QueueChanged(self.queue))

    def _tell_usage(self) -> None:
        self._emit(self.usage)


def chosen_model(info: ModelInfo) -> ModelChosen:
    """Return the entry that says this model answers; the window only where a person set it."""
    window = info.window if info.window_source is WindowSource.SETTING else 0
    return ModelChosen(provider=info.provider, model=info.id, base_url=info.base_url, window=window)


def _texts(queue: tuple[Waiting, ...]) -> tuple[QueuedText, ...]:
    return tuple(QueuedText(item.id, item.message.authored, item.mode) for item in queue)


def _flat(group: BaseExceptionGroup[LogError]) -> list[LogError]:
    found: list[LogError] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
