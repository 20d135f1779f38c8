"""Branches as a person asks for them: go to another place of the tree, edit an earlier prompt, fork, name a place.

A move is prepared first (target, model, summary), then committed in one transaction inside the loop's own task,
so that nothing can run meanwhile; the leaf it leaves is the one of that moment. Files are never changed back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tui.agent.agent import Agent, Mode, chosen_model
from tui.agent.attaching import draft_of
from tui.agent.branch import Branch
from tui.agent.checkpoint_wishes import Told
from tui.agent.checkpoints import NoCheckpoint
from tui.agent.compaction import state_of
from tui.agent.moving import made_whole
from tui.agent.opening import load_branch
from tui.agent.reopening import tail
from tui.agent.settle import own_words
from tui.context.handoff import step
from tui.context.handoff_effects import Append, Ask, Say
from tui.context.handoff_events import Arrived, BranchAway, Settles
from tui.context.recovery import Recovery, recover_handoff, tail_facts
from tui.context.tree import Spot, Tree, TreeNode, build
from tui.log import EntryNotFound
from tui.log.entries import Body, BranchSummary, Entry, Handoff, Label, ModelChosen, Prompt, Queue, TaskSet, Waiting
from tui.messages import clean, new_id
from tui.models.base import Model, ModelError

__all__ = ["Forked", "earlier_prompts", "fork", "go", "label", "tree"]

NOT_REWOUND = "Files are not changed back by this."
_RUNNING = f"The agent is at work here. Stop it and leave this branch? {NOT_REWOUND}"
_STOPPED = "Stopped: nothing was moved"


class Forked(msgspec.Struct, frozen=True):
    """A session that begins after an entry of another one."""

    session: str


async def tree(agent: Agent) -> Tree:
    """Return the session's tree. Reads its landmarks alone."""
    return build(await agent.journal.log.tree())


def earlier_prompts(of: Tree) -> list[TreeNode]:
    """Return the prompts of the current path, newest first."""
    found = [node for run in of.runs for node in run.nodes if node.on_path and node.kind in ("prompt", "steer")]
    return found[::-1]


async def label(agent: Agent, text: str, entry_id: str = "") -> str:
    """Name an entry, or where the conversation stands; an empty text takes the name away. Returns what to say."""
    agent.check()
    about = entry_id or next((e.id for e in reversed(agent.branch) if not isinstance(e.body, Label)), "")
    if not about:
        return "There is nothing to name yet"
    name = " ".join(clean(text).split())
    await agent.journal.append(Label(name, about))
    return f"This place is called {name} in /tree" if name else "The name is taken away"


# --- going to another place -------------------------------------------------------------------------


class _Target(msgspec.Struct, frozen=True):
    """A place to go to, read before anything is changed."""

    entry: str
    branch: Branch
    found: Recovery
    shared: int
    """Depth of the newest entry that both paths have."""
    edited: Entry | None = None
    """The prompt whose words go to the editor."""


class _Outcome:
    """What came of a job of the loop; it is `_STOPPED` until the job says else."""

    def __init__(self) -> None:
        self.told = Told(_STOPPED)
        self.error: ModelError | EntryNotFound | None = None


async def go(agent: Agent, spot: Spot, *, carry: bool = False, edit: bool = False, confirmed: bool = False) -> Told:
    """Move the leaf to `spot`; what runs is stopped first, when `confirmed`.

    `carry` takes a summary of the branch left behind along; `edit` returns the words of the spot's prompt for the
    editor. Raises `AgentStoppedError`, `LogError` (`EntryNotFound` too) and `ModelError`: then nothing was moved.
    """
    agent.check()
    target = await _target(agent, spot, edit=edit)
    question = await _leave(agent, confirmed=confirmed)
    if question:
        return Told(question, question=True)
    return await _in_loop(agent, lambda: _move(agent, target, carry=carry))


async def _target(agent: Agent, spot: Spot, *, edit: bool) -> _Target:
    log = agent.journal.log
    named = (await (await log.at(spot.entry)).page(limit=1))[-1]
    entry = named.parent if spot.before else named.id
    if entry is None:
        raise EntryNotFound(f"before {named.id}")
    path = await log.at(entry)
    branch = await load_branch(path)
    state = state_of(branch.newest(Handoff))
    found = recover_handoff(state, tail_facts(await tail(path, branch), state), "arrived")
    shared = await log.shared_depth(entry)
    return _Target(entry, branch, found, shared, named if edit else None)


async def _leave(agent: Agent, *, confirmed: bool) -> str:
    """Let the handoff of this branch know, and stop what runs; return the question that must be answered first."""
    compacting = agent.compaction.state.phase == "compacting"
    for effect in await agent.compaction.feed(BranchAway(running=not agent.idle, confirmed=confirmed)):
        if isinstance(effect, Ask):
            return f"{effect.text} {NOT_REWOUND}"
    if agent.idle:
        return ""
    if not confirmed and not compacting:
        return _RUNNING
    await agent.interrupt()
    return ""


async def _in_loop(agent: Agent, work: Callable[[], Awaitable[Told]]) -> Told:
    """Do `work` in the loop's task and return what it says; what it cannot do is raised here, not there."""
    outcome = _Outcome()

    async def job() -> None:
        agent.loop.hold()
        try:
            outcome.told = await work()
        except (ModelError, EntryNotFound) as error:
            outcome.error = error

    agent.loop.job(job)
    await agent.loop.wait_idle()
    if outcome.error is not None:
        raise outcome.error
    return outcome.told


async def _move(agent: Agent, target: _Target, *, carry: bool) -> Told:
    """Prepare and commit a move, while nothing else runs."""
    if target.entry == agent.journal.log.leaf and target.edited is None:
        return Told("The conversation stands there already")
    waited = agent.journal.branch.queue
    summary = await _carried(agent, target) if carry else None
    if isinstance(summary, NoCheckpoint):
        why = f"{summary.error}: {summary.detail}" if summary.detail else summary.error
        return Told(f"Nothing was moved: no summary of this branch could be made ({why})")
    model, kept = await _model(agent, target.branch)
    await _give_back(agent, waited)
    mode = agent.approval
    await agent.move(target.entry, lambda there: _written(there, target, summary, kept), model)
    return Told(_said(agent, target, mode), draft=_words(target.edited))


def _said(agent: Agent, target: _Target, mode: Mode) -> str:
    """Return in one line what is pending at the new place, and what is in force there; `mode` was before."""
    lines = (
        "The exchange there counts as interrupted." if target.branch.exchange_open else "",
        target.found.line,
        f"Approval: {agent.approval}." if agent.approval != mode else "",
        NOT_REWOUND,
    )
    return " ".join(filter(None, lines))


async def _carried(agent: Agent, target: _Target) -> BranchSummary | NoCheckpoint | None:
    """Return the summary of what only this branch has; None where it has nothing alone."""
    left = await agent.journal.log.since(target.shared + 1)
    if not left:
        return None
    return await agent.compaction.summary_of_branch(left, left[0].parent or "")


async def _model(agent: Agent, branch: Branch) -> tuple[Model | None, tuple[Body, ...]]:
    """Return the model that answers there, None for the one in force, and what is written where it must stay."""
    entry = branch.newest(ModelChosen)
    now = chosen_model(agent.model.info)
    if entry is None or not isinstance(entry.body, ModelChosen) or entry.body == now:
        return None, ()
    try:
        return await agent.model_of(entry.body), ()
    except ModelError as error:
        agent.say(f"{entry.body.model} cannot answer here ({error}); {now.model} goes on.")
        return None, (now,)


async def _give_back(agent: Agent, waited: tuple[Waiting, ...]) -> None:
    """Give what was sent while the move was prepared back to the editor: it was not meant for the branch that is left.

    What waited before stays with its branch.
    """
    late = tuple(item for item in agent.journal.branch.queue if item not in waited)
    if late:
        await agent.journal.append(Queue(waited))
        agent.give_back(own_words(late))


def _written(there: Branch, target: _Target, summary: BranchSummary | None, kept: tuple[Body, ...]) -> tuple[Body, ...]:
    """Return what is written with the move: the path is made whole, its handoff judged, the summary put after it."""
    bodies: list[Body] = list(made_whole(there))
    state = state_of(there.newest(Handoff))
    if target.found.act == "fail-interrupted":
        bodies += _appended(step(state, Arrived("back"), new_id)[1])
    elif target.found.act == "settles":
        bodies += _appended(step(state, Settles(), new_id)[1])
    edited = target.edited
    delivered = edited.body.queued if edited is not None and isinstance(edited.body, Prompt) else ""
    if any(item.id == delivered for item in there.queue):
        bodies.append(Queue(tuple(item for item in there.queue if item.id != delivered)))
    return (*bodies, *kept, *([summary] if summary is not None else []))


def _appended(effects: Sequence[object]) -> list[Body]:
    return [body for effect in effects if isinstance(effect, Append) for body in effect.bodies]


def _words(entry: Entry | None) -> str:
    return draft_of(entry.body.message) if entry is not None and isinstance(entry.body, Prompt) else ""


# --- a session of its own ---------------------------------------------------------------------------


async def fork(
    agent: Agent, spot: Spot | None = None, *, task: str = "", persisted: bool = True, confirmed: bool = False
) -> Forked | Told:
    """Make a session that begins after `spot`, or after the leaf of that moment; this one stays as it is.

    `task` is its task. Refused while a summary is written; what runs is stopped first, when `confirmed`.
    """
    if not persisted:
        return Told("With --no-session there is nothing to fork into; /rewind and /tree branch within it")
    if agent.compaction.state.phase == "compacting":
        said = step(agent.compaction.state, Arrived("fork"), new_id)[1]
        return Told(" ".join(effect.text for effect in said if isinstance(effect, Say)))
    if not agent.idle and not confirmed:
        return Told("The agent is at work here. Stop it and go on in a fork?", question=True)
    if not agent.idle:
        await agent.interrupt()
    entry = (await _target(agent, spot, edit=False)).entry if spot is not None else None
    child = await agent.journal.log.fork(entry, *([TaskSet(clean(task))] if task else []))
    await child.close()
    return Forked(child.id)
