"""Drives the model with real tools on a real folder: the smallest loop that is still an agent."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tui.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, ToolSpec, UserMessage
from tui.models.base import Finished, Model, ModelEvent, Request
from tui.models.rehearsal import RehearsalModel
from tui.tools.base import Outcome, Tool, ToolContext, ToolError
from tui.tools.registry import standard_tools

SYSTEM = "You are a careful assistant in a terminal. Work only in the project folder."
TOOLS: Mapping[str, Tool] = {tool.spec.name: tool for tool in standard_tools()}
SELF_COMPACT = ToolSpec(
    name="self_compact",
    description="Hand over to yourself.",
    parameters={"type": "object", "properties": {"note_to_self": {"type": "string"}}, "required": ["note_to_self"]},
)


def counter() -> Callable[[], str]:
    """Return ids that are the same in each run."""
    numbers = itertools.count(1)
    return lambda: f"call-{next(numbers)}"


def fast(window: int = 200_000) -> RehearsalModel:
    """Return a model that does not wait."""
    return RehearsalModel(window=window, pace=0, ids=counter())


async def events_of(model: Model, request: Request) -> list[ModelEvent]:
    """Return all events of one answer."""
    async with model.stream(request) as stream:
        return [event async for event in stream]


async def answer_of(model: Model, request: Request) -> AssistantMessage:
    """Return the whole answer."""
    last = (await events_of(model, request))[-1]
    assert isinstance(last, Finished)
    return last.message


class _States:
    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def seen(self, path: str) -> str | None:
        return self._seen.get(path)

    def note(self, path: str, sha256: str) -> None:
        self._seen[path] = sha256


class Spill:
    """Files for whole outputs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, call_id: str, suffix: str = ".txt") -> Path:
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{call_id}{suffix}"
        path.touch(mode=0o600)
        return path


class Exchange(msgspec.Struct, frozen=True):
    """All requests of one exchange with their answers."""

    requests: tuple[Request, ...]
    answers: tuple[AssistantMessage, ...]
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The last answer."""
        return self.answers[-1].text

    @property
    def calls(self) -> list[ToolCall]:
        """Every call made, in order."""
        return [call for answer in self.answers for call in answer.calls]

    @property
    def names(self) -> list[str]:
        """The names of the tools called."""
        return [call.name for call in self.calls]


class Project:
    """A folder with the real tools on it. `refuse`: names of tools whose calls are refused."""

    def __init__(self, root: Path, refuse: frozenset[str] = frozenset()) -> None:
        self.root = root
        self.refuse = refuse
        self._states = _States()

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call as the agent would."""
        if call.name in self.refuse:
            return _result(call, Outcome(f"Refused: {call.name} is not allowed here. Nothing was run.", is_error=True))
        try:
            return _result(call, await TOOLS[call.name].run(self._context(call), call.arguments))
        except ToolError as error:
            return _result(call, Outcome(str(error), is_error=True))

    async def ask(self, prompt: str, model: Model | None = None, history: tuple[Message, ...] = ()) -> Exchange:
        """Send a prompt and run tools until the answer has no calls."""
        messages: tuple[Message, ...] = (*history, UserMessage(content=(Text(text=prompt),)))
        requests: list[Request] = []
        answers: list[AssistantMessage] = []
        used = model or fast()
        for _ in range(100):
            request = Request(system=SYSTEM, messages=messages, tools=tuple(tool.spec for tool in TOOLS.values()))
            answer = await answer_of(used, request)
            requests.append(request)
            answers.append(answer)
            messages = (*messages, answer, *[await self.run(call) for call in answer.calls])
            if not answer.calls:
                return Exchange(requests=tuple(requests), answers=tuple(answers), messages=messages)
        raise AssertionError("the exchange does not end")

    def _context(self, call: ToolCall) -> ToolContext:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return ToolContext(
            root=self.root,
            cwd=self.root,
            call_id=call.id,
            states=self._states,
            spill=Spill(self.root.parent / "spill"),
            progress=lambda _: None,
            environ={"PATH": path, "HOME": str(self.root.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        )


def _result(call: ToolCall, outcome: Outcome) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=(Text(text=outcome.text),), is_error=outcome.is_error)
