"""The list of sessions and the tree of one, small and large: CPU time of what a person waits for.

Run `python -m tests.bench.bench_lists [SESSIONS [ENTRIES]]` (10000 and 100000). Prints CPU milliseconds for the first
page of the list beside that of a hundred sessions, and for opening the tree, drawing it after a key, finding words in
it, and moving to its beginning and back (bar: 100 ms for a move).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import msgspec

from tests.agent.handoffs import Player, serving, wired
from tests.agent.support import session
from tests.bench.bench_log import turn
from tui.agent.branching import go, tree
from tui.agent.shelf import Shelf
from tui.context.tree import Folds, after, rows
from tui.log import Store
from tui.log.entries import Settled

ROUNDS = 7


async def cpu(step: Callable[[], Awaitable[object]]) -> float:
    """Return the median CPU milliseconds of a step."""
    found: list[float] = []
    for _ in range(ROUNDS):
        before = time.process_time()
        await step()
        found.append(1000 * (time.process_time() - before))
    return statistics.median(found)


async def listed(folder: Path, count: int) -> float:
    """Return what the first page of a list of so many sessions costs."""
    project = folder / f"p{count}"
    project.mkdir()
    async with await Store.open(folder / "home", project) as store:
        for number in range(count):
            await (await store.create(cwd=project, first=[*turn(number), Settled("answered")])).close()
    shelf = Shelf(folder / "home", project)
    return await cpu(shelf.page)


async def in_tree(folder: Path, entries: int) -> dict[str, float]:
    """Return what is done in the tree of a session with so many entries."""
    with serving(Player()) as provider:
        made = wired(folder, provider, window=200_000)
        async with await Store.open(made.home, made.cwd) as store:
            log = await store.create(cwd=made.cwd, first=[*turn(0), Settled("answered")])
            for start in range(1, entries // 7, 200):
                await log.append(*(b for n in range(start, start + 200) for b in (*turn(n), Settled("answered"))))
        async with session(msgspec.structs.replace(made, open="newest")) as (agent, _):
            drawn = await tree(agent)
            nodes = [node for run in drawn.runs for node in run.nodes if node.kind == "prompt"]
            places = iter([nodes[0], nodes[-1]] * ROUNDS)

            async def opened() -> None:
                rows(await tree(agent), Folds())

            async def key() -> None:
                rows(drawn, Folds())

            async def found() -> None:
                rows(drawn, Folds(query=f"{len(nodes) // 2} "))

            async def moved() -> None:
                await go(agent, after(drawn, next(places).id))

            return {
                "open": await cpu(opened),
                "a key": await cpu(key),
                "a search": await cpu(found),
                "a move": await cpu(moved),
            }


async def main(sessions: int, entries: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = await listed(Path(folder), 100), await listed(Path(folder), sessions)
        print(f"list: {few:.1f} ms with 100 sessions, {many:.1f} ms with {sessions:,}: {many / few:.2f}")
        (Path(folder) / "tree").mkdir()
        found = await in_tree(Path(folder) / "tree", entries)
    print(f"tree of {entries:,} entries: " + ", ".join(f"{name} {value:.1f} ms" for name, value in found.items()))


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    anyio.run(main, given[0] if given else 10_000, given[1] if len(given) > 1 else 100_000)
