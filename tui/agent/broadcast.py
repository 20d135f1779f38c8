"""Events to any number of front ends: bounded by merging, never by blocking the agent."""

from __future__ import annotations

from collections import deque

import anyio

from tui.agent.events import AgentEvent, AnswerDelta, ThinkingDeltaShown, ToolProgress, UsageChanged

__all__ = ["Broadcast", "Subscription"]

_LIVE_LIMIT = 65_536
"""Characters of live tool output held for a slow consumer; older ones are dropped, the result has them all."""


def _merged(last: AgentEvent, new: AgentEvent) -> AgentEvent | None:
    """Return one event that says both, or None. Keeps a slow consumer's backlog short."""
    match last, new:
        case AnswerDelta(text=a), AnswerDelta(text=b):
            return AnswerDelta(a + b)
        case ThinkingDeltaShown(text=a), ThinkingDeltaShown(text=b):
            return ThinkingDeltaShown(a + b)
        case ToolProgress(call_id=one, text=a), ToolProgress(call_id=two, text=b) if one == two:
            return ToolProgress(one, (a + b)[-_LIVE_LIMIT:])
        case UsageChanged(), UsageChanged():
            return new
        case _:
            return None


class Subscription:
    """One consumer's events, in order. Iterate it, or `receive`; ends when the agent closes."""

    def __init__(self) -> None:
        self._events: deque[AgentEvent] = deque()
        self._ready = anyio.Event()
        self._closed = False

    def put(self, event: AgentEvent) -> None:
        """Add an event, merged into the last one where both say the same kind of thing."""
        merged = _merged(self._events[-1], event) if self._events else None
        if merged is None:
            self._events.append(event)
        else:
            self._events[-1] = merged
        self._ready.set()

    def close(self) -> None:
        """No more events come; what is there can still be read."""
        self._closed = True
        self._ready.set()

    async def receive(self) -> AgentEvent:
        """Return the next event. Raises `anyio.EndOfStream` after the last one."""
        while not self._events:
            if self._closed:
                raise anyio.EndOfStream
            self._ready = anyio.Event()
            await self._ready.wait()
        return self._events.popleft()

    def waiting(self) -> list[AgentEvent]:
        """Return, and take, the events that are there already."""
        events = list(self._events)
        self._events.clear()
        return events

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> AgentEvent:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Broadcast:
    """Sends each event to every subscription."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []

    def subscribe(self) -> Subscription:
        """Return a new subscription: it gets all events from now on."""
        subscription = Subscription()
        self._subscriptions.append(subscription)
        return subscription

    def emit(self, event: AgentEvent) -> None:
        """Give `event` to all; never waits."""
        for subscription in self._subscriptions:
            subscription.put(event)

    def close(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()
