"""`/compact undo`: the newest checkpoint in force is taken back, by moving the leaf before it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.agent.agent import Agent
from tui.agent.branch import Branch
from tui.agent.compaction import state_of
from tui.context.handoff import step
from tui.context.handoff_effects import Append
from tui.context.handoff_events import Undone
from tui.log.entries import Answer, Body, Checkpoint, Entry, Handoff, Prompt, Result
from tui.messages import new_id

__all__ = ["Told", "undo"]


class Told(msgspec.Struct, frozen=True):
    """What came of a wish: a line for the person, or a question that must be answered first."""

    text: str
    question: bool = False


async def undo(agent: Agent, *, confirmed: bool = False) -> Told:
    """Move the leaf before the newest checkpoint in force and close its cycle, in one transaction.

    Asks first, and says what stays on the other branch. Raises `AgentStoppedError`, `LogError`.
    """
    agent.check()
    if not agent.idle:
        return Told("The agent is at work: Esc stops it; then the checkpoint can be undone")
    entry = agent.requests.checkpoint
    if entry is None or not isinstance(entry.body, Checkpoint) or entry.parent is None:
        return Told("There is no checkpoint to undo")
    if not confirmed:
        return Told(_question(entry.body, await agent.journal.log.since(entry.depth + 1)), question=True)
    cycle = entry.body.cycle
    await agent.move(entry.parent, lambda target: _closed(target, cycle))
    return Told("The checkpoint is undone: the conversation stands as before it")


def _closed(target: Branch, cycle: str) -> tuple[Body, ...]:
    """Return what closes the handoff of `cycle`, as it stands at `target`."""
    effects = step(state_of(target.newest(Handoff)), Undone(cycle), new_id)[1]
    return tuple(body for effect in effects if isinstance(effect, Append) for body in effect.bodies)


def _question(checkpoint: Checkpoint, later: Sequence[Entry]) -> str:
    prompts = sum(isinstance(e.body, Prompt) and e.body.origin == "authored" for e in later)
    answers = sum(isinstance(e.body, Answer) for e in later)
    calls = sum(isinstance(e.body, Result) and not e.body.refused for e in later)
    counts = ((prompts, "message"), (answers, "answer"), (calls, "tool call"))
    work = ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)
    note = " The note to self is not delivered here." if checkpoint.cycle else ""
    stays = f"The checkpoint and what came after it ({work}) stay" if work else "The checkpoint stays"
    return (
        f"Undo the newest checkpoint ({checkpoint.origin})? The conversation is again as it was before it.{note} "
        f"{stays} in the log, on the other branch; files are not changed back."
    )
