"""The one task that runs exchanges, one after another, and decides nothing about what they contain.

Order at each settle: a stop, then the handoff, then what was sent, then what waits (`settle.py`), then a run's item.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from tui.agent.attaching import draft_of
from tui.agent.compaction import Compaction
from tui.agent.dispatch import Dispatcher, Nobody
from tui.agent.events import AgentEvent, PhaseChanged, QueueReturned, Said
from tui.agent.exchange import Exchange
from tui.agent.journal import Journal
from tui.agent.settle import GOES_ON, deliver, next_waiting, own_words, stopped
from tui.agent.starting import Starting
from tui.context.followup import Refused
from tui.context.handoff_events import Escaped
from tui.log import LogError
from tui.log.entries import Body, Prompt, Queue, Settled
from tui.messages import UserMessage

__all__ = ["Loop"]


class Loop:
    """Runs until cancelled. `start` and `interrupt` are how others reach it."""

    def __init__(
        self,
        journal: Journal,
        compaction: Compaction,
        exchange: Callable[[], Exchange],
        emit: Callable[[AgentEvent], None],
        tell: Callable[[], None],
        *,
        starting: Starting,
        dispatcher: Callable[[], Dispatcher] = Nobody,
        returns: bool = True,
    ) -> None:
        self._journal = journal
        self._compaction = compaction
        self._dispatcher = dispatcher
        self._exchange = exchange
        self._emit = emit
        self._tell = tell
        self._starting = starting
        self._returns = returns
        self._prompts: deque[Prompt] = deque()
        self._accepted = anyio.Event()
        self._jobs: deque[Callable[[], Awaitable[None]]] = deque()
        self._wake = anyio.Event()
        self._idle = anyio.Event()
        self._idle.set()
        self._scope: anyio.CancelScope | None = None
        self._stop = False
        self._resume = False
        self._held = False
        self._over = False
        self.last = Settled("answered")
        """How the newest exchange of this process ended."""

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing is about to."""
        return self._idle.is_set()

    async def wait_idle(self) -> None:
        """Wait until nothing runs."""
        await self._idle.wait()

    def start(self, prompt: Prompt | None = None, *, resume: bool = False) -> None:
        """Begin an exchange with `prompt`, or go on with what the log says waits (`resume`: the open exchange)."""
        if prompt is not None:
            self._prompts.append(prompt)
            self._accepted = anyio.Event()
        self._resume = self._resume or resume
        self._begin()

    async def accepted(self) -> None:
        """Wait until what `start` was given is durable, or has gone back to the editor."""
        await self._accepted.wait()

    def job(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` in this task, when nothing else runs; Esc stops it."""
        self._jobs.append(work)
        self._begin()

    def hold(self) -> None:
        """Let nothing go on by itself after the job that says this: it led to another place of the tree."""
        self._held = True

    def _begin(self) -> None:
        if self._over:
            self._unsaved()
            return
        if self._idle.is_set():
            self._idle = anyio.Event()
        self._wake.set()

    async def interrupt(self) -> None:
        """Stop what runs and wait until it is over."""
        if not self.idle:
            self._stop = True
            self._compaction.quitting = False
            if self._scope is not None:
                self._scope.cancel()
        await self._idle.wait()

    async def run(self) -> None:
        """Run exchanges until cancelled. A log that cannot be written ends it; the screen stays."""
        try:
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                while await self._turn():
                    pass
                if self._compaction.state.phase == "failed":
                    await self._give_back()
                self._rest()
        except* LogError as errors:
            for error in _flat(errors):
                self._journal.fail(error)
            self.last = Settled("error", self._journal.failure)
            self._over = True
            self._unsaved()
            self._rest()
        finally:
            self._accepted.set()

    async def _turn(self) -> bool:
        """Open what comes next and run it; False where there is nothing to do."""
        opened = False
        self._compaction.quitting = True  # until Esc says otherwise, a cancel is the program's end
        if self._stop:  # Esc came when one thing was over and the next had not begun
            return await self._stopped()
        with anyio.CancelScope() as scope:
            self._scope = scope
            opened = await self._open()
        self._scope = None
        if scope.cancelled_caught:
            return await self._stopped()
        return opened and await self._run_exchange()

    async def _stopped(self) -> bool:
        """Write down that a person stopped what was about to go on; it does so only when they say."""
        await self._dispatcher().stopped()
        await self._compaction.feed(Escaped())
        await self._give_back()
        return False

    async def _open(self) -> bool:
        """Go on with the handoff, else make the next prompt durable; False where nothing waits."""
        while self._jobs:
            await self._jobs.popleft()()
        held, self._held = self._held and not self._prompts, False
        if held:
            return False
        if await self._compaction.advance() or self._journal.branch.continuation_due:
            return True
        if self._resume:
            self._resume = False
            return True
        if self._prompts:
            first = await self._first(self._prompts[0].message)
            if first is None:
                return False
            await self._journal.append(*first, self._prompts[0])
            self._prompts.popleft()  # not before it is durable: if that fails the words go back
            await self._starting.begun(first)
            self._accepted.set()
            return True
        # What came while a dispatch was judged is sent, not left waiting.
        return await self._next() or await self._dispatcher().dispatch() or await self._next()

    async def _next(self) -> bool:
        """Make the next waiting message durable as a prompt; False where none waits, or a handoff comes first."""
        waiting = None if self._compaction.locked else next_waiting(self._journal.branch)
        first = await self._first(waiting.message) if waiting is not None else None
        if first is None:
            return False
        await self._journal.change(lambda branch: (*first, *deliver(branch)))
        await self._starting.begun(first)
        self._tell()
        return True

    async def _first(self, message: UserMessage) -> tuple[Body, ...] | None:
        """Return what goes before the first prompt after a start; None where nothing may be sent, which is said."""
        found = await self._starting.bodies(message)
        if not isinstance(found, Refused):
            return found
        await self._give_back()
        self.last = Settled("needs-person", self._starting.refusal(found))
        self._emit(Said(self.last.detail))
        return None

    async def _run_exchange(self) -> bool:
        """Run it to its end; False where nothing may follow by itself, since a person stopped it."""
        settled = Settled("aborted", "Interrupted.")
        try:
            with anyio.CancelScope() as scope:
                self._scope = scope
                if self._stop:  # Esc came before the exchange had begun
                    scope.cancel()
                settled = await self._exchange().run()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._journal.append(Settled("interrupted", "The program was closed."))
            raise
        finally:
            self._scope = None
        await self._settle(settled)
        return settled.reason != "aborted"

    async def _settle(self, settled: Settled) -> None:
        """Write how it ended and what that means for the handoff; after a stop waiting texts go back to the editor."""
        self.last = settled
        self._starting.settled()
        if settled.reason == "aborted":
            self._stop = False
            await self._dispatcher().stopped()  # before its end is written: a crash between leaves the run waiting
        waiting = self._journal.branch.queue
        returns = self._returns and settled.reason not in (*GOES_ON, "handoff")
        await self._journal.change(
            lambda branch: (
                *(stopped(branch, settled) if returns else (settled,)),
                *self._compaction.settling(settled),
            )
        )
        if returns and waiting:
            self._emit(QueueReturned(own_words(waiting)))
        await self._dispatcher().settled(settled)
        self._tell()

    async def _give_back(self) -> None:
        """Return what was sent, and what waits, to the editor."""
        texts = tuple(draft_of(prompt.message) for prompt in self._prompts if prompt.origin == "authored")
        if self._returns and self._journal.branch.queue:
            texts += own_words(self._journal.branch.queue)
            await self._journal.append(Queue())
        self._prompts.clear()
        self._accepted.set()
        self._jobs.clear()
        self._stop = self._resume = False
        if texts:
            self._emit(QueueReturned(texts))
        self.last = Settled("aborted", "Interrupted.")

    def _unsaved(self) -> None:
        """Return what was sent and could not be made durable to the editor; what waits is in the log."""
        texts = tuple(draft_of(prompt.message) for prompt in self._prompts if prompt.origin == "authored")
        self._prompts.clear()
        self._accepted.set()
        if texts:
            self._emit(QueueReturned(texts))

    def _rest(self) -> None:
        self._stop = False  # an Esc that came when all was over must not stop what is sent next
        if self._compaction.state.phase == "failed":
            self.last = Settled(
                "needs-person", "The handoff failed; its note is kept. Send anything, or resume, edit or drop it."
            )
        self._emit(PhaseChanged("idle"))
        self._idle.set()


def _flat(group: BaseExceptionGroup[LogError]) -> list[LogError]:
    found: list[LogError] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
