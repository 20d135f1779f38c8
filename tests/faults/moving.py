"""A process that dies while it goes to another place of the tree, or forks: it is there, or where it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import anyio

from tests.agent.handoffs import holds, is_summary
from tests.agent.support import bodies
from tests.faults.child import Report
from tests.faults.matrix import read_path
from tests.faults.orders import Order
from tests.faults.scenario import TASK
from tests.faults.steps import NEXT, StepLane
from tests.support.provider import Received, Reply
from tui.log import Store
from tui.log.entries import BranchSummary, Entry, Prompt
from tui.log.exporting import plan
from tui.log.segments import read

__all__ = ["ForkLane", "MoveLane"]

SECOND = "second \u2028 words"
TRIED = "They tried this and that."


def _answer(received: Received) -> Reply:
    return Reply(text=TRIED) if is_summary(received) else Reply(text="Said. " * 50)


class MoveLane(StepLane):
    """Back to the end of the first exchange, with a summary of the second or without."""

    said = (TASK, SECOND)

    def __init__(self, act: Literal["move", "carry"]) -> None:
        super().__init__(_answer)
        self.act = act

    def judge(self, place: Order, before: Sequence[Entry], done: Report, requests: Sequence[Received]) -> None:
        """See `StepLane.judge`."""
        path = read_path(place)
        typed = [prompt.message.authored for prompt in bodies(path, Prompt)]
        moved = SECOND not in typed
        assert typed == ([TASK, NEXT] if moved else [TASK, SECOND, NEXT])
        assert moved or path[: len(before)] == list(before)
        assert moved or not done.outcome or "nothing was moved" in done.outcome, "what was said to be done is done"
        carried = bodies(path, BranchSummary)
        assert [body.summary for body in carried] == ([TRIED] if moved and self.act == "carry" else [])
        assert {entry.id for entry in before} <= _all_of(place), "the branch left behind is all there"
        last = [received for received in requests if not is_summary(received)][-1]
        assert holds(last, NEXT)
        assert holds(last, SECOND) != moved
        assert holds(last, TRIED) == bool(carried)


class ForkLane(StepLane):
    """A session of its own that begins here; this one stays as it is."""

    act = "fork"
    said = (TASK, SECOND)

    def __init__(self) -> None:
        super().__init__(_answer)

    def judge(self, place: Order, before: Sequence[Entry], done: Report, requests: Sequence[Received]) -> None:
        """See `StepLane.judge`."""
        typed = [prompt.message.authored for prompt in bodies(read_path(place), Prompt)]
        assert typed == [TASK, SECOND, NEXT], "whichever of them is the newest goes on from there"
        paths = _paths(place)
        assert 1 <= len(paths) <= 2
        assert len(paths) == 2 or not done.outcome, "what was said to be done is done"
        for path in paths:
            assert path[: len(before)] == list(before)


def _paths(place: Order) -> list[list[Entry]]:
    async def found() -> list[list[Entry]]:
        async with await Store.open(Path(place.home), Path(place.project), read_only=True) as store:
            logs = [await store.session(info.id, write=False) for info in await store.sessions()]
            return [await log.page(limit=10_000) for log in logs]

    return anyio.run(found)


def _all_of(place: Order) -> set[str]:
    """Return the ids of all entries of the one session, on every branch."""

    async def found() -> set[str]:
        async with await Store.open(Path(place.home), Path(place.project), read_only=True) as store:
            log = await store.session((await store.sessions())[0].id, write=False)
            return await log.examine(
                lambda db: {
                    entry.id
                    for span in plan(db, log.id).runs
                    for entry in read(db, (span,), span.low, span.high, limit=10_000)
                }
            )

    return anyio.run(found)
