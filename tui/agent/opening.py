"""Opening a path: what is loaded at once, and what later."""

from __future__ import annotations

from collections.abc import Mapping

from tui.agent.branch import Branch
from tui.log import LogError, SessionLog
from tui.log.entries import (
    Announced,
    Answer,
    ApprovalMode,
    Body,
    Checkpoint,
    Entry,
    Handoff,
    Latch,
    ModelChosen,
    Note,
    Notes,
    Pinned,
    Prompt,
    Queue,
    ResumedFrom,
    RunCard,
    Settled,
    TaskSet,
)
from tui.log.gaps import newest_of, page_of, since_of
from tui.log.protocol import PathReader

__all__ = ["FIRST_PAGE", "forks_of", "load_branch", "load_older", "open_branch"]

FIRST_PAGE = 400
"""Entries read when a path opens: what the screen shows first. The rest is read when it is needed."""

_STATE_KINDS: tuple[type[Body], ...] = (
    Prompt,
    Settled,
    Answer,
    Queue,
    ModelChosen,
    ApprovalMode,
    Checkpoint,
    Handoff,
    Note,
    Latch,
    Announced,
    TaskSet,
    Pinned,
    Notes,
    ResumedFrom,
    RunCard,
)


async def load_branch(log: PathReader) -> Branch:
    """Return the newest entries and the newest of each kind that is state; a look-up, not a walk."""
    page = await page_of(log, limit=FIRST_PAGE)
    newest: dict[str, Entry] = {}
    for kind in _STATE_KINDS:
        word = str(kind.__struct_config__.tag)
        entry = await newest_of(log, word)
        if entry is not None:
            newest[word] = entry
    answer = newest.get("answer")
    if answer is not None and page and answer.depth < page[0].depth:
        page = await since_of(log, answer.depth)  # a batch of very many calls: its open ones must be seen
    return Branch(page, newest, await _named_checkpoints(log, newest))


async def open_branch(log: SessionLog) -> Branch:
    """Return the active path of a session, with where other branches leave it."""
    branch = await load_branch(log)
    branch.forks = await forks_of(log)
    return branch


async def forks_of(log: SessionLog) -> dict[int, int]:
    """Return how many other branches leave the active path, by depth; none where that cannot be read."""
    try:
        return {point.depth: point.others for point in await log.branch_points()}
    except LogError:
        return {}  # a mark is no reason to stop: a path that cannot be read says so where it is read


async def _named_checkpoints(log: PathReader, newest: Mapping[str, Entry]) -> list[Entry]:
    """Return what the newest resume entry, or an unused resume checkpoint, refers to. Raises `LogError`."""
    resumed, checkpoint = newest.get("resumed-from"), newest.get("checkpoint")
    named = [resumed.body.checkpoint] if resumed is not None and isinstance(resumed.body, ResumedFrom) else []
    if checkpoint is not None and isinstance(checkpoint.body, Checkpoint) and checkpoint.body.origin == "resume":
        named.append(checkpoint.body.previous)
    found = [await log.find(entry_id) for entry_id in dict.fromkeys(named) if entry_id]
    return [entry for entry in found if entry is not None]


async def load_older(log: SessionLog, branch: Branch, down_to: int = 0) -> None:
    """Load the part of the path that the next request needs and memory does not hold yet."""
    if branch.entries and branch.entries[0].depth > down_to:
        branch.prepend(await since_of(log, down_to))
