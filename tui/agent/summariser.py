"""Asks a model for a summary: part by part, bounded in time and length, never with tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import msgspec

from tui.agent.collector import Collector
from tui.context.checkpoint import SUMMARY_LIMIT
from tui.context.summary import (
    IDLE_SECONDS,
    TOTAL_SECONDS,
    Accepted,
    Rejected,
    SummaryJob,
    halved,
    judge_summary,
    summary_message,
    total_seconds,
)
from tui.messages import AssistantMessage, StopReason, Usage
from tui.models.base import ContextTooLong, Model, ModelError, Request, StreamStalled
from tui.models.retry import Wait, decide

__all__ = ["Summarised", "Summariser", "SummaryLimits"]


class SummaryLimits(msgspec.Struct, frozen=True):
    """How long one summary request may take."""

    idle: float = IDLE_SECONDS
    """Seconds without a byte."""
    total: float = TOTAL_SECONDS
    """Seconds in all; servers on this machine or on a private network, which may be slow, are not held to it."""


class Summarised(msgspec.Struct, frozen=True):
    """What became of a summary, with the tokens of all its requests."""

    verdict: Accepted | Rejected
    usage: Usage
    seconds: float
    too_long: ContextTooLong | None = None
    """The server's refusal, where a request did not fit its window after all."""


class Summariser:
    """Runs the requests of one summary after another. Cancelling `run` ends the call that is under way."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        random: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        limits: SummaryLimits,
        tell: Callable[[str], None],
    ) -> None:
        """`tell` takes what is done now, in a few words for the person."""
        self._clock = clock
        self._wall = wall
        self._random = random
        self._sleep = sleep
        self._limits = limits
        self._tell = tell
        self._usage = Usage()
        self._too_long: ContextTooLong | None = None

    async def run(self, job: SummaryJob, model: Model, session_id: str) -> Summarised:
        """Return the summary of all parts, or why there is none; never raises a `ModelError`."""
        began, self._usage, self._too_long = self._clock(), Usage(), None
        so_far = ""
        verdict: Accepted | Rejected = Rejected("empty")
        for part in range(len(job.parts)):
            self._tell(f"part {part + 1} of {len(job.parts)}" if len(job.parts) > 1 else "")
            verdict = await self._part(job, part, so_far, model, session_id)
            if isinstance(verdict, Rejected):
                break
            so_far = verdict.text
        return Summarised(verdict, self._usage, round(self._clock() - began, 3), self._too_long)

    async def _part(
        self, job: SummaryJob, part: int, so_far: str, model: Model, session_id: str
    ) -> Accepted | Rejected:
        """Return one part's summary; truncated or over-long, it is asked for once more at half the length."""
        verdict = await self._asked(job, part, so_far, model, session_id)
        if isinstance(verdict, Rejected) and verdict.again:
            verdict = await self._asked(halved(job), part, so_far, model, session_id)
        return verdict

    async def _asked(
        self, job: SummaryJob, part: int, so_far: str, model: Model, session_id: str
    ) -> Accepted | Rejected:
        request = Request(
            system=job.system,
            messages=(summary_message(job, part, so_far),),
            max_output=min(job.max_output, model.info.max_output),
            session_id=session_id,
            idle=self._limits.idle,
        )
        attempt = 1
        while True:
            try:
                with anyio.fail_after(total_seconds(model.info.base_url, self._limits.total)):
                    answer = await self._stream(request, model)
            except TimeoutError:
                return Rejected("timeout", "the time for one summary request is over")
            except ModelError as error:
                again = decide(error, attempt, self._random(), self._wall())
                if not isinstance(again, Wait) or isinstance(error, StreamStalled):  # it had its time
                    return self._failed(error)
                attempt += 1
                self._tell(f"trying again in {again.seconds:.0f} s: {error}")
                await self._sleep(again.seconds)
                continue
            return judge_summary(answer, job)

    def _failed(self, error: ModelError) -> Rejected:
        if isinstance(error, ContextTooLong):
            self._too_long = error
            return Rejected("does-not-fit", str(error))
        return Rejected("timeout" if isinstance(error, StreamStalled) else "provider-failure", str(error))

    async def _stream(self, request: Request, model: Model) -> AssistantMessage:
        collector = Collector(model.info.id, model.info.provider)
        async with model.stream(request) as events:
            async for event in events:
                collector.add(event)
                if collector.length > SUMMARY_LIMIT * 2:  # it never ends: what it says is not read on
                    return collector.partial(StopReason.LENGTH, "It did not come to an end.")
        answer = collector.finished or collector.partial(StopReason.DROPPED, "The stream just ended.")
        if answer.usage is not None:
            self._usage = _added(self._usage, answer.usage)
        return answer


def _added(one: Usage, two: Usage) -> Usage:
    return Usage(
        input=one.input + two.input,
        cache_read=one.cache_read + two.cache_read,
        cache_write=one.cache_write + two.cache_write,
        output=one.output + two.output,
    )
