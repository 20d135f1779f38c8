"""A long list with many handoffs, unattended: every few items the model hands over in the middle of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agent.handoffs import compact, is_summary
from tests.runs.support import Hands, begun, call, driven, newest_item, plan_of, run_options, serving
from tests.support.provider import Received, Reply
from tui.runs.state import RunState


class Handing(Hands):
    """Hands that hand over in the middle of every `every`th item: the work is done, and not yet said."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self._every = every
        self._handed: set[int] = set()

    def __call__(self, received: Received) -> Reply:
        number, since = newest_item(received)
        turn = sum(message["role"] == "assistant" for message in since)
        if is_summary(received) or not number or number % self._every:
            return super().__call__(received)
        if number not in self._handed and turn == 0:
            self.items.append(number)
            words = "The work is told about at length. " * 900
            return Reply(text=words, piece=4_000, calls=(call("bash", command=f"touch item-{number}"),))
        if number not in self._handed:
            self._handed.add(number)
            return Reply(calls=(compact(f"item {number} is made, say so"),))
        said = any(part.get("name") == "item_ready" for m in since for part in _calls(m))
        return Reply(text="Done.") if said else Reply(calls=(call("item_ready", evidence="made before"),))


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = message.get("tool_calls") or []
    return [one["function"] for one in calls]


async def fifty(folder: Path, count: int, every: int) -> RunState:
    """Work through `count` items; return the state at the end."""
    async with serving(Handing(every)) as provider, driven(run_options(folder, provider)) as (_, driver):
        return await begun(driver, plan_of(count))
