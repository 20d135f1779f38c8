"""Real sessions on a real log against a real server on this machine."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.support.provider import Call, Provider
from tui.agent.agent import Agent
from tui.agent.broadcast import Subscription
from tui.agent.session import SessionOptions, open_session
from tui.log.entries import Body, Entry
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice

_B = TypeVar("_B", bound=Body)
PATH = "/usr/local/bin:/usr/bin:/bin"


def options(tmp_path: Path, provider: Provider | None, *, window: int = 32_000, **more: Any) -> SessionOptions:
    """Return options for a project in `tmp_path`; without a provider the rehearsal answers."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    choice = ModelChoice(provider="rehearsal", window=window)
    if provider is not None:
        choice = ModelChoice(
            provider="openai-chat", model="scripted", base_url=f"{provider.base_url}/v1", window=window
        )
    made = SessionOptions(home=tmp_path / "home", cwd=project, choice=choice, environ={"PATH": PATH}, approve="all")
    return msgspec.structs.replace(made, **more)


@asynccontextmanager
async def session(given: SessionOptions) -> AsyncGenerator[tuple[Agent, Subscription]]:
    """Open a session; yields its agent and its events from the beginning."""
    async with open_session(given) as agent:
        yield agent, agent.subscribe()


async def said(agent: Agent, text: str) -> str:
    """Send `text` and return the reason its exchange settled with."""
    await agent.send(UserMessage((Text(text),)))
    return (await agent.settled()).reason


async def until(events: Subscription, wanted: Callable[[Any], bool]) -> Any:
    """Return the first event that `wanted` takes."""
    async for event in events:
        if wanted(event):
            return event
    raise AssertionError("the events ended")


async def path_of(agent: Agent) -> list[Entry]:
    """Return the whole path of the session as the log has it."""
    found: list[Entry] = []
    before = 1 << 30
    while before > 0 and (page := await agent.history_page(before, 100_000)):
        found[:0] = page
        before = page[0].depth
    return found


def kinds(entries: list[Entry]) -> list[str]:
    return [entry.kind for entry in entries]


def bodies(entries: list[Entry], kind: type[_B]) -> list[_B]:
    return [entry.body for entry in entries if isinstance(entry.body, kind)]


def bash(command: str, name: str = "") -> Call:
    return Call("bash", json.dumps({"command": command}), id=name)


def texts(request: Any) -> str:
    """Return everything a request says, as one text."""
    return json.dumps(request.body, ensure_ascii=False)
