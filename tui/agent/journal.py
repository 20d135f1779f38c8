"""The one way an agent writes: log first, memory after the commit, then the event.

A failed write stops the agent: nothing goes on "in memory only".
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence

import anyio

from tui.agent.branch import Branch
from tui.agent.events import AgentEvent, BranchMoved, EntryAdded, Failed
from tui.agent.opening import forks_of, load_branch
from tui.log import DuplicateResult, EntryNotFound, LeaseLost, LogError, RunLost, RunWrite, SessionLog
from tui.log.entries import Body, Entry

__all__ = ["Journal", "watch"]

WATCH = 1.0
"""Seconds between looks whether the session is still ours."""


class Journal:
    """Serialises appends, keeps the branch in step, and tells of every durable entry."""

    def __init__(self, log: SessionLog, branch: Branch, emit: Callable[[AgentEvent], None]) -> None:
        self.log = log
        self.branch = branch
        self.failure = ""
        self._emit = emit
        self._turn = anyio.Lock()

    async def append(self, *bodies: Body, run: RunWrite | None = None) -> tuple[Entry, ...]:
        """Make `bodies` durable in one transaction and return their entries. Raises `LogError`."""
        return await self.change(lambda _branch: bodies, run=run)

    async def change(
        self, decide: Callable[[Branch], tuple[Body, ...]], *, run: RunWrite | None = None
    ) -> tuple[Entry, ...]:
        """Append what `decide` returns for the branch as it is at that moment; nothing can come between.

        `run` is a run's transition that belongs to it.

        Not cancellable: memory must never disagree with the log about what was written.
        """
        entries: tuple[Entry, ...] = ()
        with anyio.CancelScope(shield=True):
            async with self._turn:
                bodies = decide(self.branch)
                entries = await self._write(bodies, run) if bodies or run is not None else ()
        return entries

    async def move(self, entry_id: str, decide: Callable[[Branch], tuple[Body, ...]]) -> None:
        """Move the leaf to an entry and write what `decide` returns for the branch that ends there: one transaction.

        Not cancellable. Raises `LogError`; then the branch is what it was.
        """
        with anyio.CancelScope(shield=True):
            async with self._turn:
                target = await load_branch(await self.log.at(entry_id))
                bodies = decide(target)
                target.add(await self._durable(self.log.move(entry_id, *bodies)))
                target.forks = await forks_of(self.log)
                self.branch = target
                self._emit(BranchMoved())

    def follow(self, entries: Sequence[Entry]) -> None:
        """Take entries another window has committed to this path."""
        self.branch.add(entries)
        for entry in entries:
            self._emit(EntryAdded(entry))

    def replace(self, branch: Branch) -> None:
        """Take the path another window has moved to."""
        self.branch = branch
        self._emit(BranchMoved())

    async def _write(self, bodies: tuple[Body, ...], run: RunWrite | None) -> tuple[Entry, ...]:
        written = self.log.append(*bodies, run=run) if run is not None else self.log.append(*bodies)
        entries = await self._durable(written)
        self.branch.add(entries)
        for entry in entries:
            self._emit(EntryAdded(entry))
        return entries

    async def _durable(self, writing: Awaitable[tuple[Entry, ...]]) -> tuple[Entry, ...]:
        try:
            return await writing
        except (DuplicateResult, EntryNotFound, RunLost):
            raise  # the first durable result stands, or a run is another's: nothing is wrong with the log
        except LogError as error:
            self.fail(error)
            raise

    def fail(self, error: LogError) -> None:
        """Note that the log cannot be written; told once."""
        if not self.failure:
            self.failure = str(error)
            self._emit(Failed(self.failure, taken=isinstance(error, LeaseLost)))


async def watch(journal: Journal, stop: Callable[[], Awaitable[None]]) -> None:
    """Fail the journal and `stop` what runs once another window has taken the session over.

    A write would be refused anyway; but a tool that writes nothing for an hour must not work on beside a new owner.
    """
    ours = journal.log.writable
    while ours:
        await anyio.sleep(WATCH)
        with contextlib.suppress(LogError):  # where the log fails for another reason, the next write says so
            await journal.log.refresh()
        if not journal.log.writable:
            journal.fail(LeaseLost(journal.log.id))
            await stop()
            return
