"""Any sequence of sending, stopping, dying and opening again: what holds for the log at the end of each."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias, cast

import anyio
import anyio.lowlevel
import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.agent.support import bash, bodies, options, path_of, session
from tests.support.provider import Call, Provider, Received, Reply
from tui.agent.agent import Agent, AgentStoppedError
from tui.agent.broadcast import Subscription
from tui.agent.events import AnswerDelta
from tui.agent.session import SessionOptions
from tui.log import LogError, LogUnwritable, SessionLog
from tui.log.entries import Answer, Body, Entry, Prompt, Queue, Result, Settled, ToolStarted
from tui.messages import Text, UserMessage

Step: TypeAlias = tuple[Literal["send", "steer", "follow-up", "esc", "die", "leave", "wait"], str, int]
"""What is done, the words of what is sent, and how many events pass first, as far as any come."""
Kind: TypeAlias = Literal["text", "calls", "bad", "cut", "empty", "failed", "lost", "slow"]
KINDS: tuple[Kind, ...] = ("text", "calls", "calls", "bad", "cut", "empty", "failed", "lost", "slow")

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
STEPS = st.tuples(
    st.sampled_from(["send", "send", "steer", "follow-up", "esc", "die", "leave", "wait"]), WORDS, st.integers(0, 12)
)


class Speaker:
    """Answers as it is told, in order; then in plain words."""

    def __init__(self, kinds: list[Kind]) -> None:
        self.kinds = list(kinds)
        self.calls = 0

    def __call__(self, _received: Received) -> Reply:
        match self.kinds.pop(0) if self.kinds else "text":
            case "text":
                return Reply(text="Some words.")
            case "calls":
                return Reply(text="I run two.", calls=(self._call(), self._call()))
            case "bad":
                return Reply(calls=(self._call(), Call("bash", '{"command": "ech'), Call("launch")))
            case "cut":
                return Reply(calls=(self._call(),), stop="length")
            case "empty":
                return Reply(text="")
            case "failed":
                return Reply(status=503, body=json.dumps({"error": {"message": "busy"}}))
            case "lost":
                return Reply(text="lost", calls=(self._call(),), stop="-")
            case "slow":
                return Reply(text="half of an answer", stop_at=500, stop_how="silence")

    def _call(self) -> Call:
        self.calls += 1
        return bash(f"echo {self.calls} >> ran")


class Mortal:
    """A log whose owner dies: from then on nothing of it is written, whatever it believes."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *added: Body) -> tuple[Entry, ...]:
        self._alive()
        return await self._log.append(*added)

    async def set_partial(self, data: bytes) -> None:
        self._alive()
        await self._log.set_partial(data)

    def _alive(self) -> None:
        if self.dead:
            raise LogUnwritable("The process is dead.")


class Life:
    """One session over several openings, and what its person knows."""

    def __init__(self, given: SessionOptions, provider: Provider) -> None:
        self._given = msgspec.structs.replace(given, between=self._born, sleep=no_wait)
        self._provider = provider
        self._log: Mortal | None = None
        self._silent = False
        """The provider has begun an answer that it ends only when it is told."""
        self.kept: list[str] = []
        """Words whose sending came back without an error."""

    def _born(self, log: SessionLog) -> SessionLog:
        self._log = Mortal(log)
        return cast("SessionLog", self._log)

    async def lived(self, steps: list[Step]) -> list[Entry]:
        """Take all steps, come to rest, and return the path."""
        left = list(steps)
        while left:
            async with session(self._given) as (agent, events):
                # By its id: `-c` passes over a session in which nothing was said yet.
                self._given = msgspec.structs.replace(self._given, open="id", session_id=agent.session_id)
                await self._opening(agent, events, left)
            self._silent = False
        async with session(self._given) as (agent, _):
            await self._rest(agent)
            return await path_of(agent)

    async def _opening(self, agent: Agent, events: Subscription, left: list[Step]) -> None:
        """Take steps until one of them ends this opening."""
        while left:
            what, text, passing = left.pop(0)
            await self._pass(agent, events, passing)
            match what:
                case "send" | "steer":
                    await self._send(agent, text, "steer")
                case "follow-up":
                    await self._send(agent, text, "follow-up")
                case "esc":
                    await agent.interrupt()
                    self._silent = False
                case "wait":
                    await self._rest(agent)
                case "die":
                    assert self._log is not None
                    self._log.dead = True
                    return
                case "leave":
                    return

    async def _pass(self, agent: Agent, events: Subscription, count: int) -> None:
        """Let so many events pass, or as many as come by themselves."""
        for _ in range(count):
            if agent.idle or self._silent:
                return
            event = await events.receive()
            self._silent = isinstance(event, AnswerDelta) and event.text.startswith("half")

    async def _send(self, agent: Agent, text: str, mode: Literal["steer", "follow-up"]) -> None:
        try:
            await agent.send(UserMessage((Text(text),)), mode)
        except (AgentStoppedError, LogError):
            return
        self.kept.append(text)

    async def _rest(self, agent: Agent) -> None:
        self._provider.release()
        await agent.settled()
        self._provider.hold()
        self._silent = False


async def no_wait(_seconds: float) -> None:
    await anyio.lowlevel.checkpoint()


async def live(folder: Path, steps: list[Step], kinds: list[Kind], *, interactive: bool) -> tuple[Life, list[Entry]]:
    async with Provider(Speaker(kinds), repeat_last=True) as provider:
        life = Life(options(folder, provider, interactive=interactive), provider)
        return life, await life.lived(steps)


def check_calls(path: list[Entry], ran: list[str]) -> None:
    """Each call that may run has one result; none starts twice, none runs that did not start."""
    asked = [call.id for answer in bodies(path, Answer) for call in answer.message.calls]
    may_run = [
        call.id for answer in bodies(path, Answer) if answer.message.stop.is_complete for call in answer.message.calls
    ]
    results = [result.message.call_id for result in bodies(path, Result)]
    started = [start.call_id for start in bodies(path, ToolStarted)]
    assert max(Counter(results).values(), default=1) == 1
    assert set(may_run) <= set(results) <= set(asked)
    assert max(Counter(started).values(), default=1) == 1
    assert set(started) <= set(may_run)
    assert max(Counter(ran).values(), default=1) == 1
    assert len(ran) <= len(started)


def check_exchanges(path: list[Entry]) -> None:
    """Prompts that open and ends take turns: every exchange ends once, before the next begins."""
    marks = [
        "end" if isinstance(entry.body, Settled) else "begin"
        for entry in path
        if isinstance(entry.body, Settled) or (isinstance(entry.body, Prompt) and not entry.body.steer)
    ]
    assert marks == ["begin", "end"] * (len(marks) // 2)


def check_words(path: list[Entry], kept: list[str]) -> None:
    """Everything that was sent stands in the log as it was written; nothing is delivered twice."""
    said = Counter(prompt.message.authored for prompt in bodies(path, Prompt))
    waited = {item.id: item.message.authored for queue in bodies(path, Queue) for item in queue.items}
    delivered = [prompt.queued for prompt in bodies(path, Prompt) if prompt.queued]
    assert max(Counter(delivered).values(), default=1) == 1
    direct = Counter(prompt.message.authored for prompt in bodies(path, Prompt) if not prompt.queued)
    assert not Counter(kept) - (direct + Counter(waited.values()))
    assert set(said) <= set(kept)


FIVE: list[Step] = [
    ("send", "a", 0),
    ("steer", " b\t", 3),
    ("follow-up", "c\r\n", 0),
    ("die", "", 5),
    ("send", "d", 0),
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=3, max_size=9), st.lists(st.sampled_from(KINDS), min_size=2, max_size=6), st.booleans())
@example(FIVE, ["calls", "calls", "text"], True)
@example(FIVE, ["slow", "bad", "lost"], False)
@example([("send", "a", 0), ("steer", "b", 5), ("esc", "", 0), ("send", "c", 0), ("wait", "", 0)], ["slow"], True)
def test_whatever_happens_nothing_is_lost_and_nothing_is_done_twice(
    steps: list[Step], kinds: list[Kind], interactive: bool
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        life, path = anyio.run(lambda: live(folder, steps, kinds, interactive=interactive))
        file = folder / "project" / "ran"
        ran = file.read_text().split() if file.exists() else []
    assert [entry.depth for entry in path] == list(range(len(path)))
    check_calls(path, ran)
    check_exchanges(path)
    check_words(path, life.kept)
