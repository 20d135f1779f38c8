"""Reads OpenAI Responses streams. Without I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, cast

from tui.messages import Json, StopReason, clean
from tui.models.answer import AnswerBuilder, Part, count, usage_of
from tui.models.base import EmptyAnswer, Finished, ModelEvent, ModelInfo, StreamDropped
from tui.models.errors import error_from_frame, sanitise
from tui.models.frames import decoded, opened
from tui.models.keys import Secret
from tui.models.sse import SseEvent

__all__ = ["ResponsesReader"]

_Kind = Literal["text", "thinking", "call", "refusal"]
_DELTAS: dict[str, _Kind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "call",
}
_FAILURES = ("response.failed", "response.cancelled")
_ENDS = ("response.completed", "response.incomplete", "response.done", *_FAILURES)
_Place = int | str
"""An item of the answer: its number, or its id where a server gives no number."""
_CUTS = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSAL}


class ResponsesReader:
    """Takes events, gives model events; `finish` gives the terminal one or raises."""

    def __init__(self, info: ModelInfo, new_id: Callable[[], str], secrets: Sequence[Secret] = ()) -> None:
        self._secrets = secrets
        self._answer = AnswerBuilder(info, new_id)
        self._parts: dict[tuple[_Place, _Kind], Part] = {}
        self._newest: _Place = 0
        self._reason = ""
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
        """Return what a decoded event, or a whole response that was not streamed, adds."""
        event = opened(data, name, self._secrets)
        if event is None:
            return []
        kind = str(event.get("type") or name)
        if kind in _DELTAS:
            return self._answer.grow(self._part(self._place(event), _DELTAS[kind]), _string(event, "delta"))
        if kind in ("response.output_item.added", "response.output_item.done"):
            return list(self._item(self._place(event), _object(event, "item"), whole=kind.endswith("done")))
        if kind in _ENDS or event.get("object") == "response":
            return list(self._end(_object(event, "response") or event, failed=kind in _FAILURES))
        return []

    def finish(self) -> Finished:
        """Return the terminal event. Raises `StreamDropped` or `EmptyAnswer` where none came."""
        if not self._done:
            if self._answer.is_empty:
                raise EmptyAnswer("The server sent an empty answer.")
            raise StreamDropped("The stream ended before the answer was complete.")
        if not self._reason:
            return self._answer.finish(StopReason.COMPLETE)
        stop = _CUTS.get(self._reason)
        if stop is None:
            word = sanitise(self._reason, limit=60)
            text = f"The provider ended the answer with an unknown reason: {word!r}."
            return self._answer.finish(StopReason.ERROR, text)
        return self._answer.finish(stop)

    def _place(self, event: dict[str, Json]) -> _Place:
        """Return which item an event is about: by its number, else by id, else the newest. Missing is not 0."""
        item = _object(event, "item")
        number = count(event.get("output_index"))
        if number is None:
            self._newest = _string(event, "item_id") or _string(item, "id") or _string(item, "call_id") or self._newest
        else:
            self._newest = number
        return self._newest

    def _part(self, index: _Place, kind: _Kind) -> Part:
        part = self._parts.get((index, kind))
        if part is None:
            part = self._parts[index, kind] = self._answer.open(kind)
        return part

    def _item(self, index: _Place, item: dict[str, Json], *, whole: bool) -> Iterator[ModelEvent]:
        match item.get("type"):
            case "function_call":
                part = self._part(index, "call")
                part.name = part.name or clean(_string(item, "name"))
                part.provider_id = part.provider_id or clean(_string(item, "call_id"))
                yield from self._fill(part, _string(item, "arguments"), whole=whole)
            case "reasoning":
                part = self._part(index, "thinking")
                if item.get("encrypted_content"):
                    sealed = {"id": item.get("id"), "encrypted_content": item["encrypted_content"]}
                    part.signature = json.dumps(sealed)
                text = "\n\n".join(_string(one, "text") for one in _objects(item, "summary"))
                yield from self._fill(part, text, whole=whole)
            case "message":
                for one in _objects(item, "content"):
                    kind: _Kind = "refusal" if one.get("type") == "refusal" else "text"
                    text = _string(one, "refusal" if kind == "refusal" else "text")
                    if text:
                        yield from self._fill(self._part(index, kind), text, whole=whole)
            case _:
                pass  # items of tools that run at the provider; we ask for none

    def _fill(self, part: Part, text: str, *, whole: bool) -> Iterator[ModelEvent]:
        """Take a whole text where no delta brought it."""
        if whole and not part.text:
            yield from self._answer.grow(part, text)

    def _end(self, response: dict[str, Json], *, failed: bool) -> Iterator[ModelEvent]:
        if failed or response.get("error") or response.get("status") in ("failed", "cancelled"):
            raise error_from_frame(response, secrets=self._secrets)
        if self._answer.is_empty:
            for index, item in enumerate(_objects(response, "output")):
                yield from self._item(index, item, whole=True)
        if response.get("status") == "incomplete" or response.get("incomplete_details"):
            self._reason = _string(_object(response, "incomplete_details"), "reason") or "incomplete"
        usage = _object(response, "usage")
        details = _object(usage, "input_tokens_details")
        self._answer.usage = usage_of(
            count(usage.get("input_tokens")) or 0,
            count(details.get("cached_tokens")) or 0,
            count(details.get("cache_write_tokens")) or 0,
            count(usage.get("output_tokens")) or 0,
            count(usage.get("total_tokens")),
        )
        self._done = True


def _object(data: dict[str, Json], key: str) -> dict[str, Json]:
    value = data.get(key)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _objects(data: dict[str, Json], key: str) -> list[dict[str, Json]]:
    value = data.get(key)
    listed = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("dict[str, Json]", one) for one in listed if isinstance(one, dict)]


def _string(data: dict[str, Json], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
