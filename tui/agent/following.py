"""A window that follows a session another one writes: what that one commits is shown here, and nothing is written.

The database is asked four times a second whether anything was committed at all (`data_version`: no read of any
entry), and only while a window follows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from tui.agent.branch import Branch, open_calls
from tui.agent.events import AgentEvent, AnswerDelta, AnswerStarted, Followed, PhaseChanged
from tui.agent.journal import Journal
from tui.agent.opening import open_branch
from tui.agent.reopening import growing
from tui.log.entries import Answer, Entry, Handoff, Prompt, Result
from tui.messages import AssistantMessage, new_id

__all__ = ["LOOK", "Follower", "phase_of"]

LOOK = 0.25
"""Seconds between looks."""
_OWNER_EVERY = 8
"""Looks between two looks whether the other window is still there."""
Phase: TypeAlias = Literal["idle", "requesting", "answering", "tools", "compacting"]


def phase_of(branch: Branch, partial: AssistantMessage | None) -> tuple[Phase, str]:
    """Return what the other window's agent is doing, and with which tools, as far as the log tells."""
    handoff = branch.newest(Handoff)
    if handoff is not None and isinstance(handoff.body, Handoff) and handoff.body.phase == "compacting":
        return "compacting", ""
    if not branch.exchange_open:
        return "idle", ""
    calls = [call.name for call, _ in open_calls(list(branch.entries))]
    if calls:
        return "tools", ", ".join(calls)
    return ("requesting", "") if partial is None else ("answering", "")


class Follower:
    """Keeps a journal's branch in step with the log, and tells of it as the other window's agent does."""

    def __init__(
        self,
        journal: Journal,
        emit: Callable[[AgentEvent], None],
        tell: Callable[[], None],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._journal = journal
        self._emit = emit
        self._tell = tell
        self._sleep = sleep
        self._shown = ""
        """What of the growing answer was told."""
        self._phase: tuple[str, str] = ("", "")
        self._looks = 0
        self._owner: str | None = None

    async def run(self) -> None:
        """Follow until cancelled. Raises `LogError` where the log cannot be read any more."""
        while True:
            await self.look()
            await self._sleep(LOOK)

    async def look(self) -> None:
        """Take over what was committed since the last look."""
        if await self._journal.log.refresh():
            await self._catch_up()
        partial = await self._growing()
        if self._looks % _OWNER_EVERY == 0:
            await self._look_for_owner()
        self._looks += 1
        phase = phase_of(self._journal.branch, partial)
        if phase != self._phase:
            self._phase = phase
            self._emit(PhaseChanged(*phase))

    async def _catch_up(self) -> None:
        """Take new entries of the same path one by one; another path is shown from its beginning."""
        branch, log = self._journal.branch, self._journal.log
        last = branch.entries[-1] if branch.entries else None
        found: list[Entry] = await log.since(last.depth) if last is not None else []
        if last is not None and found and found[0].id == last.id:
            self._journal.follow(found[1:])
        else:
            self._journal.replace(await open_branch(log))
        if any(isinstance(entry.body, Answer | Prompt | Result) for entry in found[1:]):
            self._shown = ""
        self._tell()

    async def _growing(self) -> AssistantMessage | None:
        """Show what the growing answer has more than before."""
        partial = growing(await self._journal.log.partial()) if self._journal.branch.exchange_open else None
        text = partial.text if partial is not None else ""
        if text and not (self._shown and text.startswith(self._shown)):
            self._emit(AnswerStarted(new_id()))
            self._shown = ""
        if len(text) > len(self._shown):
            self._emit(AnswerDelta(text[len(self._shown) :]))
            self._shown = text
        return partial

    async def _look_for_owner(self) -> None:
        owner = await self._journal.log.holder()
        if owner != self._owner:
            self._owner = owner
            self._emit(Followed(owner))
