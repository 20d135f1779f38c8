"""A session killed at every write of a whole cycle, reopened and finished: nothing is lost and nothing done twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.agent.crashing import Order
from tests.agent.handoffs import FILLER, bash_call, check_cycles, compact, continuations, holds, is_summary, strings
from tests.agent.support import bodies, path_of, said, session
from tests.cli.support import environment
from tests.support.provider import Call, Provider, Received, Reply
from tui.agent.session import SessionOptions
from tui.log.entries import Answer, Checkpoint, Entry, Handoff, Note, Prompt, Result, ToolStarted
from tui.models.factory import ModelChoice

pytestmark = pytest.mark.anyio

TASK = "Do it\tall.\r\n{{tokens}} [/red] \u2028 \U0001f9f6  \n"
NOTE = "next: the rest\r\n\t\U0001f9f6 \u2028 [/x]  \n"
LEAST_WRITES = 20
"""Of a whole cycle. Fewer would mean that something is not written by itself any more, or not seen."""
LEAST_STEPS = 150
"""Of the event loop in a whole cycle."""


class Worker:
    """A model that knows only what it is shown: works, hands over, works on, reports. Labels are never given twice."""

    def __init__(self) -> None:
        self.labels = 0

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return Reply(text="What was done.")
        messages = received.messages
        sent = [
            at for at, message in enumerate(messages) if any("<continuation>\n" in text for text in strings(message))
        ]
        after = messages[sent[-1] :] if sent else messages
        if not any(message["role"] == "tool" for message in after):
            return self._work()
        return Reply(text="All done.") if sent else Reply(text="I pause.", calls=(compact(NOTE), self._call("lost")))

    def _call(self, what: str) -> Call:
        self.labels += 1
        return bash_call(f"echo {what}{self.labels} >> ran")

    def _work(self) -> Reply:
        """Two calls, the first of which ends last."""
        self.labels += 1
        name = f"second{self.labels}"
        waits = f"for i in $(seq 100); do [ -e {name} ] && break; sleep 0.02; done; echo first{self.labels} >> ran"
        calls = (bash_call(waits), bash_call(f"echo {name} >> ran; touch {name}"))
        return Reply(text=FILLER, piece=8_000, calls=calls)


class Crasher:
    """The process that forks those that die."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.agent.crashing"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
        )

    def obey(self, order: Order) -> tuple[int, int]:
        """Return the wait status of the child and how many writes it made."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self.process.stdin.flush()
        status, writes = self.process.stdout.readline().split()
        return int(status), int(writes)

    def close(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    made = Crasher()
    yield made
    made.close()


def order_in(folder: Path, provider: Provider) -> Order:
    (folder / "project").mkdir(parents=True)
    return Order(str(folder / "home"), str(folder / "project"), provider.base_url, TASK, writes=str(folder / "writes"))


def reopened(order: Order) -> SessionOptions:
    return SessionOptions(
        home=Path(order.home),
        cwd=Path(order.cwd),
        open="newest",
        choice=ModelChoice("openai-chat", "scripted", f"{order.base_url}/v1", 32_000),
        environ={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        approve="all",
        interactive=False,
    )


async def finish(order: Order) -> list[Entry]:
    """Open what was left without a screen, have it finished, and return its path."""
    async with session(reopened(order)) as (agent, _):
        begun = bodies(await path_of(agent), Prompt)
        assert await said(agent, "Go on." if begun else TASK) == "answered"
        return await path_of(agent)


def check(path: list[Entry], order: Order, requests: list[Received]) -> None:
    check_cycles(path)
    assert [prompt.message.authored[: len(NOTE)] for prompt in continuations(path)] == [NOTE]
    assert {note.text for note in bodies(path, Note)} == {NOTE}
    state = bodies(path, Handoff)[-1]
    assert (state.phase, state.done) == ("answered", 1)
    assert len(bodies(path, Checkpoint)) == 1
    assert bodies(path, Prompt)[0].message.authored == TASK
    calls = [
        call.id for answer in bodies(path, Answer) if answer.message.stop.is_complete for call in answer.message.calls
    ]
    results = [result.message.call_id for result in bodies(path, Result)]
    assert sorted(results) == sorted(calls)
    assert len({started.call_id for started in bodies(path, ToolStarted)}) == len(bodies(path, ToolStarted))
    ran = (Path(order.cwd) / "ran").read_text().split()
    assert len(set(ran)) == len(ran), "no call ran twice"
    assert not any(line.startswith("lost") for line in ran), "a sibling of the note never runs"
    assert all(holds(received, TASK) for received in requests if not is_summary(received))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_every_write_of_a_cycle(tmp_path: Path, crasher: Crasher, when: str) -> None:
    with Provider(Worker(), repeat_last=True) as provider:
        whole = order_in(tmp_path / "whole", provider)
        status, writes = crasher.obey(whole)
        assert status == 0
        assert writes >= LEAST_WRITES
        check(await finish(whole), whole, provider.requests)
        for at in range(1, writes + 1):
            del provider.requests[:]
            order = msgspec.structs.replace(order_in(tmp_path / f"{at}", provider), at=at, when=when)
            assert crasher.obey(order)[0] == signal.SIGKILL, at
            try:
                check(await finish(order), order, provider.requests)
            except AssertionError as error:
                error.add_note(f"killed {when} write {at}")
                raise


STEPS = 25
"""Places at which it is killed, spread over all steps of the event loop; each run takes others as streams are cut."""


async def test_killed_between_awaits(tmp_path: Path, crasher: Crasher) -> None:
    with Provider(Worker(), repeat_last=True) as provider:
        whole = order_in(tmp_path / "whole", provider)
        assert crasher.obey(whole)[0] == 0
        steps = int(Path(whole.writes + ".steps").read_text())
        assert steps >= LEAST_STEPS
        for number in range(STEPS):
            del provider.requests[:]
            step = 1 + number * steps // STEPS
            order = msgspec.structs.replace(order_in(tmp_path / f"{step}", provider), step=step)
            crasher.obey(order)
            try:
                check(await finish(order), order, provider.requests)
            except AssertionError as error:
                error.add_note(f"killed at step {step} of {steps}")
                raise
