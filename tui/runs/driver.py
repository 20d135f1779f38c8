"""The driver of a session's run: tells the pure machine what happens, and does what the gates say.

    settle ──► schedule (token) ──► dispatch: snapshot → gates → verify | review | claim | pause | complete

It decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio

from tui.agent.agent import Agent
from tui.agent.dispatch import NO_RUN
from tui.log import LogError, RunLost
from tui.log.entries import Prompt, Settled
from tui.messages import Text, UserMessage, clean
from tui.runs.book import DriverParts, RunBook
from tui.runs.checkout import Checkout
from tui.runs.gates import Act, Bound, Claim, Complete, Hold, Snapshot, Verify, Wedged, judge
from tui.runs.message import item_message
from tui.runs.meter import Meter
from tui.runs.plan import Plan
from tui.runs.state import Answered, Claimed, Completed, Ready, Resumed, Reviewed, RunStatus, Stopped
from tui.runs.verifier import Verifier
from tui.tools.base import ToolError

__all__ = ["RunDriver"]

_Any = TypeVar("_Any")
_FAILED = ("error", "context-full", "needs-person")
"""Exchanges that end so would only fail the same way again."""


class RunDriver:
    """Sits in the agent's seat for runs (`tui.agent.dispatch`)."""

    def __init__(self, agent: Agent, parts: DriverParts) -> None:
        self.agent = agent
        self.book = RunBook(agent, parts)
        self._verifier = Verifier(self.book)
        self._meter = Meter(self.book)
        self._scheduled: int | None = None

    # --- a person's words

    async def start(self, plan: Plan, source: str, checkout: Checkout) -> None:
        """Begin a run; all preconditions hold. Raises `RunHeld`, and leaves nothing half active."""
        await self.book.start(plan, source, checkout)
        self._go()

    async def resume(self) -> None:
        """Go on; all preconditions hold. Raises `RunHeld`."""
        await self.book.take_up()
        await self.book.feed(Resumed())
        self._go()

    async def pause(self) -> None:
        """Pause, and stop the exchange that runs."""
        await self.book.pause("person")
        self._verifier.void()
        if not self.agent.idle:
            await self.agent.interrupt()

    async def stop(self) -> None:
        """End the run for good; an exchange that runs goes on to its end."""
        await self.book.feed(Stopped())
        self._verifier.void()

    async def answer(self, event: Answered | Reviewed) -> bool:
        """Take a person's decision on the item that waits for it; False where none does."""
        done = await self.book.feed(event)
        if done:
            self._go()
        return done

    def _go(self) -> None:
        self._scheduled = self.book.token
        self.agent.loop.start()

    # --- the agent's side

    async def authored(self) -> None:
        """Suspend: a person wrote."""
        await self._suspend("You wrote a message.")

    async def stopped(self) -> None:
        """Suspend: a person stopped the agent."""
        await self._suspend("You stopped the agent.")

    async def moved(self) -> None:
        """Suspend: the leaf was moved, and the files were not."""
        await self._suspend("The conversation goes on from another place.")
        if self.book.open is not None:
            await self.book.card("left", "A resume of the run sends its item's whole message again.")

    async def close(self) -> None:
        """Suspend: the session is left. After this nothing is done."""
        with anyio.CancelScope(shield=True):
            if self.agent.writable:
                await self._suspend("The session was closed.")
        self.book.closed = True

    async def _suspend(self, reason: str) -> None:
        await self._guarded(lambda: self.book.suspend(reason))
        self._verifier.void()

    async def ready(self, evidence: str, /) -> str:
        """Take the agent's word. Raises `ToolError` outside a run."""
        if not self.book.armed or not await self.book.feed(Ready(clean(evidence))):
            raise ToolError(NO_RUN)
        return "Noted. End your answer now: the program runs the checks and says what follows."

    def before_request(self) -> Settled | None:
        """End the exchange where a bound is reached, or cannot be judged."""
        try:
            return self._meter.bound()
        except Exception as error:  # a bound that fails is no permission to go on
            return Settled("bound", _met(error))

    async def settled(self, settled: Settled) -> None:
        """Count what an exchange of the run was, pause where it failed, and schedule the next dispatch."""
        if self.book.armed:
            await self._guarded(lambda: self._settled(settled))
            self._scheduled = self.book.token

    async def _settled(self, settled: Settled) -> None:
        ours = self._meter.ours
        await self._meter.worked(settled)
        if ours and settled.reason in _FAILED:
            await self.book.pause("exchange", f"The exchange ended: {settled.detail or settled.reason}")

    async def _guarded(self, work: Callable[[], Awaitable[_Any]]) -> _Any | None:
        """Do a piece of work; what fails in it pauses the run, is told once and goes no further. None: it failed."""
        try:
            return await work()
        except RunLost as error:
            self.book.lost(error)
        except LogError:
            raise  # the log cannot be written: that stops the agent
        except Exception as error:  # whatever it is, the run pauses and the session goes on
            await self.book.fault(_met(error))
        return None

    # --- the dispatch

    async def dispatch(self) -> bool:
        """Do what was scheduled, if it still holds. What fails here pauses the run and is told once."""
        token, self._scheduled = self._scheduled, None
        if token is None or not self.book.armed:
            return False
        return await self._guarded(lambda: self._dispatch(token)) or False

    async def _dispatch(self, token: int) -> bool:
        while not await self._handoff_failed():
            act = judge(await self._snapshot(token))
            if isinstance(act, Claim):
                return await self._claim(act, token)
            if not await self._act(act, token):
                break
        return False

    async def _handoff_failed(self) -> bool:
        state = self.agent.compaction.state
        if state.phase == "failed":
            await self.book.pause("handoff", f"handoff failed: {state.detail or state.error or 'there is no summary'}")
        return state.phase == "failed"

    async def _act(self, act: Act, token: int) -> bool:
        """Do what the gates say; True where they are to be asked again."""
        match act:
            case Verify(what="checks"):
                await self._verifier.check(token)
                return True
            case Verify():
                await self._verifier.review(token)
                return True
            case Bound(text=text):
                await self.book.pause("bound", text)
            case Wedged():
                await self.book.pause("wedged", "wedged: the item was given twice and nothing came of it. Look at it.")
            case Complete():
                await self.book.feed(Completed())
            case Hold() | Claim():
                pass
        return False

    async def _snapshot(self, token: int) -> Snapshot:
        """Look at everything that decides; what is waited for comes first, so that nothing can come between."""
        run = self.book.open
        row = await self.agent.journal.log.runs.find(run.id) if run is not None else None
        status = cast("RunStatus", row.status) if row is not None else "stopped"
        return self._now(token, status, row.seq if row is not None else -2)

    def _now(self, token: int, stored: RunStatus, seq: int) -> Snapshot:
        run, agent = self.book.run, self.agent
        assert run is not None
        return Snapshot(
            plan=run.plan,
            state=run.state,
            token=token,
            queued=bool(agent.journal.branch.queue),
            busy=agent.journal.branch.exchange_open,
            handing_over=agent.compaction.unanswered,
            ours=self.book.armed,
            stored=stored,
            stored_seq=seq,
        )

    async def _claim(self, act: Claim, token: int) -> bool:
        """Give an item to the agent: the claim and its message in one transaction."""
        tree = await self.book.parts.git.tree()
        run = self.book.open
        if run is None or judge(self._now(token, run.state.status, run.state.seq)) != act:
            return False  # stale: something changed while git was asked
        self._meter.begin(tree)
        message = UserMessage((Text(clean(item_message(run.plan, act.item, run.state.items[act.item]))),))
        return await self.book.feed(Claimed(act.item, tree), Prompt(message, "dispatch"))


def _met(error: Exception) -> str:
    return f"The run met an error: {type(error).__name__}: {error}"
