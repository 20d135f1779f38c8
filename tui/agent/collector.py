"""What has come of an answer so far: deltas in, a partial message out."""

from __future__ import annotations

from tui.messages import AssistantMessage, StopReason, Text, Thinking
from tui.models.base import Connecting, Finished, ModelEvent, TextDelta, ThinkingDelta, ToolCallDelta

__all__ = ["Collector"]


class Collector:
    """Collects the deltas of one answer, so that what was streamed is kept whatever ends it."""

    def __init__(self, model: str, provider: str) -> None:
        self._model = model
        self._provider = provider
        self._text: list[str] = []
        self._thinking: list[str] = []
        self.finished: AssistantMessage | None = None
        self.calls_begun = 0
        self.length = 0
        """Characters that have come, reasoning and calls included."""

    @property
    def started(self) -> bool:
        """Whether anything of the answer has come."""
        return bool(self._text or self._thinking or self.calls_begun)

    @property
    def answering(self) -> bool:
        """Whether more than reasoning has come."""
        return bool(self._text or self.calls_begun)

    def add(self, event: ModelEvent) -> None:
        """Take one event of the stream."""
        match event:
            case TextDelta(text=text):
                self._text.append(text)
                self.length += len(text)
            case ThinkingDelta(text=text):
                self._thinking.append(text)
                self.length += len(text)
            case ToolCallDelta(index=index, text=text):
                self.calls_begun = max(self.calls_begun, index + 1)
                self.length += len(text)
            case Finished(message=message):
                self.finished = message
            case Connecting():
                pass

    def partial(self, stop: StopReason, error: str = "") -> AssistantMessage:
        """Return what came, marked with why it ended. Calls are left out: none of them may ever run."""
        thinking, text = "".join(self._thinking), "".join(self._text)
        content = (*((Thinking(thinking),) if thinking else ()), *((Text(text),) if text else ()))
        return AssistantMessage(content=content, stop=stop, model=self._model, provider=self._provider, error=error)
