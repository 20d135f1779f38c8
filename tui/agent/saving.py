"""The summary for next time: one native compaction over the settled view, written as an entry nobody sees yet.

    settled, large ──► CheckpointMaker ──► Checkpoint(origin resume)   or   Receipt(reason)

The live view, the answer and the exit status are never changed by it. It is stopped by a cancel and never by an
error; what becomes of a stopped call is waited for, and never asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import anyio
import msgspec
from anyio.abc import TaskGroup

from tui.agent.checkpoints import CheckpointMaker, NoCheckpoint
from tui.agent.compaction import Compaction
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder, price
from tui.context.followup import FOLLOWUP_BUDGET, opens_exchange, receipt_reason, says_something, view_bytes
from tui.context.thresholds import ConfigurationError
from tui.log import LogError
from tui.log.entries import Answer, Checkpoint, Prompt, Receipt, ReceiptReason, ResumedFrom, Settled
from tui.models.base import Model

__all__ = ["GRACE", "Outcome", "Saver", "SaverParts"]

GRACE = 10.0
"""Seconds that are waited for a stopped call to be really over."""
Outcome: TypeAlias = Literal["saved", "none"] | ReceiptReason


class SaverParts(msgspec.Struct, frozen=True):
    """What making a resume checkpoint needs."""

    journal: Journal
    requests: RequestBuilder
    compaction: Compaction
    maker: CheckpointMaker
    model: Callable[[], Model]
    busy: Callable[[], bool]
    """Whether an exchange runs or is about to."""
    say: Callable[[str], None]
    budget: int = FOLLOWUP_BUDGET
    """Bytes."""
    grace: float = GRACE
    on: bool = True
    """Off where no later start would use it: nothing is persisted, or starts take the full view."""


class Saver:
    """Makes one at a time; `run` is its place in the agent's task group."""

    def __init__(self, parts: SaverParts) -> None:
        self._parts = parts
        self._group: TaskGroup | None = None
        self._scope = anyio.CancelScope()
        self._stop: ReceiptReason | None = None
        self._ending: anyio.Event | None = None
        self._saved_bytes = 0
        self.unconfirmed = False
        """A stopped call was not seen to end: nothing more is asked in this process."""

    def attach(self, group: TaskGroup) -> None:
        """Do the work in this group from now on."""
        self._group = group

    @property
    def running(self) -> bool:
        """Whether a summary is being made."""
        return self._ending is not None

    def stop(self, reason: ReceiptReason = "cancelled") -> None:
        """Stop the summary that is being made; `save` returns once it is over."""
        if self._ending is not None:
            self._stop = self._stop or reason
            self._ending.set()

    async def due(self) -> bool:
        """Whether a resume checkpoint is worth making now. Raises `LogError`."""
        parts, branch = self._parts, self._parts.journal.branch
        settled = branch.newest(Settled)
        if (
            not parts.on
            or self._group is None
            or self.running
            or self.unconfirmed
            or parts.busy()
            or parts.compaction.mode == "off"
            or parts.compaction.unanswered
            or branch.exchange_open
            or settled is None
            or not isinstance(settled.body, Settled)
            or settled.body.reason != "answered"
            or not parts.journal.log.writable
            or self._covered()
        ):
            return False
        await parts.requests.load()
        return self._large()

    def _covered(self) -> bool:
        """Whether one stands already for all that was said."""
        branch = self._parts.journal.branch
        newest, said = branch.newest(Checkpoint), (branch.newest(Prompt), branch.newest(Answer))
        resumed = branch.newest(ResumedFrom)
        after = [entry.depth for entry in (*said, resumed) if entry is not None]
        return newest is not None and newest.depth > max(after, default=-1)

    def _large(self) -> bool:
        size, tokens, room = self.size()
        return size > self._parts.budget or tokens > room

    def size(self) -> tuple[int, int, int]:
        """Return bytes and tokens of the view, and the tokens below soft that a view may have."""
        requests, model = self._parts.requests, self._parts.model()
        limits = requests.thresholds(model)
        if isinstance(limits, ConfigurationError):
            return 0, 0, 0
        view = requests.view()
        return view_bytes(view), requests.tokens_of(view, model), limits.soft - requests.overhead(model).total

    async def save(self, seconds: float | None = None) -> Outcome:
        """Make one where it is due, in at most so many seconds; return what came of it. Never raises `LogError`."""
        try:
            if not await self.due():
                return "none"
        except LogError:
            return "none"
        assert self._group is not None
        self._stop, self._scope, self._ending = None, anyio.CancelScope(), anyio.Event()
        call = _Call(self._parts.maker, self._scope, self._ending)
        self._group.start_soon(call.run)
        try:
            with anyio.move_on_after(seconds):
                await self._ending.wait()
            if not call.done.is_set():
                await self._aborted(call)
        finally:
            self._scope.cancel()
            self._ending = None
        return await self._written(call)

    async def _aborted(self, call: _Call) -> None:
        """Abort the call and wait until it is really over, as long as the grace lasts."""
        self._stop = self._stop or "timeout"
        self._scope.cancel()
        with anyio.move_on_after(self._parts.grace):
            await call.done.wait()
        if not call.done.is_set():
            self._stop, self.unconfirmed = "unconfirmed", True

    async def _written(self, call: _Call) -> Outcome:
        """Write the checkpoint, or the receipt for why there is none; one or the other, in one transaction."""
        reason = self._stop or call.reason
        made = call.made
        try:
            if reason is None and isinstance(made, Checkpoint):
                await self._parts.journal.append(made)
                self._tell(made)
                self._saved_bytes = self.size()[0]
                return "saved"
            reason = reason or "cancelled"
            await self._parts.journal.append(Receipt(self._exchange(), reason))
        except LogError:
            return "log"
        self._parts.say(f"No summary for next time was saved ({reason}); the answer stands.")
        return reason

    def _exchange(self) -> str:
        entries = self._parts.journal.branch.entries
        prompt = next((entry for entry in reversed(entries) if opens_exchange(entry)), None)
        newest = prompt or self._parts.journal.branch.newest(Prompt)
        return newest.id if newest is not None else ""

    def _tell(self, made: Checkpoint) -> None:
        usage = made.usage
        tokens = f", {usage.total:,} tokens" if usage is not None else ""
        dollars = price(usage, self._parts.model().info)
        cost = f", ${dollars:.4f}" if dollars else ""
        self._parts.say(f"A summary for next time is saved ({made.seconds:.0f} s{tokens}{cost}).")

    def grown(self) -> bool:
        """Whether the view is larger by a quarter than when the last one was made here."""
        return self.size()[0] * 4 > self._saved_bytes * 5

    def moved(self, depth: int) -> bool:
        """Whether anything was said after `depth`."""
        return any(entry.depth > depth and says_something(entry) for entry in self._parts.journal.branch.entries)


class _Call:
    """One summary under way, in the agent's task group, so that nobody need wait for it."""

    def __init__(self, maker: CheckpointMaker, scope: anyio.CancelScope, ending: anyio.Event) -> None:
        self._maker = maker
        self._scope = scope
        self._ending = ending
        self.done = anyio.Event()
        self.made: Checkpoint | None = None
        self.reason: ReceiptReason | None = "cancelled"

    async def run(self) -> None:
        """Make it; whatever happens, say that it is over."""
        try:
            with self._scope:
                self._take(await self._maker.make("resume"))
        except LogError:
            self.reason = "log"
        finally:
            self.done.set()
            self._ending.set()

    def _take(self, made: Checkpoint | NoCheckpoint) -> None:
        if isinstance(made, Checkpoint):
            self.made, self.reason = made, None
        else:
            self.reason = receipt_reason(made.error)
