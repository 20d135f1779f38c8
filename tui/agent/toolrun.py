"""Runs the calls of one answer: in parallel, each journalled before it starts and as soon as *it* ends.

    check name and arguments → preview → permission (→ person) → ToolStarted → run → Result

Whatever happens on the way, each call gets exactly one result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal

import anyio
import msgspec

from tui.agent.approvals import Approvals
from tui.agent.events import AgentEvent, PhaseChanged, Said, ToolProgress
from tui.context.view import EFFECTS_UNKNOWN, NOT_STARTED
from tui.log import DuplicateResult
from tui.log.entries import Approved, Result, ToolStarted
from tui.messages import Image, Text, ToolCall, ToolResult, clean
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.permissions import Allow, Ask, Refuse, suggest
from tui.tools.schema import check

__all__ = ["ToolRunner", "ToolRunnerParts", "broken_off", "progress_sink", "refused"]

Refusal = Literal["denied", "not-started", "unknown", "bad-arguments", "handoff", "hard", "invalid-config"]


class _RefusedError(Exception):
    def __init__(self, text: str, why: Refusal) -> None:
        super().__init__(text)
        self.why: Refusal = why


class ToolRunnerParts(msgspec.Struct, frozen=True):
    """What the runner needs from its surroundings."""

    tools: tuple[Tool, ...]
    append: Callable[..., Awaitable[object]]
    """Makes bodies durable in one transaction, shielded from cancellation."""
    emit: Callable[[AgentEvent], None]
    approvals: Approvals
    judge: Callable[[Preview], Allow | Ask | Refuse]
    context: Callable[[str], ToolContext]
    """The context for a call id."""
    put_blob: Callable[[bytes], Awaitable[str]]
    learn_rule: Callable[[str], None]
    clock: Callable[[], float]
    interactive: bool
    """Whether there is a person to ask."""


def refused(call: ToolCall, text: str, why: Refusal) -> Result:
    """Return the one result of a call that did not run."""
    message = ToolResult(call_id=call.id, name=call.name, content=(Text(text),), is_error=True)
    return Result(message=message, refused=why)


def broken_off(call: ToolCall, output: str = "") -> Result:
    """Return the one result of a call that was running when it was stopped, with what it had printed."""
    text = f"{clean(output)}\n[{EFFECTS_UNKNOWN}]" if output.strip() else EFFECTS_UNKNOWN
    return refused(call, text, "unknown")


class ToolRunner:
    """Runs batches of calls; one per agent."""

    def __init__(self, parts: ToolRunnerParts) -> None:
        self._parts = parts
        self._tools = {tool.spec.name: tool for tool in parts.tools}
        self._locks: dict[str, anyio.Lock] = {}

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Run all calls; returns when each has its result. Cancelling gives the unfinished ones theirs."""
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(self._one, call)

    async def _one(self, call: ToolCall) -> None:
        state = _Running(call, self._parts)
        try:
            tool = self._check(call)
            async with self._order(tool, call):
                await self._allowed(tool, call)
                await state.started()
                result = await self._run(tool, call, state.leave)
        except _RefusedError as refusal:
            result = refused(call, str(refusal), refusal.why)
        except anyio.get_cancelled_exc_class():
            await state.interrupted()
            raise
        await state.ended(result)

    def _check(self, call: ToolCall) -> Tool:
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(self._tools)
            raise _RefusedError(
                f"There is no tool named {call.name!r}. Nothing was run. The tools are: {names}.", "bad-arguments"
            )
        problem = call.error or check(tool.spec.parameters, call.arguments)
        if problem:
            raise _RefusedError(f"The call was not run: {problem}", "bad-arguments")
        return tool

    def _order(self, tool: Tool, call: ToolCall) -> anyio.Lock:
        """Edits of one file run one after another, in the order of the calls; everything else runs at once."""
        path = call.arguments.get("path")
        if tool.effect is not Effect.EDIT or not isinstance(path, str):
            return anyio.Lock()
        try:
            key = str((self._parts.context(call.id).cwd / path).resolve())
        except (OSError, ValueError, RuntimeError):
            key = path
        return self._locks.setdefault(key, anyio.Lock())

    async def _allowed(self, tool: Tool, call: ToolCall) -> None:
        try:
            preview = await tool.preview(self._parts.context(call.id), call.arguments)
        except ToolError as error:
            raise _RefusedError(clean(str(error)), "bad-arguments") from error
        except Exception as error:  # as with `run`: the model's to hear, never the session's end
            text = f"The call was not run: {type(error).__name__}: {error}"
            raise _RefusedError(clean(text), "bad-arguments") from error
        if preview.error:
            raise _RefusedError(preview.error, "bad-arguments")
        if self._judge(preview) is None:
            return
        async with self._parts.approvals.turn:
            verdict = self._judge(preview)  # what was said to those before may have made the question needless
            if verdict is not None:
                await self._ask(call, preview, verdict)

    def _judge(self, preview: Preview) -> Ask | None:
        """Return what must be asked, or None where the call may run."""
        verdict = self._parts.judge(preview)
        if isinstance(verdict, Refuse):
            raise _RefusedError(f"Not allowed: {verdict.reason} Nothing was run.", "denied")
        return verdict if isinstance(verdict, Ask) else None

    async def _ask(self, call: ToolCall, preview: Preview, verdict: Ask) -> None:
        if not self._parts.interactive:
            how = f"with --approve {verdict.mode}" if verdict.mode else "in the app alone, once or by a rule"
            raise _RefusedError(
                f"Refused: {verdict.reason} There is nobody to ask in this mode, and nothing was run. "
                f"The person can allow it {how}.",
                "denied",
            )
        self._parts.emit(PhaseChanged("approval", call.name))
        decision = await self._parts.approvals.ask(call.id, call.name, preview, suggest(preview))
        self._parts.emit(PhaseChanged("tools"))
        await self._parts.append(
            Approved(call_id=call.id, allowed=decision.allowed, rule=decision.rule, reason=decision.reason)
        )
        if not decision.allowed:
            said = f" They said: {decision.reason}" if decision.reason else ""
            raise _RefusedError(f"The person refused this call; nothing was run.{said}", "denied")
        if decision.rule:
            self._learn(decision.rule)

    def _learn(self, rule: str) -> None:
        """Keep a rule. The person has allowed this call, so it runs even where the rule cannot be kept."""
        try:
            self._parts.learn_rule(rule)
        except (ToolError, OSError) as error:
            self._parts.emit(Said(f"{error} You will be asked again."))

    async def _run(self, tool: Tool, call: ToolCall, leave: Callable[[Outcome], None]) -> Result:
        context = msgspec.structs.replace(self._parts.context(call.id), leave=leave)
        try:
            outcome = await tool.run(context, call.arguments)
        except ToolError as error:
            outcome = Outcome(text=str(error), is_error=True)
        except Exception as error:  # whatever a tool raises is the model's to hear, never the session's end
            outcome = Outcome(text=f"The tool failed: {type(error).__name__}: {error}", is_error=True)
        images: list[Image] = []
        blob = ""
        with anyio.CancelScope(shield=True):  # a finished tool's result wins over an Esc (oh-my-pi#5997)
            for image, data in outcome.images:
                await self._parts.put_blob(data)
                images.append(image)
            blob = await self._parts.put_blob(outcome.full) if outcome.full else ""
        text = clean(outcome.text) or "(no output)"
        message = ToolResult(call_id=call.id, name=call.name, content=(Text(text), *images), is_error=outcome.is_error)
        return Result(message=message, details=outcome.details, blob=blob)


class _Running:
    """One call's way through the journal: started once, ended once."""

    def __init__(self, call: ToolCall, parts: ToolRunnerParts) -> None:
        self._call = call
        self._parts = parts
        self._since: float | None = None
        self._done = False
        self._left = Outcome("")

    async def started(self) -> None:
        await self._parts.append(ToolStarted(call_id=self._call.id, name=self._call.name))
        self._since = self._parts.clock()

    async def ended(self, result: Result) -> None:
        seconds = 0.0 if self._since is None else round(self._parts.clock() - self._since, 3)
        with anyio.CancelScope(shield=True):
            with suppress(DuplicateResult):  # the first durable one wins; a late one is dropped (dsh-desktop#114)
                await self._parts.append(msgspec.structs.replace(result, seconds=seconds))
            self._done = True

    def leave(self, outcome: Outcome) -> None:
        """Take what a tool had given when it was stopped."""
        self._left = outcome

    async def interrupted(self) -> None:
        if self._done:
            return
        if self._since is None:
            await self.ended(refused(self._call, NOT_STARTED, "not-started"))
            return
        left = self._left
        result = msgspec.structs.replace(broken_off(self._call, left.text), details=left.details)
        with anyio.CancelScope(shield=True):
            if left.full:
                result = msgspec.structs.replace(result, blob=await self._parts.put_blob(left.full))
            await self.ended(result)


def progress_sink(emit: Callable[[AgentEvent], None], call_id: str) -> Callable[[str], None]:
    """Return the function a tool reports its live output to."""

    def report(text: str) -> None:
        emit(ToolProgress(call_id, text))

    return report
