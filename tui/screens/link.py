"""The screen's line to its session: each request runs in the session's own task group and nowhere else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from tui.agent.agent import Agent

__all__ = ["SessionLink"]


class SessionLink:
    """Asks the agent for things, one task for each; what cannot be done is told as one line."""

    def __init__(self, agent: Agent, group: TaskGroup, complain: Callable[[str], None]) -> None:
        self.agent = agent
        self._group = group
        self._complain = complain

    def do(self, ask: Callable[[Agent], Awaitable[object]], failed: Callable[[], None] | None = None) -> None:
        """Run `ask` beside the session. `failed` is called where it could not be done."""
        self._group.start_soon(self._ask, ask, failed)

    async def _ask(self, ask: Callable[[Agent], Awaitable[object]], failed: Callable[[], None] | None) -> None:
        from tui.agent.agent import AgentStoppedError
        from tui.log.errors import LogError
        from tui.models.base import ModelError

        try:
            await ask(self.agent)
        except (AgentStoppedError, LogError, ModelError) as error:
            self._complain(str(error))
            if failed is not None:
                failed()
