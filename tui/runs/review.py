"""The reviewer: a model with fresh eyes, tools that only read, and one way to answer.

It sees the item, what the agent says, the diff since the item began, what the checks printed, and which test
and check files changed: those that could make a check pass without the work being done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tui.agent.collector import Collector
from tui.agent.requests import price
from tui.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, ToolSpec, UserMessage, clean
from tui.models.base import Model, ModelError, Request
from tui.runs.plan import PlanItem
from tui.runs.preconditions import shown_command
from tui.runs.state import ItemState
from tui.tools.base import Outcome, Tool, ToolContext, ToolError
from tui.tools.find import FIND
from tui.tools.grep import GREP
from tui.tools.ls import LS
from tui.tools.read import READ
from tui.tools.registry import guarded
from tui.tools.schema import check

__all__ = ["Case", "NoReview", "Opinion", "Reviewer", "case_text", "touched_checks"]

MOST_DIFF = 40_000
"""Characters of the diff a reviewer is given; the rest it can read in the files."""
MOST_ROUNDS = 30
_SYSTEM = """\
You review one piece of finished work with fresh eyes. You can read the project's files and change nothing. Accept it
only if the diff does what the item asks, whole and right, and nothing besides. Be wary of changed tests, checks and
settings: a check that was weakened proves nothing. Answer by calling `review` once: accept true, or false with
reasons that say exactly what is to be mended."""
_REVIEW = ToolSpec(
    name="review",
    description="Give your verdict on the work: accept it, or ask for a revision with reasons.",
    parameters={
        "type": "object",
        "properties": {
            "accept": {"type": "boolean", "description": "Whether the work is accepted."},
            "reasons": {"type": "string", "description": "Why; for a revision, exactly what is to be mended."},
        },
        "required": ["accept", "reasons"],
        "additionalProperties": False,
    },
)
_TESTS = re.compile(
    r"(?i)(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)(?:test_[^/]*|[^/]*_test\.\w+|[^/]*\.(?:test|spec)\.\w+|conftest\.py)$"
    r"|(?:^|/)(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|package\.json|Makefile|noxfile\.py)$"
)


class Case(msgspec.Struct, frozen=True):
    """What a reviewer is shown."""

    planned: PlanItem
    item: ItemState
    diff: str
    changed: tuple[str, ...]
    """Paths the diff touches."""


class Opinion(msgspec.Struct, frozen=True):
    """A reviewer's answer."""

    accept: bool
    reasons: str
    cost: float = 0.0


class NoReview(Exception):
    """There is no opinion; says nothing about the work. `str()` is one sentence."""


def touched_checks(planned: PlanItem, changed: Sequence[str]) -> tuple[str, ...]:
    """Return the changed files that tests and checks are made of."""
    words = {word.partition("::")[0].removeprefix("./") for words in planned.checks for word in words}
    return tuple(path for path in changed if _TESTS.search(path) or path in words)


def case_text(case: Case) -> str:
    """Return the one message a reviewer gets."""
    touched = touched_checks(case.planned, case.changed)
    diff = case.diff if len(case.diff) <= MOST_DIFF else f"{case.diff[:MOST_DIFF]}\n[cut: read the files for the rest]"
    outputs = [f"$ {shown_command(run.command)}  exit {run.exit}\n{run.tail}" for run in case.item.evidence]
    parts = [
        f"THE ITEM\n{case.planned.text}",
        f"WHAT THE AGENT SAYS\n{case.item.said or '(nothing)'}",
        "CHECKS, all passed\n" + ("\n\n".join(outputs) or "(there are none)"),
        "TEST AND CHECK FILES THAT CHANGED\n" + ("\n".join(touched) or "none"),
        f"THE DIFF SINCE THE ITEM BEGAN\n{diff or '(no difference that git knows of)'}",
    ]
    return "\n\n".join(parts)


class Reviewer:
    """Asks a model for one opinion."""

    def __init__(self, model: Model, ctx: ToolContext) -> None:
        self._model = model
        self._ctx = ctx
        self._tools: dict[str, Tool] = {tool.spec.name: guarded(tool) for tool in (READ, GREP, FIND, LS)}
        self._cost = 0.0

    async def judge(self, case: Case) -> Opinion:
        """Return the opinion. Raises `NoReview` where there is none; cancelling ends the request."""
        messages: list[Message] = [UserMessage((Text(clean(case_text(case))),))]
        for _ in range(MOST_ROUNDS):
            answer = await self._ask(messages)
            opinion = _opinion(answer)
            if opinion is not None:
                return msgspec.structs.replace(opinion, cost=self._cost)
            messages.append(answer)
            messages += [await self._result(call) for call in answer.calls]
            if not answer.calls:
                messages.append(UserMessage((Text("Answer by calling `review`, once, with accept and reasons."),)))
        raise NoReview(f"the reviewer gave no verdict in {MOST_ROUNDS} answers")

    async def _ask(self, messages: Sequence[Message]) -> AssistantMessage:
        tools = (*(tool.spec for tool in self._tools.values()), _REVIEW)
        request = Request(_SYSTEM, tuple(messages), tools, min(8_192, self._model.info.max_output))
        collector = Collector(self._model.info.id, self._model.info.provider)
        try:
            async with self._model.stream(request) as events:
                async for event in events:
                    collector.add(event)
        except ModelError as error:
            raise NoReview(f"the reviewer could not be asked: {error}") from error
        answer = collector.finished
        if answer is None or not answer.stop.is_complete or not answer.content:
            raise NoReview("the reviewer's answer was not complete")
        self._cost += price(answer.usage, self._model.info) or 0.0
        return answer

    async def _result(self, call: ToolCall) -> ToolResult:
        tool = self._tools.get(call.name)
        problem = call.error or (check(tool.spec.parameters, call.arguments) if tool else "there is no such tool here")
        if tool is None or problem:
            return ToolResult(call_id=call.id, name=call.name, content=(Text(problem),), is_error=True)
        try:
            outcome = await self._read(tool, call)
        except ToolError as error:
            outcome = Outcome(str(error), is_error=True)
        return ToolResult(call_id=call.id, name=call.name, content=(Text(outcome.text),), is_error=outcome.is_error)

    async def _read(self, tool: Tool, call: ToolCall) -> Outcome:
        preview = await tool.preview(self._ctx, call.arguments)
        if preview.error or preview.outside:
            return Outcome(preview.error or "Only files of the project can be read here.", is_error=True)
        return await tool.run(self._ctx, call.arguments)


def _opinion(answer: AssistantMessage) -> Opinion | None:
    """Return the verdict of an answer; one that cannot be read is none."""
    for call in answer.calls:
        if call.name == "review" and not call.error and not check(_REVIEW.parameters, call.arguments):
            return Opinion(call.arguments["accept"] is True, clean(str(call.arguments["reasons"])))
    return None
