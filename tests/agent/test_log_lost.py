"""A log that cannot be written, or is another window's: the agent stops, says so, and claims nothing it has not."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from tests.agent.support import bash, bodies, options, path_of, said, session, until
from tests.agent.test_stopping import running
from tests.cli.support import ROOT, clew, environment
from tests.log.kit import Clock, stop
from tests.support.provider import Provider, Reply
from tui.agent.agent import AgentStoppedError
from tui.agent.events import EntryAdded, Failed
from tui.log import LeaseHeld, SessionLog, Store
from tui.log.entries import Answer, Notice, Prompt, Result, Settled, ToolStarted
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio

CHILD = """
import asyncio, json, resource, sys
from pathlib import Path
from tests.agent.support import options, until
from tui.agent.agent import AgentStoppedError
from tui.agent.events import EntryAdded, Failed, QueueReturned
from tui.agent.session import open_session
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice
import msgspec

def tell(**values):
    print(json.dumps(values), flush=True)

async def hear():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()

async def main(folder, url, when):
    given = msgspec.structs.replace(
        options(Path(folder), None), choice=ModelChoice("openai-chat", "scripted", url + "/v1", 32_000))
    try:
        async with open_session(given) as agent:
            events = agent.subscribe()
            tell(session=agent.session_id)
            async def full():
                for file in Path(folder).rglob("*-wal"):
                    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, resource.RLIM_INFINITY))
            if when == "prompt":
                await full()
            await agent.send(UserMessage((Text("my  words"),)))
            if when == "answer":
                assert await hear() == "full"
                await full()
                tell(full=True)
            failed = await until(events, lambda event: isinstance(event, Failed))
            settled = await agent.settled()
            found = dict(failed=failed.message, reason=settled.reason, writable=agent.writable)
            found["branch"] = [entry.kind for entry in agent.branch]
            try:
                await agent.send(UserMessage((Text("more"),)))
            except AgentStoppedError as error:
                found["refused"] = str(error)
            rest = []
            while events._events:
                rest.append(await events.receive())
            found["returned"] = [list(event.texts) for event in rest if isinstance(event, QueueReturned)]
            found["failures"] = 1 + sum(isinstance(event, Failed) for event in rest)
            found["saved"] = [event.entry.kind for event in rest if isinstance(event, EntryAdded)]
            tell(**found)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    finally:
        tell(over=True)

asyncio.run(main(*sys.argv[1:]))
"""


class Child:
    """Another process with a session of its own."""

    def __init__(self, tmp_path: Path, provider: Provider, when: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), provider.base_url, when],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def heard(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(await asyncio.to_thread(self.process.stdout.readline))

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    async def ended(self) -> int:
        await asyncio.to_thread(self.process.communicate)
        return self.process.returncode


async def test_a_prompt_that_cannot_be_saved_is_not_sent_and_goes_back(tmp_path: Path) -> None:
    async with Provider(Reply(text="never")) as provider:
        child = Child(tmp_path, provider, "prompt")
        await child.heard()
        told = await child.heard()
        assert await child.ended() == 0
        assert not provider.requests
    assert (told["reason"], told["writable"], told["saved"], told["failures"]) == ("error", False, [], 1)
    assert told["returned"] == [["my  words"]]
    assert "kept" in told["failed"]
    assert told["failed"] in told["refused"]
    assert "prompt" not in told["branch"]


async def test_an_answer_that_cannot_be_saved_runs_nothing_and_is_not_shown_as_saved(tmp_path: Path) -> None:
    async with Provider(Reply(text="I do it.", calls=(bash("touch ran"),), hold=True)) as provider:
        child = Child(tmp_path, provider, "answer")
        await child.heard()
        await provider.request(0)
        child.tell("full")
        assert await child.heard() == {"full": True}
        provider.release()
        told = await child.heard()
        assert await child.ended() == 0
        assert len(provider.requests) == 1
        assert (told["reason"], told["saved"], told["returned"]) == ("error", [], [])
        assert "answer" not in told["branch"]
        assert not (tmp_path / "project" / "ran").exists()
        async with session(options(tmp_path, provider, open="newest")) as (agent, _):
            path = await path_of(agent)
    assert [prompt.message.authored for prompt in bodies(path, Prompt)] == ["my  words"]
    assert not bodies(path, ToolStarted)
    assert [settled.reason for settled in bodies(path, Settled)] == ["interrupted"]


async def test_a_sleeper_whose_session_was_taken_over_stops_with_a_clear_message(tmp_path: Path) -> None:
    async with Provider(Reply(text="too late", hold=True)) as provider:
        child = Child(tmp_path, provider)
        opened = await child.heard()
        await provider.request(0)
        stop(child.process)
        async with await Store.open(tmp_path / "home", tmp_path / "project", clock=Clock(now=10**13)) as store:
            ours = await store.session(opened["session"])
            await ours.append(Notice("taken over"))
            os.kill(child.process.pid, signal.SIGCONT)
            provider.release()
            told = await child.heard()
            assert await child.ended() == 0
            path = await ours.page()
    assert "taken over by another window" in told["failed"]
    assert "other window" in told["refused"]
    assert (told["reason"], told["saved"], told["writable"]) == ("error", [], False)
    assert not bodies(path, Answer)
    assert bodies(path, Notice)[-1].text == "taken over"


async def test_a_live_session_cannot_be_opened_twice_and_the_error_is_one_sentence(tmp_path: Path) -> None:
    async with Provider(Reply(text="hello", hold=True)) as provider:
        child = Child(tmp_path, provider)
        opened = await child.heard()
        await provider.request(0)
        with pytest.raises(LeaseHeld) as held:
            async with session(options(tmp_path, provider, open="newest")):
                raise AssertionError("it must not open")
        assert opened["session"] in str(held.value)
        home = {"CLEW_HOME": str(tmp_path / "home")}
        done = await asyncio.to_thread(clew, "-p", "more", "-c", cwd=tmp_path / "project", env=home)
        child.process.kill()
        await child.ended()
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"is being written by process {child.process.pid}".encode() in done.stderr
    assert b"Traceback" not in done.stderr


class Lent:
    """A log whose lease another window takes at some moment; all else is the real one."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    @property
    def writable(self) -> bool:
        return not self.lost


async def test_a_tool_does_not_work_on_beside_a_new_owner(tmp_path: Path) -> None:
    """The heartbeat notices a lost lease while a tool runs that writes nothing for long."""
    logs: list[Lent] = []

    def lend(log: SessionLog) -> SessionLog:
        logs.append(Lent(log))
        return cast("SessionLog", logs[0])

    project = tmp_path / "project"
    async with (
        Provider(Reply(calls=(bash("echo $$ > pid; cat gate"),))) as provider,
        session(options(tmp_path, provider, between=lend)) as (agent, events),
    ):
        os.mkfifo(project / "gate")
        os.mkfifo(project / "pid")
        await agent.send(UserMessage((Text("wait"),)))
        await until(events, lambda event: isinstance(event, EntryAdded) and event.entry.kind == "tool_started")
        pid = int(await anyio.to_thread.run_sync((project / "pid").read_text))
        logs[0].lost = True
        assert "taken over" in (await until(events, lambda event: isinstance(event, Failed))).message
        await agent.settled()
        assert not running(pid)
        with pytest.raises(AgentStoppedError, match="taken over"):
            await agent.send(UserMessage((Text("more"),)))


async def test_without_a_log_file_everything_works_and_nothing_is_written(tmp_path: Path) -> None:
    async with (
        Provider(Reply(calls=(bash("echo one"),)), Reply(text="done")) as provider,
        session(options(tmp_path, provider, persist=False)) as (agent, _),
    ):
        assert await said(agent, "go") == "answered"
        assert len(bodies(await path_of(agent), Result)) == 1
    assert not list((tmp_path / "home").rglob("*.sqlite"))
