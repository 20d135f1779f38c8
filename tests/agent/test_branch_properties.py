"""Any walk through the tree of a session: each path stays whole, nothing of the others is lost, the state follows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import anyio
import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.agent.handoffs import (
    FILLER,
    Player,
    check_cycles,
    compact,
    continuations,
    is_summary,
    serving,
    strings,
    wired,
    work,
)
from tests.agent.support import bash, bodies, path_of, said, session
from tests.agent.test_branching import spot_of
from tests.agent.test_properties import check_calls, check_exchanges, no_wait
from tests.support.provider import Provider, Received, Reply
from tui.agent.agent import Agent, Mode
from tui.agent.branching import Forked, earlier_prompts, fork, go, label, tree
from tui.agent.session import SessionOptions
from tui.agent.wishes import go_on
from tui.context.tree import Spot, after
from tui.log.entries import ApprovalMode, Entry, Handoff, ModelChosen, Prompt
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio

# --- the handoff follows the branch (`spec/handoff.md`, the row "branch back")

Left: TypeAlias = Literal["saved", "ready", "delivered", "failed"]


async def _newest(agent: Agent, phase: str) -> Entry:
    path = await path_of(agent)
    return next(e for e in reversed(path) if isinstance(e.body, Handoff) and e.body.phase == phase)


@pytest.mark.parametrize("phase", ["saved", "ready", "delivered"])
async def test_back_in_a_handoff_nothing_runs_one_line_says_it_and_one_key_goes_on(tmp_path: Path, phase: str) -> None:
    player = Player(Reply(text="fine"), work(), Reply(calls=(compact("the note"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider, sleep=no_wait)) as (agent, _):
        await said(agent, "first")
        await said(agent, "second")
        assert agent.compaction.state.phase == "answered"
        place = await _newest(agent, phase)
        await go(agent, await spot_of(agent, "first"))
        assert agent.compaction.state.phase == "none"
        assert not agent.compaction.locked
        asked = len(player.asked) + len(player.summarised)
        told = await go(agent, Spot(place.id))
        assert agent.compaction.state.phase == phase
        assert agent.compaction.locked == (phase != "delivered")
        assert told.text
        assert len(player.asked) + len(player.summarised) == asked, "nothing runs by itself"
        await go_on(agent)
        await agent.settled()
        path = await path_of(agent)
        assert agent.compaction.state.phase == "answered"
        assert len(continuations(path)) == 1
        check_cycles(path)
        # and the path that was left is still the one it was
        await go(agent, await spot_of(agent, "first"))
        assert agent.compaction.state.phase == "none"


async def test_thresholds_and_model_follow_the_branch(tmp_path: Path) -> None:
    player = Player()
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "first")
        window = agent.model_info.window
        await agent.use_model(agent.model)
        there = await spot_of(agent, "first")
        await said(agent, "second")
        await go(agent, there)
        assert agent.model_info.window == window
        assert agent.usage.thresholds is not None
        chosen = bodies(await path_of(agent), ModelChosen)[-1]
        assert chosen.model == agent.model_info.id


# --- any walk

Walk: TypeAlias = tuple[str, int]
MODES: tuple[Mode, ...] = ("ask", "edits", "all")
WALKS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "work", "go", "rewind", "fork", "label", "mode", "compact", "reopen"]),
        st.integers(0, 99),
    ),
    min_size=3,
    max_size=12,
)


class Mixed:
    """Answers with a tool where the newest prompt asks for work; each label is given once."""

    def __init__(self) -> None:
        self.labels = 0
        self.requests: list[Received] = []

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return Reply(text="What was done.")
        self.requests.append(received)
        newest = received.messages[-1]
        if newest["role"] == "user" and any(text.startswith("work") for text in strings(newest)):
            self.labels += 1
            return Reply(text=FILLER[:9_000], calls=(bash(f"echo {self.labels} >> ran"),))
        return Reply(text="Said.")


class Walker:
    """One person, in one session after the other."""

    def __init__(self, given: SessionOptions) -> None:
        self.given = given
        self.seen: dict[str, set[str]] = {}
        """Ids of the entries that stood on a path, by session."""
        self.number = 0

    async def walk(self, steps: list[Walk]) -> None:
        left = list(steps)
        while left:
            async with session(self.given) as (agent, _):
                self.given = msgspec.structs.replace(self.given, open="id", session_id=agent.session_id, arrives=True)
                while left:
                    what, which = left.pop(0)
                    again = await self._step(agent, what, which)
                    await self._look(agent)
                    if again:
                        break
        async with session(self.given) as (agent, _):
            await self._look(agent)
            await self._all_there(agent)

    async def _step(self, agent: Agent, what: str, which: int) -> bool:
        """Take a step; True where the session is opened anew."""
        self.number += 1
        match what:
            case "say" | "work":
                assert await said(agent, f"{what} {self.number}") == "answered"
                await self._sent(agent)
            case "go" | "rewind":
                await self._move(agent, which, edit=what == "rewind")
            case "fork":
                made = await fork(agent)
                assert isinstance(made, Forked)
                self.given = msgspec.structs.replace(self.given, session_id=made.session)
                return True
            case "label":
                await label(agent, f"name {which % 3}")
            case "mode":
                await agent.use_approval(MODES[which % 3])
            case "compact":
                await agent.compaction.compact("")
            case _:
                return True
        return False

    async def _move(self, agent: Agent, which: int, *, edit: bool) -> None:
        drawn = await tree(agent)
        if edit:
            places = [Spot(node.id, before=True) for node in earlier_prompts(drawn)[:-1]]
        else:
            places = [after(drawn, node.id) for run in drawn.runs for node in run.nodes]
        if places:
            await go(agent, places[which % len(places)], edit=edit)

    async def _sent(self, agent: Agent) -> None:
        """The last request has what the path says, and nothing of another branch."""
        path = await path_of(agent)
        here = {prompt.message.authored for prompt in bodies(path, Prompt)}
        model = self.model.requests[-1]
        told = {line for text in strings(model.body["messages"]) for line in text.splitlines()}
        mine = {line for line in told if line.startswith(("say ", "work "))}
        assert mine <= here
        assert path[-1].kind in ("settled", "announced", "notice", "latch")

    async def _look(self, agent: Agent) -> None:
        path = await path_of(agent)
        assert [entry.depth for entry in path] == list(range(len(path)))
        assert [entry.parent for entry in path] == [None, *(entry.id for entry in path[:-1])]
        check_exchanges(path)
        modes = bodies(path, ApprovalMode)
        assert agent.approval == (modes[-1].mode if modes else "ask")
        self.seen.setdefault(agent.session_id, set()).update(entry.id for entry in path)

    async def _all_there(self, agent: Agent) -> None:
        """Whatever stood on a path of this session can be gone to."""
        for entry in self.seen[agent.session_id]:
            assert (await (await agent.journal.log.at(entry)).page(limit=1))[-1].id == entry

    model: Mixed


async def _walked(folder: Path, steps: list[Walk]) -> tuple[list[Received], list[Entry]]:
    model = Mixed()
    async with Provider(model, repeat_last=True) as provider:
        walker = Walker(wired(folder, provider, approve="all", interactive=False))
        walker.model = model
        await walker.walk(steps)
        async with session(walker.given) as (agent, _):
            await agent.send(UserMessage((Text("say at last"),)))
            assert (await agent.settled()).reason == "answered"
            return model.requests, await path_of(agent)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(WALKS)
@example([("work", 0), ("say", 0), ("go", 0), ("work", 0), ("fork", 0), ("rewind", 1), ("say", 0), ("compact", 0)])
def test_a_walk_through_the_tree_loses_nothing_and_mixes_nothing(steps: list[Walk]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        requests, path = anyio.run(_walked, folder, steps)
        file = folder / "project" / "ran"
        ran = file.read_text().split() if file.exists() else []
    assert not [received.problems for received in requests if received.problems]
    assert max(Counter(ran).values(), default=1) == 1, "no tool ran twice on any branch"
    check_calls(path, [])
