"""What the exchange of an item has used so far, and whether anything came of it."""

from __future__ import annotations

from tui.log.entries import Result, Settled
from tui.runs.book import RunBook
from tui.runs.gates import Live, bound
from tui.runs.state import Worked

__all__ = ["Meter"]


class Meter:
    """Counts one exchange of a run after the other; those that are not the run's count nothing."""

    def __init__(self, book: RunBook) -> None:
        self._book = book
        self.ours = False
        """The exchange that runs is the run's."""
        self._depth = -1
        self._cost = 0.0
        self._tree = ""
        self._turns = 0

    def begin(self, tree: str) -> None:
        """Count from here: an item's message is about to be written. `tree`: all files as they are."""
        agent = self._book.agent
        self.ours, self._depth, self._tree = True, agent.journal.log.depth, tree
        self._turns, self._cost = 0, agent.usage.cost or 0.0

    def bound(self) -> Settled | None:
        """Count a turn that is about to begin; return how the exchange ends where a bound is reached."""
        run = self._book.open
        if run is None or not self.ours:
            return None
        item = run.state.item
        live = Live(self._turns, (self._book.agent.usage.cost or 0.0) - self._cost, self._book.since_ms)
        counts = item is not None and item.status == "working" and run.state.runs
        reached = bound(run.plan.bounds, run.state, live) if counts else ""
        if not reached:
            self._turns += 1
        return Settled("bound", reached) if reached else None

    async def worked(self, settled: Settled) -> None:
        """Write what the exchange used; a handoff goes on with it."""
        if not self.ours:
            return
        cost, handoff = self._book.agent.usage.cost or 0.0, settled.reason == "handoff"
        checkout = await self._book.parts.git.look()
        progress = self._wrote() or checkout.tree != self._tree
        await self._book.feed(Worked(self._turns, cost - self._cost, int(handoff), progress, checkout))
        self._turns, self._cost = 0, cost
        self.ours = handoff or settled.reason == "interrupted"

    def _wrote(self) -> bool:
        entries = self._book.agent.journal.branch.entries
        return any(_changed(entry.body) for entry in entries if entry.depth > self._depth)


def _changed(body: object) -> bool:
    return (
        isinstance(body, Result)
        and not body.refused
        and not body.message.is_error
        and body.details.get("type") in ("write", "edit")
    )
