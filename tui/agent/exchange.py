"""One exchange, from its prompt until it has settled: steers, request, stream, `Answer`, tools, and again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import msgspec

from tui.agent.collector import Collector
from tui.agent.compaction import Compaction
from tui.agent.events import (
    AgentEvent,
    AnswerDelta,
    AnswerStarted,
    PhaseChanged,
    RetryWaiting,
    Said,
    ThinkingDeltaShown,
    ToolCallGrowing,
)
from tui.agent.gate import Gate
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder, price
from tui.agent.settle import cut_calls, settled_by, settled_by_error, steers_due, stop_of
from tui.agent.toolrun import ToolRunner
from tui.context.gate import Verdict
from tui.log.entries import Answer, Settled
from tui.messages import AssistantMessage, StopReason, new_id
from tui.models.base import (
    AnswerEndless,
    Connecting,
    ContextTooLong,
    EmptyAnswer,
    Finished,
    ImageRejected,
    Model,
    ModelError,
    ModelEvent,
    StreamDropped,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from tui.models.retry import MAX_ATTEMPTS, Stop, Wait, decide

__all__ = ["Exchange", "ExchangeParts"]

SAVE_EVERY = 2.0
"""Seconds between saves of the growing answer."""
MOST_REASONING = 400_000
"""Characters of reasoning in one answer before anything else of it has come."""
CHARACTERS_PER_TOKEN = 8
"""Of output; real text has about four. What is longer than its limit by this has come from a server that keeps none."""
LEAST_BOUND = 200_000
"""Characters that are never called endless: a small limit may be counted in other ways."""
MOST_CUT_ANSWERS = 3
"""Answers in a row whose calls were cut by the output limit, before the exchange ends."""


_ENDINGS = {
    "handoff": "A handoff is pending: the conversation is compacted, and the work goes on from the note.",
    "needs-person": "The compaction settings are invalid: mend them, or take them out, to go on.",
    "context-full": (
        "The conversation was compacted again and again with no work between: it goes in circles. All is kept; say "
        "what to do next."
    ),
}


class ExchangeParts(msgspec.Struct, frozen=True):
    """What an exchange needs from its surroundings."""

    journal: Journal
    model: Callable[[], Model]
    """The model in force: it may change between requests."""
    requests: RequestBuilder
    compaction: Compaction
    gate: Gate
    tools: ToolRunner
    bound: Callable[[], Settled | None]
    """How the exchange ends where a run has reached a bound, or None."""
    emit: Callable[[AgentEvent], None]
    clock: Callable[[], float]
    """Monotonic seconds."""
    wall: Callable[[], float]
    """Seconds since 1970, for retry-after dates."""
    random: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


class _Attempt(msgspec.Struct, frozen=True):
    """How one request ended: the answer, or the error and what had come by then."""

    model: Model
    """The one that was asked: another may have been chosen meanwhile."""
    collector: Collector
    seconds: float
    error: ModelError | None = None


class Exchange:
    """Runs one exchange. Esc cancels `run` from outside; what was streamed is kept."""

    def __init__(self, parts: ExchangeParts) -> None:
        self._parts = parts
        self._cut = 0
        self._verdict = Verdict(())

    async def run(self) -> Settled:
        """Ask and run tools until the model has answered; return how it ended."""
        while True:
            await self._parts.journal.change(steers_due)
            ended = self._parts.bound() or await self._parts.gate.before_request()
            answer = ended or await self._answer()
            if isinstance(answer, Settled):
                return answer
            settled = await self._act(answer)
            if settled is not None:
                return settled

    async def _act(self, answer: AssistantMessage) -> Settled | None:
        """Do what the answer asks for; return how the exchange ended, or None where it goes on."""
        if not answer.calls:
            return await self._unless_steered(answer)
        if answer.stop is StopReason.LENGTH:
            self._cut += 1
            await self._parts.journal.append(*cut_calls(answer, self._parts.requests.output_limit))
            return settled_by(answer) if self._cut >= MOST_CUT_ANSWERS else None
        self._cut = 0
        if not answer.stop.is_complete:
            return settled_by(answer)
        verdict = self._verdict
        if verdict.run:
            self._parts.emit(PhaseChanged("tools"))
            await self._parts.tools.run(verdict.run)
        return Settled(verdict.ends, _ENDINGS[verdict.ends]) if verdict.ends else None

    async def _unless_steered(self, answer: AssistantMessage) -> Settled | None:
        """End here, unless a steer came while the answer was written: then it is delivered now."""
        if answer.stop is StopReason.COMPLETE and await self._parts.journal.change(steers_due):
            return None
        return settled_by(answer)

    async def _answer(self) -> AssistantMessage | Settled:
        """Return the next answer, after retries, or how the exchange ended without one."""
        attempt = 1
        while True:
            result = await self._attempt()
            if result.error is None and result.collector.finished is not None:
                answer = result.collector.finished
                await self._keep(answer, result)
                if answer.stop is not StopReason.EMPTY:
                    return answer
                error: ModelError = EmptyAnswer("The model answered with nothing.")
            else:
                error = result.error or StreamDropped("The answer ended without a terminal event.")
                await self._keep_partial(result, stop_of(error), str(error))
            settled = await self._after_error(error, attempt, begun=result.collector.started)
            if settled is not None:
                return settled
            attempt += 1

    async def _after_error(self, error: ModelError, attempt: int, *, begun: bool) -> Settled | None:
        """Wait and return None where the request is worth another try; else return how the exchange ended."""
        if isinstance(error, ContextTooLong):
            self._parts.requests.too_long(error, self._parts.model())
            return await self._parts.compaction.overflow(str(error))
        if isinstance(error, ImageRejected):
            line = self._parts.requests.pictures.refused(error, self._parts.model().info.id)
            if line:
                self._parts.emit(Said(line))
                return None
        if isinstance(error, EmptyAnswer) and attempt > 1:
            return settled_by_error(_empty(error, attempt))
        match decide(error, attempt, self._parts.random(), self._parts.wall(), partial=begun):
            case Stop(reason=reason):
                return settled_by_error(error, reason)
            case Wait(seconds=seconds):
                self._parts.emit(RetryWaiting(reason=str(error), attempt=attempt, of=MAX_ATTEMPTS, seconds=seconds))
                self._parts.emit(PhaseChanged("retrying", str(error)))
                await self._parts.sleep(seconds)
                return None

    async def _attempt(self) -> _Attempt:
        """Send one request and read its stream. On a cancel what came is kept as an interrupted answer."""
        model = self._parts.model()
        collector = Collector(model.info.id, model.info.provider)
        began = self._parts.clock()
        error: ModelError | None = None
        try:
            request = await self._parts.requests.build(model, self._parts.gate.guidance())
            self._parts.emit(PhaseChanged("requesting"))
            self._parts.emit(AnswerStarted(new_id()))
            async with model.stream(request) as events:
                await self._read(events, collector)
        except ModelError as caught:
            error = caught
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._keep_partial(_Attempt(model, collector, self._parts.clock() - began), StopReason.ABORTED)
            raise
        return _Attempt(model, collector, self._parts.clock() - began, error)

    async def _read(self, events: AsyncIterator[ModelEvent], collector: Collector) -> None:
        saved = self._parts.clock()
        async for event in events:
            phase_before = collector.started
            collector.add(event)
            self._show(event, first=not phase_before)
            self._bounded(collector)
            now = self._parts.clock()
            if now - saved >= SAVE_EVERY and not isinstance(event, Finished):
                saved = now
                await self._save_growing(collector)

    def _bounded(self, collector: Collector) -> None:
        """Stop what has no end: reasoning that goes round in circles keeps every other timer quiet (hermes#29796)."""
        most = max(LEAST_BOUND, self._parts.requests.output_limit * CHARACTERS_PER_TOKEN)
        if collector.length > most:
            raise AnswerEndless(
                f"The answer was stopped after {collector.length:,} characters, far more than the request allowed. "
                "What came is kept. Send a prompt to go on, or choose another model."
            )
        if not collector.answering and collector.length > MOST_REASONING:
            raise AnswerEndless(
                f"The model reasoned for {collector.length:,} characters without an answer and was stopped. What came "
                "is kept. Ask for something smaller, lower `effort`, or choose another model."
            )

    def _show(self, event: ModelEvent, *, first: bool) -> None:
        emit = self._parts.emit
        match event:
            case TextDelta(text=text):
                if first:
                    emit(PhaseChanged("answering"))
                emit(AnswerDelta(text))
            case ThinkingDelta(text=text):
                if first:
                    emit(PhaseChanged("thinking"))
                emit(ThinkingDeltaShown(text))
            case ToolCallDelta(index=index, name=name, text=text):
                emit(ToolCallGrowing(index, name, text))
            case Connecting() | Finished():
                pass

    async def _save_growing(self, collector: Collector) -> None:
        """Save what has come so far, so that a crash loses two seconds at the most; never sent anywhere."""
        partial = collector.partial(StopReason.DROPPED, "The program ended while this was written.")
        with anyio.CancelScope(shield=True):
            await self._parts.journal.log.set_partial(msgspec.json.encode(partial))

    async def _keep(self, answer: AssistantMessage, attempt: _Attempt) -> None:
        """Make an answer durable, and learn from its report."""
        requests, model = self._parts.requests, attempt.model
        cost = price(answer.usage, model.info)
        acts = bool(answer.calls) and answer.stop.is_complete
        self._verdict = self._parts.gate.judge(answer.calls) if acts else Verdict(())
        spent, seconds = requests.spent(cost), round(attempt.seconds, 3)
        kept = Answer(answer, estimate=requests.estimate, seconds=seconds, cost=cost, spent=spent)
        await self._parts.journal.append(kept, *self._verdict.append)
        requests.answered(answer, model)
        self._parts.emit(requests.usage(self._parts.model()))

    async def _keep_partial(self, attempt: _Attempt, stop: StopReason, error: str = "") -> None:
        """Keep the text of a broken answer, marked. A request that gave nothing leaves nothing (pi#9112)."""
        partial = attempt.collector.partial(stop, error)
        if partial.content:
            cost = price(None, attempt.model.info)
            spent, seconds = self._parts.requests.spent(cost), round(attempt.seconds, 3)
            await self._parts.journal.append(Answer(partial, seconds=seconds, cost=cost, spent=spent))


def _empty(error: ModelError, times: int) -> EmptyAnswer:
    return EmptyAnswer(f"{error} It was asked {times} times. Change the prompt, or send it again.")
