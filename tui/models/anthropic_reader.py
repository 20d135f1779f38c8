"""Reads Anthropic Messages streams. Without I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import msgspec

from tui.messages import Json, StopReason, Usage, clean
from tui.models.answer import AnswerBuilder, Part, count
from tui.models.base import EmptyAnswer, Finished, ModelEvent, ModelInfo, StreamDropped
from tui.models.errors import sanitise
from tui.models.frames import decoded, opened
from tui.models.keys import Secret
from tui.models.sse import SseEvent

__all__ = ["AnthropicReader"]

_STOPS = {
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("call", "partial_json"),
}
"""Delta type → kind of part and the field with the text."""


class _Figures(msgspec.Struct):
    """Usage so far: the prompt's figures come first, the answer's at the end."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None


class AnthropicReader:
    """Takes events, gives model events; `finish` gives the terminal one or raises."""

    def __init__(self, info: ModelInfo, new_id: Callable[[], str], secrets: Sequence[Secret] = ()) -> None:
        self._secrets = secrets
        self._answer = AnswerBuilder(info, new_id)
        self._blocks: dict[int, Part | None] = {}
        self._newest = 0
        self._figures = _Figures()
        self._reason = ""
        self._explanation = ""
        self._done = False

    @property
    def ended(self) -> bool:
        """Whether the terminal event was seen."""
        return self._done

    @property
    def closed(self) -> bool:
        """Whether nothing more can follow."""
        return self._done

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        """Return what an event adds. Raises a `ModelError` for an error inside the stream."""
        return self.feed_json(decoded(event, self._secrets), event.name)

    def feed_json(self, data: Json, name: str = "") -> list[ModelEvent]:
        """Return what a decoded event, or a whole answer that was not streamed, adds."""
        event = opened(data, name, self._secrets)
        if event is None:
            return []
        match event.get("type") or name:
            case "message_start":
                self._use(_object(event, "message").get("usage"))
            case "content_block_start":
                return list(self._start(self._index(event), _object(event, "content_block")))
            case "content_block_delta":
                return list(self._delta(self._index(event), _object(event, "delta")))
            case "message_delta":
                self._use(event.get("usage"))
                self._stop(_object(event, "delta"))
            case "message_stop":
                self._done = True
            case "message":
                return list(self._whole(event))
            case _:
                pass  # ping, content_block_stop, and what a newer version may add
        return []

    def finish(self) -> Finished:
        """Return the terminal event. Raises `StreamDropped` or `EmptyAnswer` where `message_stop` did not come."""
        if not self._done:
            if self._answer.is_empty and not self._reason:
                raise EmptyAnswer("The server sent an empty answer.")
            raise StreamDropped("The stream ended before the answer was complete.")
        self._answer.usage = self._usage()
        stop = _STOPS.get(self._reason or "end_turn")
        if self._reason == "pause_turn":
            return self._answer.finish(StopReason.ERROR, "The provider paused the turn. Send a message to go on.")
        if stop is None:
            word = sanitise(self._reason, limit=60)
            return self._answer.finish(
                StopReason.ERROR, f"The provider ended the answer with an unknown reason: {word!r}."
            )
        return self._answer.finish(stop, self._explanation if stop is StopReason.REFUSAL else "")

    def _index(self, event: dict[str, Json]) -> int:
        index = count(event.get("index"))
        return self._newest if index is None else index

    def _start(self, index: int, block: dict[str, Json]) -> Iterator[ModelEvent]:
        self._newest = index
        kind = block.get("type")
        part: Part | None = None
        match kind:
            case "text":
                part = self._answer.open("text")
                yield from self._answer.grow(part, _string(block, "text"))
            case "thinking":
                part = self._answer.open("thinking")
                part.signature = _string(block, "signature")
                yield from self._answer.grow(part, _string(block, "thinking"))
            case "redacted_thinking":
                part = self._answer.open("thinking")
                part.redacted = _string(block, "data")
            case "tool_use":
                part = self._answer.open("call")
                part.name, part.provider_id = clean(_string(block, "name")), clean(_string(block, "id"))
                if block.get("input"):
                    yield from self._answer.grow(part, json.dumps(block["input"]))
            case _:
                pass  # blocks of tools that run at the provider; we ask for none
        self._blocks[index] = part

    def _delta(self, index: int, delta: dict[str, Json]) -> Iterator[ModelEvent]:
        kind = str(delta.get("type"))
        if index not in self._blocks and kind in ("text_delta", "thinking_delta"):
            self._blocks[index] = self._answer.open("text" if kind == "text_delta" else "thinking")
        part = self._blocks.get(index)
        if part is None:
            return
        if kind == "signature_delta" and part.kind == "thinking":
            part.signature += _string(delta, "signature")
        wanted, field = _DELTAS.get(kind, ("", ""))
        if wanted == part.kind:
            yield from self._answer.grow(part, _string(delta, field))

    def _whole(self, message: dict[str, Json]) -> Iterator[ModelEvent]:
        """Read the finished message of a server that does not stream."""
        content = message.get("content")
        for index, block in enumerate(cast("list[Json]", content) if isinstance(content, list) else []):
            if isinstance(block, dict):
                yield from self._start(index, cast("dict[str, Json]", block))
        self._use(message.get("usage"))
        self._stop(message)
        self._done = bool(self._reason)

    def _stop(self, delta: dict[str, Json]) -> None:
        reason = delta.get("stop_reason")
        if isinstance(reason, str) and reason:
            self._reason = reason
        self._explanation = sanitise(_string(_object(delta, "stop_details"), "explanation"))

    def _use(self, usage: Json) -> None:
        """Keep the largest prompt figures, since the end may leave them out or zero; the last of the answer's."""
        if not isinstance(usage, dict):
            return
        given = cast("dict[str, Json]", usage)
        kept = self._figures
        kept.input = _most(kept.input, count(given.get("input_tokens")))
        kept.cache_read = _most(kept.cache_read, count(given.get("cache_read_input_tokens")))
        kept.cache_write = _most(kept.cache_write, count(given.get("cache_creation_input_tokens")))
        kept.cache_write = _most(kept.cache_write, _written(_object(given, "cache_creation")))
        output = count(given.get("output_tokens"))
        kept.output = kept.output if output is None else output

    def _usage(self) -> Usage | None:
        kept = self._figures
        prompt = (kept.input or 0, kept.cache_read or 0, kept.cache_write or 0)
        # A prompt of no tokens at all is a server that does not count: unknown, never zero.
        return Usage(*prompt, kept.output or 0) if any(prompt) else None


def _most(kept: int | None, given: int | None) -> int | None:
    return max((figure for figure in (kept, given) if figure is not None), default=None)


def _written(by_time: dict[str, Json]) -> int | None:
    """Return what was written to the cache where it is told by how long it stays there."""
    figures = [count(value) for name, value in by_time.items() if name.endswith("_input_tokens")]
    return sum(figure or 0 for figure in figures) if figures else None


def _object(data: dict[str, Json], key: str) -> dict[str, Json]:
    value = data.get(key)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _string(data: dict[str, Json], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
