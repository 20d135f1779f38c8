"""Random sequences of steps give what plain lists of ids would give."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.log.kit import answer, note, prompt
from tui.context.tree import build
from tui.log import EntryNotFound, MemorySession, SessionLog, Store
from tui.log.entries import Entry

KINDS = {"notice": note, "prompt": prompt, "answer": answer}

Step = tuple[str, int, list[str]]
"""What to do, which one of those there are (modulo), and the kinds to append."""

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "move", "fork", "switch"]),
        st.integers(0, 1000),
        st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
    ),
    max_size=25,
)


@dataclass
class Model:
    """A session as a plain list, and all entries that ever were in its tree, each with its path."""

    session: SessionLog
    path: list[Entry] = field(default_factory=list[Entry])
    tree: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])


async def _append(model: Model, kinds: list[str], serial: int) -> None:

    bodies = [KINDS[kind](f"{serial}-{index}") for index, kind in enumerate(kinds)]
    for entry in await model.session.append(*bodies):
        model.path = [*model.path, entry]
        model.tree[entry.id] = model.path


async def _fork(model: Model, number: int) -> Model:
    chosen = sorted(model.tree)[number % len(model.tree)] if model.tree and number % 3 else None
    path = model.tree[chosen] if chosen else model.path
    child = await model.session.fork(chosen)
    return Model(child, path, {entry.id: path[: index + 1] for index, entry in enumerate(path)})


async def _check(model: Model, limit: int) -> None:
    session, path = model.session, model.path
    assert session.depth == len(path) - 1
    assert session.leaf == (path[-1].id if path else None)
    middle = len(path) // 2
    assert await session.page(limit=limit) == path[-limit:]
    assert await session.page(before=middle, limit=limit) == path[max(0, middle - limit) : middle]
    assert await session.since(middle) == path[middle:]
    assert [entry async for page in session.entries() for entry in page] == path
    for kind in KINDS:
        assert await session.newest(kind) == next((entry for entry in reversed(path) if entry.kind == kind), None)
    assert [entry.parent for entry in path] == [None, *(entry.id for entry in path)][: len(path)]
    await _check_tree(model)


async def _check_tree(model: Model) -> None:
    """The landmarks, the branches and where they leave the path are what the entries themselves say."""
    facts = await model.session.tree()
    everything = {entry.id: entry for path in model.tree.values() for entry in path}
    assert sorted(mark.id for mark in facts.landmarks) == sorted(
        e.id for e in everything.values() if e.kind == "prompt"
    )
    assert (facts.leaf.depth if facts.leaf else -1) == len(model.path) - 1
    ways = Counter(entry.parent for entry in everything.values())
    followed = {entry.parent for entry in model.path}
    points = {entry.depth: ways[entry.id] - (entry.id in followed) for entry in model.path}
    found = {point.depth: point.others for point in await model.session.branch_points()}
    assert found == {depth: others for depth, others in points.items() if others}
    forks = [node for run in build(facts).runs for node in run.nodes if node.kind == "fork"]
    assert {node.id: node.branches for node in forks} == {
        name: count for name, count in ways.items() if name and count > 1
    }


async def _play(first: SessionLog, script: list[Step], limit: int) -> list[Model]:
    models = [Model(first)]
    active = models[0]
    for serial, (word, number, kinds) in enumerate(script):
        if word == "append":
            await _append(active, kinds, serial)
        elif word == "move" and active.tree:
            chosen = sorted(active.tree)[number % len(active.tree)]
            await active.session.move(chosen)
            active.path = active.tree[chosen]
        elif word == "fork":
            active = await _fork(active, number)
            models.append(active)
        elif word == "switch":
            active = models[number % len(models)]
        await _check(active, limit)
    for model in models:
        await _check(model, limit)
    return models


async def _only_its_own_tree(models: list[Model]) -> None:
    everything = {entry for model in models for entry in model.tree}
    for model in models:
        for stranger in everything - set(model.tree):
            try:
                await model.session.move(stranger)
            except EntryNotFound:
                continue
            raise AssertionError(f"{model.session.id} moved to {stranger}")


@given(steps, st.integers(1, 6))
@settings(max_examples=60)
def test_in_memory(script: list[Step], limit: int) -> None:
    async def scenario() -> None:
        models = await _play(MemorySession(), script, limit)
        await _only_its_own_tree(models)
        await models[0].session.close()

    asyncio.run(scenario())


@given(steps, st.integers(1, 6))
@settings(max_examples=12)
def test_on_disk_and_again_after_a_restart(script: list[Step], limit: int) -> None:
    async def scenario(home: Path) -> None:
        async with await Store.open(home, home) as store:
            models = await _play(await store.create(cwd=home), script, limit)
        async with await Store.open(home, home) as store:
            for model in models:
                model.session = await store.session(model.session.id)
                await _check(model, limit)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder)))
