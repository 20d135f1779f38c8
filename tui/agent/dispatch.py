"""The seat of a run in the agent: what the loop, the exchange and a tool ask of whoever works through a list.

The layer above sits there; without one nobody does, and `item_ready` says so.
"""

from __future__ import annotations

from typing import Protocol

from tui.log.entries import Settled
from tui.tools.base import ToolError

__all__ = ["NO_RUN", "Dispatcher", "Nobody"]

NO_RUN = "No run is active: there is no item to be ready with. Nothing was done."


class Dispatcher(Protocol):
    """Who gives the agent its next item. Raises nothing but `LogError`, which stops the agent."""

    async def authored(self) -> None:
        """Take note that a person wrote: nothing goes on by itself until they say so."""
        ...

    async def stopped(self) -> None:
        """Take note that a person stopped the agent."""
        ...

    async def moved(self) -> None:
        """Take note that the leaf was moved."""
        ...

    async def settled(self, settled: Settled) -> None:
        """Take note of how an exchange ended, and schedule what may come next."""
        ...

    async def dispatch(self) -> bool:
        """Do what was scheduled; True where a message for the agent is durable and its exchange is to be run."""
        ...

    def before_request(self) -> Settled | None:
        """Return how the running exchange ends where it has reached a bound, or None."""
        ...

    async def ready(self, evidence: str, /) -> str:
        """Take the agent's word that its item is ready; return what to tell it. Raises `ToolError` outside a run."""
        ...

    async def close(self) -> None:
        """Take note that the session is left."""
        ...


class Nobody:
    """No run."""

    async def authored(self) -> None:
        """Do nothing."""

    async def stopped(self) -> None:
        """Do nothing."""

    async def moved(self) -> None:
        """Do nothing."""

    async def settled(self, settled: Settled) -> None:
        """Do nothing."""

    async def dispatch(self) -> bool:
        """Have nothing."""
        return False

    def before_request(self) -> Settled | None:
        """Know no bound."""
        return None

    async def ready(self, _evidence: str, /) -> str:
        """Say that there is no run."""
        raise ToolError(NO_RUN)

    async def close(self) -> None:
        """Do nothing."""
