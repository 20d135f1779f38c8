"""Builds one answer from deltas, whatever the protocol: parts in the order they came, nothing guessed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Literal, NoReturn, TypeAlias, cast

from tui.messages import (
    AssistantMessage,
    Json,
    Refusal,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    clean,
    clean_json,
)
from tui.models.base import Finished, ModelEvent, ModelInfo, TextDelta, ThinkingDelta, ToolCallDelta

__all__ = ["AnswerBuilder", "Part", "count", "parse_arguments", "preview", "usage_of"]

_Kind: TypeAlias = Literal["text", "thinking", "call", "refusal"]


MOST_LEVELS = 100
"""Of nesting in arguments. What is nested deeper cannot be written by every encoder it would meet later."""


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _whole(digits: str) -> int:
    """Return an integer that comes back from the log, and from a server, as the same one."""
    number = int(digits)
    if not -(2**63) <= number < 2**64:
        raise ValueError("a number is out of range")
    return number


def _too_deep(value: Json, most: int = MOST_LEVELS) -> bool:
    level: list[Json] = [value]
    while level and most:
        level, most = [inner for outer in level for inner in _inside(outer)], most - 1
    return bool(level)


def _inside(value: Json) -> Iterable[Json]:
    match value:
        case dict():
            return cast("dict[str, Json]", value).values()
        case list():
            return cast("list[Json]", value)
        case _:
            return ()


def preview(raw: str, limit: int = 200) -> str:
    """Return the first part of broken argument text, for a person or the model."""
    return raw if len(raw) <= limit else f"{raw[:limit]}… ({len(raw)} characters)"


def parse_arguments(raw: str) -> tuple[dict[str, Json], str]:
    """Return the arguments of a call and why they cannot be used (empty: they can).

    Strict: nothing is repaired, because a repaired half of a file would be written (Cogtrix#1370).
    No text at all means no arguments; the tool's own schema tells whether that is enough.
    """
    if not raw.strip():
        return {}, ""
    try:
        value: Json = json.loads(raw, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        return {}, f"The arguments are not valid JSON ({preview(str(error), 100)}): {preview(raw)}"
    if not isinstance(value, dict):
        return {}, f"The arguments are not a JSON object: {preview(raw)}"
    if _too_deep(value):
        return {}, f"The arguments are nested deeper than {MOST_LEVELS} levels: {preview(raw)}"
    return clean_json(cast("dict[str, Json]", value)), ""


def count(value: Json) -> int | None:
    """Return a token figure, or None where it is missing, null or nonsense."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return whole if isinstance(whole, int) and not isinstance(whole, bool) and whole >= 0 else None


def usage_of(prompt: int, read: int, write: int, output: int, total: int | None = None) -> Usage | None:
    """Return the usage that a report's figures mean; None where they say nothing of the prompt.

    Most servers count cached tokens within the prompt, some beside it: that shows where they are more than the
    prompt, or where `total` is the sum of all. Taken for the others they would make a full context look empty.
    """
    cached = read + write
    if not prompt and not cached:
        return None
    beside = cached > prompt or (cached > 0 and total == prompt + cached + output)
    return Usage(prompt if beside else prompt - cached, read, write, output)


class Part:
    """One growing part of an answer."""

    def __init__(self, kind: _Kind, index: int = 0) -> None:
        self.kind: _Kind = kind
        self.index = index
        """Among the calls, from 0."""
        self.name = ""
        self.provider_id = ""
        self.signature = ""
        self.redacted = ""
        self._text: list[str] = []
        self._held = ""

    def add(self, text: str) -> str:
        """Append text; return what can be shown of it.

        A surrogate pair that a server cuts between two deltas is held back and joined.
        """
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        if not text.isascii():
            text = clean(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        self._text.append(text)
        return text

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self._text) > 1:
            self._text = ["".join(self._text)]
        return (self._text[0] if self._text else "") + ("\ufffd" if self._held else "")

    def freeze(self, new_id: Callable[[], str]) -> Text | Thinking | ToolCall | Refusal | None:
        """Return the finished part, or None where there is nothing in it."""
        match self.kind:
            case "text":
                return Text(self.text) if self.text else None
            case "refusal":
                return Refusal(self.text) if self.text else None
            case "thinking":
                whole = Thinking(self.text, self.signature, self.redacted)
                return whole if whole != Thinking("") else None
            case "call":
                return self._call(new_id())

    def _call(self, own_id: str) -> ToolCall:
        arguments, error = parse_arguments(self.text)
        if not self.name:
            error = "The call names no tool."
        return ToolCall(own_id, self.name, arguments, self.text if error else "", error, self.provider_id)


class AnswerBuilder:
    """Collects parts and gives the events that show them growing."""

    def __init__(self, info: ModelInfo, new_id: Callable[[], str]) -> None:
        self._info = info
        self._new_id = new_id
        self.parts: list[Part] = []
        self.usage: Usage | None = None

    @property
    def calls(self) -> list[Part]:
        """The calls so far."""
        return [part for part in self.parts if part.kind == "call"]

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all has come."""
        return not any(part.text or part.signature or part.redacted or part.kind == "call" for part in self.parts)

    def open(self, kind: _Kind) -> Part:
        """Begin a new part."""
        part = Part(kind, len(self.calls))
        self.parts.append(part)
        return part

    def last(self, kind: _Kind) -> Part:
        """Return the newest part where it is of `kind`, else a new one."""
        return self.parts[-1] if self.parts and self.parts[-1].kind == kind else self.open(kind)

    def grow(self, part: Part, text: str) -> list[ModelEvent]:
        """Append to a part and return the event that shows it."""
        shown = part.add(text)
        if not shown:
            return []
        match part.kind:
            case "thinking":
                return [ThinkingDelta(shown)]
            case "call":
                return [ToolCallDelta(part.index, part.name, shown)]
            case "text" | "refusal":
                return [TextDelta(shown)]

    def finish(self, stop: StopReason, error: str = "") -> Finished:
        """Return the terminal event. A regular end without text, call or refusal is `EMPTY`."""
        frozen = [part.freeze(self._new_id) for part in self.parts]
        content = tuple(part for part in frozen if part is not None)
        if stop.is_complete:
            stop = StopReason.TOOL_CALLS if any(isinstance(p, ToolCall) for p in content) else StopReason.COMPLETE
            if any(isinstance(part, Refusal) for part in content):
                stop = StopReason.REFUSAL
            elif stop is StopReason.COMPLETE and not any(isinstance(p, Text) and p.text.strip() for p in content):
                stop = StopReason.EMPTY
        info = self._info
        return Finished(AssistantMessage(content, stop, info.id, info.provider, self.usage, error))
