"""Runs one exchange without a screen: opens the session, sends the message, follows it to its end.

SIGINT, SIGTERM and SIGHUP interrupt the exchange; a second one leaves at once. What was said is kept
either way.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import anyio
import anyio.abc
import msgspec

from tui.agent.agent import Agent, AgentStoppedError
from tui.agent.broadcast import Subscription
from tui.agent.events import AgentEvent, ApprovalAsked, PhaseChanged, UsageChanged
from tui.agent.session import SessionOptions, open_session
from tui.headless.outcome import Ended, Exchanged, Exit, Opened, status_of
from tui.headless.planned import PlanWork
from tui.headless.sinks import Sink
from tui.log.entries import Settled
from tui.log.errors import LogError, NothingToContinue
from tui.messages import UserMessage
from tui.models.base import ModelError
from tui.models.factory import unconnected
from tui.streams import say

__all__ = ["Headless", "run"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOBODY = "There is nobody to ask in this mode; --approve edits or --approve all allows it."
_GONE = "The reader of the output has gone, so the exchange was stopped. What was said is kept."


class Headless(msgspec.Struct, frozen=True):
    """One call of print or JSON mode."""

    options: SessionOptions
    message: UserMessage | PlanWork
    """What is sent, or the plan that is worked through."""
    sink: Sink
    usage: Callable[[UsageChanged], str] | None = None
    """Says how full the context is, for `--verbose`."""


def run(call: Headless) -> Exit:
    """Run one exchange in an event loop of its own; return its exit status."""
    return anyio.run(_Run(call).main)


class _Run:
    """One exchange, and the signals that end it."""

    def __init__(self, call: Headless) -> None:
        self._call = call
        self._agent: Agent | None = None
        self._exchanged = Exchanged()
        self._usage: UsageChanged | None = None
        self._gone = False
        self._unasked = False
        """Nothing was asked: the call itself could not be meant."""
        self._settled = Settled("interrupted", "Stopped at once.")
        self._stopped = False
        self._problem = ""
        """Why tools are shut; empty where they are not."""
        self._pending = ""
        """How to go on with a handoff that was left; empty where none was."""

    async def main(self) -> Exit:
        """Return the exit status."""
        try:
            async with anyio.create_task_group() as group:
                await group.start(self._watch, group)
                await self._session()
                group.cancel_scope.cancel()
        except* NothingToContinue as errors:
            self._settled = Settled("error", " ".join(str(error) for error in _flat(errors)))
            self._unasked = True
        except* (LogError, ModelError, AgentStoppedError, OSError) as errors:
            self._settled = Settled("error", " ".join(str(error) for error in _flat(errors)))
        return self._end(self._settled)

    def _end(self, settled: Settled) -> Exit:
        status = Exit.USAGE if self._unasked else status_of(settled, refused=self._exchanged.refused)
        if self._usage is not None and self._call.usage is not None:
            say(self._call.usage(self._usage))
        if self._problem and self._problem not in settled.detail:
            say(self._problem)
        if self._pending:
            say(self._pending)
        whole = isinstance(self._call.message, PlanWork)
        self._write(lambda: self._call.sink.end(Ended(status, settled, self._exchanged.text, whole)))
        return Exit.ERROR if self._gone else status

    async def _watch(
        self, group: anyio.abc.TaskGroup, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        asked = False
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            task_status.started()
            async for _ in signals:
                if asked or self._agent is None:
                    group.cancel_scope.cancel()
                else:
                    asked = self._stopped = True
                    self._agent.saver.stop()
                    group.start_soon(self._agent.interrupt)

    async def _session(self) -> None:
        options = self._call.options
        async with open_session(options, report=say) as agent:
            events = agent.subscribe()
            if agent.usage.thresholds is None:
                self._problem = agent.usage.problem
            alone = unconnected(options.wanted, options.environ)
            opened = Opened(agent.session_id, options.cwd, agent.model_info, options.persist, alone)
            self._write(lambda: self._call.sink.begin(opened))
            refused = await _begin(agent, self._call.message)
            if refused is not None:
                self._settled = refused
                return
            self._agent = agent
            async for event in events:
                self._see(agent, event)
                if self._gone or (isinstance(event, PhaseChanged) and event.phase == "idle" and agent.idle):
                    break
            if self._gone:
                await agent.interrupt()
            self._settled = await agent.settled()
            self._pending = pending_note(agent, persisted=options.persist)
            if isinstance(self._call.message, PlanWork):
                self._exchanged.text = self._call.message.text(agent)
                self._settled = self._call.message.ending(agent, self._settled)
            if not self._gone and not self._stopped and self._settled.reason == "answered":
                await self._save(agent, events)

    async def _save(self, agent: Agent, events: Subscription) -> None:
        """Save a summary for next time, where that is worth it; the answer and the status are as they are."""
        await agent.saver.save()
        for event in events.waiting():
            self._see(agent, event)

    def _see(self, agent: Agent, event: AgentEvent) -> None:
        self._exchanged.see(event)
        if isinstance(event, UsageChanged):
            self._usage = event
        if isinstance(event, ApprovalAsked):
            agent.answer(event.call_id, allowed=False, reason=_NOBODY)
        self._write(lambda: self._call.sink.event(event))

    def _write(self, write: Callable[[], None]) -> None:
        """Write to the sink until its reader has gone; then say so, once."""
        if self._gone:
            return
        try:
            write()
        except BrokenPipeError:
            self._gone = True
            say(_GONE)


async def _begin(agent: Agent, message: UserMessage | PlanWork) -> Settled | None:
    """Send the message, or begin the plan; return why nothing was done, or None."""
    if isinstance(message, PlanWork):
        return await message.begin(agent)
    await agent.send(message, "follow-up")  # behind what the session still has to do
    return None


def pending_note(agent: Agent, *, persisted: bool) -> str:
    """Return how to go on with a handoff that is left in the middle; empty where none is."""
    if not agent.compaction.locked:
        return ""
    if not persisted:
        return "A handoff is left unfinished, and with --no-session nothing of it is kept."
    waits = f" What waits is kept too ({len(agent.queue)})." if agent.queue else ""
    name = agent.session_id
    return f"The handoff and its note are kept.{waits} Go on: clew -r {name}  Look at it: clew info {name}"


def _flat(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flat(error)
        else:
            yield error
