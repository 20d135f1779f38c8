"""What a person asks of the newest checkpoint in force: to change its summary, or to take it back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.agent.agent import Agent
from tui.agent.branch import Branch
from tui.agent.compaction import state_of
from tui.agent.moving import arrival
from tui.context.handoff import step
from tui.context.handoff_effects import Append
from tui.context.handoff_events import Undone
from tui.context.summary import Rejected, edited
from tui.log.entries import Answer, Body, Checkpoint, Entry, Handoff, HandoffError, Prompt, Result
from tui.messages import new_id

__all__ = ["Told", "rewrite", "undo"]


class Told(msgspec.Struct, frozen=True):
    """What came of a wish: a line for the person, or a question that must be answered first."""

    text: str
    question: bool = False
    draft: str = ""
    """Words for the editor."""


_REFUSED: dict[HandoffError, str] = {"empty": "it is blank", "over-long": "it is too long"}


async def rewrite(agent: Agent, summary: str) -> str:
    """Put a checkpoint with this summary in the place of the newest one; return what to tell the person.

    It supersedes the old one, which stays in the log; whatever latched stays latched.
    """
    agent.check()
    entry, budget = agent.requests.checkpoint, agent.requests.budget(agent.model)
    if not agent.idle:
        return "The agent is at work: the summary can be changed when it is done"
    if entry is None:
        return "There is no checkpoint whose summary could be changed"
    made = edited(entry, summary, budget, agent.requests.situation().words)
    if isinstance(made, Rejected):
        why = ": ".join(filter(None, (_REFUSED.get(made.error, "it does not fit"), made.detail)))
        return f"The summary was not changed: {why}. It is as it was"
    latch = agent.requests.latch
    held = (latch,) if latch is not None and agent.requests.latched else ()
    await agent.journal.append(made, *held)
    await agent.requests.checkpointed()
    agent.tell()
    return "The summary was changed: the agent goes on with the new one"


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
    left = agent.journal.branch
    await agent.move(entry.parent, lambda target: (*arrival(left, target), *_closed(target, cycle)))
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
