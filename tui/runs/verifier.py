"""Verifies the item in work: runs its checks, or asks the reviewer. A person's word ends it, without a verdict."""

from __future__ import annotations

import anyio

from tui.agent.events import PhaseChanged
from tui.messages import new_id
from tui.runs.book import RunBook
from tui.runs.checks import run_check
from tui.runs.machine import needs_review
from tui.runs.preconditions import shown_command
from tui.runs.review import Case, NoReview, Opinion, Reviewer
from tui.runs.state import Checked, CheckRun, Reviewed, Worked
from tui.runs.stored import StoredRun

__all__ = ["Verifier"]


class Verifier:
    """One per driver. A verdict that comes when the token has changed is not written."""

    def __init__(self, book: RunBook) -> None:
        self._book = book
        self._scope: anyio.CancelScope | None = None

    def void(self) -> None:
        """End what runs: nobody waits for its verdict any more."""
        if self._scope is not None:
            self._scope.cancel()

    async def check(self, token: int) -> None:
        """Run the checks of the item in work, up to the first that does not pass."""
        run = self._book.open
        assert run is not None
        runs: list[CheckRun] = []
        with anyio.CancelScope() as self._scope:
            await self._run(run, runs)
        voided, self._scope = self._scope.cancelled_caught, None
        if not voided and self._book.token == token:
            await self._book.feed(Checked(tuple(runs), review=bool(needs_review(run.plan, run.state.at))))

    async def _run(self, run: StoredRun, runs: list[CheckRun]) -> None:
        agent, parts = self._book.agent, self._book.parts
        for command in run.plan.items[run.state.at].checks:
            agent.emit(PhaseChanged("verifying", shown_command(command)))
            runs.append(await run_check(command, agent.context(f"check-{new_id()}"), parts.now, parts.check_seconds))
            if runs[-1].verdict != "pass":
                return

    async def review(self, token: int) -> None:
        """Ask the reviewer. No opinion says nothing about the work: the run pauses."""
        run = self._book.open
        assert run is not None
        self._book.agent.emit(PhaseChanged("verifying", "the reviewer looks at it"))
        found: Opinion | NoReview | None = None
        with anyio.CancelScope() as self._scope:
            found = await self._opinion(run)
        self._scope = None
        if found is None or self._book.token != token:
            return
        if isinstance(found, Opinion):
            await self._book.feed(Worked(cost=found.cost))
            await self._book.feed(Reviewed("agent", found.accept, found.reasons))
        else:
            await self._book.pause("infrastructure", f"There is no review: {found}. /run verify repeats it.")

    async def _opinion(self, run: StoredRun) -> Opinion | NoReview:
        item, git = run.state.item, self._book.parts.git
        assert item is not None
        patch, changed = await git.diff(item.tree, await git.tree())
        try:
            return await self._reviewer().judge(Case(run.plan.items[run.state.at], item, patch, changed))
        except NoReview as error:
            return error

    def _reviewer(self) -> Reviewer:
        agent, make = self._book.agent, self._book.parts.reviewer
        return make(agent) if make is not None else Reviewer(agent.model, agent.context(f"review-{new_id()}"))
