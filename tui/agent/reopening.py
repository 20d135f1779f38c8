"""What an opened session goes on with: decided by `tui.context.recovery`, started here.

What goes on by itself does so in the loop's own task: with a person at the screen after a line that Esc stops,
else at once and before anything that is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tui.agent.branch import Branch
from tui.agent.compaction import Compaction, state_of
from tui.agent.journal import Journal
from tui.agent.loop import Loop
from tui.agent.settle import headline, recovery
from tui.context.handoff_events import Reloaded, Settles
from tui.context.recovery import Opened, Recovery, recover_handoff, tail_facts
from tui.log import Damaged, SessionLog
from tui.log.entries import Body, Entry, Handoff, Note, Prompt, Result, Settled
from tui.log.gaps import since_of
from tui.log.protocol import PathReader
from tui.messages import AssistantMessage

__all__ = ["WAIT", "Reopening", "growing", "tail"]

WAIT = 3.0
"""Seconds in which Esc stops what would go on by itself."""


class Reopening(msgspec.Struct, frozen=True):
    """Makes whole what was left in the middle, and starts what goes on. Only for the session's writer."""

    journal: Journal
    compaction: Compaction
    loop: Loop
    interactive: bool
    offer: Callable[[str], None]
    """Tells in one line what waits for the person, who can go on or look; before the front end listens."""
    say: Callable[[str], None]
    """The same once it listens."""
    sleep: Callable[[float], Awaitable[None]]
    opened: Opened
    left: Callable[[str], str]
    """What a call had printed when the program ended in its middle, by its id."""

    async def run(self) -> None:
        """Write what the last owner could not, then do what the newest handoff calls for."""
        state = self.compaction.state
        facts = tail_facts(await tail(self.journal.log, self.journal.branch), state)
        written = await _recover(self.journal, self.left)
        cut = [headline(entry.body) for entry in written if isinstance(entry.body, Settled)]
        found = recover_handoff(state, facts, self.opened, headless=not self.interactive)
        line = " ".join((*cut, found.line)).strip()
        if line and found.act in ("nothing", "wait", "fail-interrupted"):
            self.offer(line)
        await self._act(found, line)

    async def _act(self, found: Recovery, line: str) -> None:
        match found.act:
            case "nothing" | "wait":
                pass
            case "settles":
                await self.compaction.feed(Settles())
            case "fail-interrupted":
                self.loop.job(self._interrupted)
            case "deliver":
                self._goes_on(line)
                self.loop.start()
            case "resume":
                self._goes_on(line)
                self.compaction.resume()
                self.loop.start(resume=True)
            case "retry":
                self._goes_on(line)
                self.loop.job(self._retry)

    async def _interrupted(self) -> None:
        """Void the summary that was being made. With nobody to ask it is made once more."""
        await self.compaction.feed(Reloaded())
        if not self.interactive:
            await self._retry()

    async def _retry(self) -> None:
        await self.compaction.now("")

    def _goes_on(self, line: str) -> None:
        async def announced() -> None:
            if not self.interactive:
                self.say(line)
                return
            self.say(f"{line} Esc within {WAIT:.0f} seconds stops it.")
            await self.sleep(WAIT)

        self.loop.job(announced)


async def tail(log: PathReader, branch: Branch) -> Sequence[Entry]:
    """Return the path from the newest note, handoff and prompt on: all that belongs to a pending cycle."""
    places = [entry.depth for kind in (Note, Handoff, Prompt) if (entry := branch.newest(kind)) is not None]
    first = min(places, default=0)
    held = not branch.entries or branch.entries[0].depth <= first
    closed = state_of(branch.newest(Handoff)).phase in ("none", "answered")
    return branch.entries if held or closed else await since_of(log, first)


async def _recover(journal: Journal, left: Callable[[str], str]) -> tuple[Entry, ...]:
    """Make whole what the last owner left in the middle; return the entries written.

    `left` tells what the call of an id had printed.
    """
    branch = journal.branch
    if not branch.entries:
        return ()
    partial = growing(await journal.log.partial())
    bodies = recovery(list(branch.entries), partial, exchange_open=branch.exchange_open, left=left)
    due = [body for body in bodies if not await _stands(journal.log, body)]
    return await journal.append(*due) if due else ()


async def _stands(log: SessionLog, body: Body) -> bool:
    """Whether it is the result of a call that has one which cannot be read: there is never a second."""
    try:
        return isinstance(body, Result) and await log.find_ref(body.message.call_id, "result") is not None
    except Damaged:
        return True


def growing(raw: bytes) -> AssistantMessage | None:
    """Return the growing answer as last saved, or None; a damaged row costs that partial text and nothing else."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw, type=AssistantMessage)
    except msgspec.MsgspecError:
        return None
