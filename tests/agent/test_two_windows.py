"""Two windows on one session: the second follows; taken over, the first is refused, stops and can only read."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.to_thread
import pytest

from tests.agent.handoffs import Player, compact, phases, serving, work
from tests.agent.support import bash, bodies, options, path_of, said, session, until
from tests.agent.test_stopping import running
from tests.cli.support import ROOT, environment
from tests.log.kit import stop
from tests.support.provider import Provider, Reply
from tui.agent.agent import AgentStoppedError
from tui.agent.branch import Branch
from tui.agent.events import AnswerDelta, BranchMoved, EntryAdded, Followed, PhaseChanged
from tui.agent.following import phase_of
from tui.log import Store
from tui.log.entries import Checkpoint, Entry, Handoff, Prompt, Result, Settled
from tui.log.paths import database_file
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio
OWNER = """
import asyncio, json, sys
from pathlib import Path
import msgspec
from tests.agent.support import options, until
from tui.agent.events import EntryAdded, Failed
from tui.agent.session import open_session
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice

def tell(**values):
    print(json.dumps(values), flush=True)

async def hear():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()

async def main(folder, url):
    choice = ModelChoice("openai-chat", "scripted", url + "/v1", 32_000)
    given = msgspec.structs.replace(options(Path(folder), None), choice=choice)
    async with open_session(given) as agent:
        events = agent.subscribe()
        tell(session=agent.session_id)
        await agent.save_draft("a draft")
        while (line := await hear()) not in ("", "wait"):
            await agent.send(UserMessage((Text(line),)))
        if line == "wait":
            failed = await until(events, lambda event: isinstance(event, Failed))
            await agent.settled()
            tell(failed=failed.message, taken=failed.taken, writable=agent.writable)
            await hear()

asyncio.run(main(*sys.argv[1:]))
"""


class Owner:
    """The first window: a process that does what it is told, line by line."""

    def __init__(self, tmp_path: Path, provider: Provider) -> None:
        (tmp_path / "project").mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(tmp_path), provider.base_url],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def __aenter__(self) -> Self:
        self.session: str = (await self.heard())["session"]
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.process.kill()
        await asyncio.to_thread(self.process.communicate)

    async def heard(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(await asyncio.to_thread(self.process.stdout.readline))

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    async def ended(self) -> None:
        """Let it close its session, and wait for that."""
        self.tell("")
        await asyncio.to_thread(self.process.wait)


def kind_of(event: Any) -> str:
    return event.entry.kind if isinstance(event, EntryAdded) else ""


async def test_a_second_window_follows_and_writes_nothing(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="a long answer", hold=True), Reply(text="second")) as provider,
        Owner(tmp_path, provider) as owner,
        session(options(tmp_path, provider, open="newest", held="follow")) as (agent, events),
    ):
        assert agent.session_id == owner.session
        assert not agent.writable
        assert str(owner.process.pid) in (await until(events, lambda event: isinstance(event, Followed))).owner
        owner.tell("my words")
        await until(events, lambda event: event == PhaseChanged("requesting"))
        provider.release()
        await until(events, lambda event: kind_of(event) == "settled")
        await until(events, lambda event: event == PhaseChanged("idle"))
        assert [prompt.message.authored for prompt in bodies(list(agent.branch), Prompt)] == ["my words"]
        with pytest.raises(AgentStoppedError):
            await agent.send(UserMessage((Text("not from here"),)))
        await owner.ended()
        await until(events, lambda event: event == Followed(""))
        assert kind_of(agent.branch[-1]) == ""
        assert agent.branch[-1].kind == "settled"


async def test_the_growing_answer_is_followed(tmp_path: Path) -> None:
    async with (
        Provider() as provider,
        Owner(tmp_path, provider) as owner,
        await Store.open(tmp_path / "home", tmp_path / "project") as store,
    ):
        ours = await store.session(owner.session, take_over=True)
        await ours.append(Prompt(UserMessage((Text("go"),))))
        async with session(options(tmp_path, provider, open="newest", held="look")) as (_agent, events):
            for text in ("Once", "Once upon a time"):
                part = {"type": "assistant", "content": [{"type": "text", "text": text}], "stop": "aborted"}
                await ours.set_partial(json.dumps(part).encode())
                found = await until(events, lambda event: isinstance(event, AnswerDelta))
                assert found.text == text.removeprefix("Once" if text != "Once" else "")
                await until(events, lambda _event: True) if text == "Once" else None


async def test_another_path_is_shown_from_its_beginning(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="one"), Reply(text="two"), repeat_last=True) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        await said(agent, "first")
        place = agent.branch[-1].id
        await said(agent, "second")
        async with session(options(tmp_path, provider, open="newest", held="follow")) as (follower, events):
            await agent.move(place, lambda _target: ())
            await until(events, lambda event: isinstance(event, BranchMoved))
            await said(agent, "another second")
            await until(events, lambda event: kind_of(event) == "settled")
            words = [prompt.message.authored for prompt in bodies(list(follower.branch), Prompt)]
    assert words == ["first", "another second"]


def age_lease(tmp_path: Path) -> None:
    """Let the owner's last sign of life be long ago."""
    with closing(sqlite3.connect(database_file(tmp_path / "home", tmp_path / "project"))) as db:
        db.execute("UPDATE lease SET heartbeat=0")
        db.commit()


async def test_an_owner_that_slept_in_a_tool_is_refused_and_stops_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    os.mkfifo(project / "gate")
    os.mkfifo(project / "pid")
    waits = Reply(calls=(bash("echo $$ > pid; cat gate; touch ran-on", "slow"),))
    async with (
        Provider(waits, Reply(text="from the new window"), repeat_last=True) as provider,
        Owner(tmp_path, provider) as owner,
    ):
        owner.tell("run it")
        owner.tell("wait")
        pid = int(await anyio.to_thread.run_sync((project / "pid").read_text))
        stop(owner.process)
        age_lease(tmp_path)
        async with session(options(tmp_path, provider, open="newest", held="follow")) as (agent, _):
            assert agent.writable  # beyond its lease: it may be taken without asking
            os.kill(owner.process.pid, signal.SIGCONT)
            told = await owner.heard()
            assert (told["taken"], told["writable"]) == (True, False)
            assert "taken over" in told["failed"]
            assert not running(pid)
            assert await said(agent, "go on") == "answered"
            path = await path_of(agent)
    assert not (project / "ran-on").exists()
    (only,) = bodies(path, Result)
    assert only.refused == "unknown"
    assert [settled.reason for settled in bodies(path, Settled)] == ["interrupted", "answered"]


async def test_an_owner_that_slept_in_a_summary_is_refused(tmp_path: Path) -> None:
    player = Player(
        work(), Reply(calls=(compact("my note"),)), summaries=(Reply(text="too late", hold=True), Reply(text="mine"))
    )
    async with serving(player) as provider, Owner(tmp_path, provider) as owner:
        owner.tell("work")
        owner.tell("wait")
        await provider.request(2)
        assert player.summarised
        stop(owner.process)
        given = options(tmp_path, provider, open="newest", held="take", arrives=True)
        async with session(given) as (agent, _):
            await agent.settled()
            newest = bodies(await path_of(agent), Handoff)[-1]
            assert (newest.phase, newest.error) == ("failed", "interrupted")
            os.kill(owner.process.pid, signal.SIGCONT)
            provider.release()
            told = await owner.heard()
            assert (told["taken"], told["writable"]) == (True, False)
            path = await path_of(agent)
            assert not bodies(path, Checkpoint)
            assert phases(path)[-1] == "failed"
            assert agent.idle


@pytest.mark.parametrize("held", ["follow", "refuse"])
async def test_taking_over_runs_nothing_by_itself(tmp_path: Path, held: str) -> None:
    """A dead owner left a continuation to be resumed: opening it goes on, taking it over does not."""
    player = Player(work(), Reply(calls=(compact("my note"),)), Reply(text="never", hold=True))
    async with serving(player) as provider:
        async with Owner(tmp_path, provider) as owner:
            owner.tell("work")
            owner.tell("wait")
            await provider.request(3)
        asked = len(provider.requests)
        given = options(tmp_path, provider, open="newest", held=held, arrives=True)
        async with session(given) as (agent, _):
            await agent.settled()
            assert agent.writable
            assert len(provider.requests) == asked


async def test_the_draft_and_the_queue_survive_a_take_over(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="never", hold=True), Reply(text="fine"), repeat_last=True) as provider,
        Owner(tmp_path, provider) as owner,
    ):
        owner.tell("first")
        await provider.request(0)
        owner.tell("steer")
        async with await Store.open(tmp_path / "home", tmp_path / "project", read_only=True) as store:
            log = await store.session(owner.session, write=False)
            while not (queue := await log.newest("queue")):
                await anyio.lowlevel.checkpoint()
            assert queue.kind == "queue"
        given = options(tmp_path, provider, open="newest", held="take", arrives=True)
        async with session(given) as (agent, _):
            assert await agent.draft() == "a draft"
            assert [item.text for item in agent.queue] == ["steer"]
            assert len(provider.requests) == 1


def test_what_the_other_window_does_is_read_from_the_log() -> None:
    def entry(depth: int, body: Any) -> Entry:
        return Entry(f"e{depth}", None, depth, 1, body)

    prompt = entry(0, Prompt(UserMessage((Text("x"),))))
    assert phase_of(Branch([]), None) == ("idle", "")
    assert phase_of(Branch([prompt]), None) == ("requesting", "")
    assert phase_of(Branch([prompt, entry(1, Settled("answered"))]), None) == ("idle", "")
    assert phase_of(Branch([prompt, entry(1, Handoff("compacting"))]), None) == ("compacting", "")
