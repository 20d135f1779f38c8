"""Puts a driver into a session's seat for runs, and finds it there again."""

from __future__ import annotations

import time

from tui.agent.agent import Agent
from tui.agent.session import SessionOptions
from tui.log import now_ms
from tui.runs.book import DriverParts
from tui.runs.checkout import Git
from tui.runs.driver import RunDriver

__all__ = ["attach_runs", "driver_of"]


async def attach_runs(agent: Agent, options: SessionOptions) -> None:
    """Give `agent` a driver, with the run its session has; nothing goes on by it. For `SessionOptions.attach`."""
    git = Git(options.cwd, {name: options.environ[name] for name in ("PATH", "HOME") if name in options.environ})
    driver = RunDriver(agent, DriverParts(git=git, now=now_ms, monotonic=time.monotonic))
    agent.dispatcher = driver
    await driver.book.load()


def driver_of(agent: Agent) -> RunDriver | None:
    """Return the session's driver; None where it was opened without one."""
    return agent.dispatcher if isinstance(agent.dispatcher, RunDriver) else None
