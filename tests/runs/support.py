"""Runs on a real log with a scripted model behind real HTTP, real checks and a real git."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.agent.handoffs import FILLER, is_summary
from tests.agent.support import options, path_of
from tests.support.provider import Call, Provider, Received, Reply
from tui.agent.agent import Agent
from tui.agent.session import SessionOptions, open_session
from tui.log.entries import RunCard
from tui.runs.attach import attach_runs, driver_of
from tui.runs.driver import RunDriver
from tui.runs.opening import begin_run, look_before_resume, look_before_start, resume_run
from tui.runs.plan import Bounds, Plan, PlanItem, Review
from tui.runs.state import RunState

_ITEM = re.compile(r"RUN ITEM (\d+) of \d+")


def newest_item(received: Received) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of the newest item that is named, and the messages after the one that names it."""
    messages = received.body["messages"]
    for at in range(len(messages) - 1, -1, -1):
        if messages[at]["role"] == "user" and (found := _ITEM.findall(str(messages[at]["content"]))):
            return int(found[-1]), messages[at + 1 :]
    return 0, messages


def call(tool: str, **arguments: Any) -> Call:
    return Call(tool, json.dumps(arguments))


def ready(evidence: str = "it is done") -> Reply:
    return Reply(calls=(call("item_ready", evidence=evidence),))


class Hands:
    """A model that does each item with one command, says that it is ready, and ends its answer.

    `scripts` gives the commands of an item's deliveries in order; without one a file `item-N` is made.
    """

    def __init__(self, scripts: dict[int, list[str]] | None = None, *, says_ready: bool = True, wordy: int = 0) -> None:
        self.scripts = {number: list(commands) for number, commands in (scripts or {}).items()}
        self.says_ready = says_ready
        self.filler = FILLER[:wordy]
        self.asked: list[Received] = []
        self.items: list[int] = []
        """The item of each delivery, in order."""

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return Reply(text="What was done so far.")
        self.asked.append(received)
        number, since = newest_item(received)
        turn = sum(message["role"] == "assistant" for message in since)
        if not number or any(message["role"] == "user" for message in since):
            return Reply(text="Yes?")
        if turn == 0:
            self.items.append(number)
            commands = self.scripts.get(number, [])
            command = commands.pop(0) if commands else f"touch item-{number}"
            return Reply(text=f"working {self.filler}", piece=4_000, calls=(call("bash", command=command),))
        if turn == 1 and self.says_ready:
            return ready(f"item {number} made")
        return Reply(text="Done.")


def check(number: int) -> tuple[str, ...]:
    return ("test", "-e", f"item-{number}")


def plan_of(count: int, *, review: Review = "off", bounds: Bounds | None = None, checks: bool = True) -> Plan:
    items = (PlanItem(f"make item-{number}", (check(number),) if checks else ()) for number in range(1, count + 1))
    return Plan("the list", tuple(items), bounds or Bounds(), review)


def repository(tmp_path: Path) -> Path:
    """Make the project a git repository with one commit."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "README").write_text("hello\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *words], cwd=project, check=True, capture_output=True)
    return project


def run_options(tmp_path: Path, provider: Provider | None, **more: Any) -> SessionOptions:
    return msgspec.structs.replace(options(tmp_path, provider, **more), attach=attach_runs)


@asynccontextmanager
async def driven(given: SessionOptions) -> AsyncGenerator[tuple[Agent, RunDriver]]:
    """Open a session with its driver."""
    async with open_session(given) as agent:
        driver = driver_of(agent)
        assert driver is not None
        yield agent, driver


def serving(hands: Callable[[Received], Reply]) -> Provider:
    return Provider(hands, repeat_last=True)


async def begun(driver: RunDriver, plan: Plan, source: str = "") -> RunState:
    """Start a run, whatever is asked, and wait until nothing goes on by itself."""
    found = await look_before_start(driver, plan)
    assert not found.problems
    assert not await begin_run(driver, found, source)
    await driver.agent.settled()
    return state_of(driver)


async def resumed(driver: RunDriver) -> RunState:
    """Go on with the run and wait until nothing goes on by itself."""
    found = await look_before_resume(driver)
    assert not found.problems, found.problems
    assert not await resume_run(driver)
    await driver.agent.settled()
    return state_of(driver)


def state_of(driver: RunDriver) -> RunState:
    assert driver.book.run is not None
    return driver.book.run.state


def statuses(state: RunState) -> list[str]:
    return [item.status for item in state.items]


async def cards(agent: Agent) -> list[str]:
    return [entry.body.what for entry in await path_of(agent) if isinstance(entry.body, RunCard)]


async def card_texts(agent: Agent, what: str) -> list[str]:
    found = [entry.body for entry in await path_of(agent) if isinstance(entry.body, RunCard)]
    return [card.text for card in found if card.what == what]
