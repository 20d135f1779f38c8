"""Reads OpenAI Chat Completions streams, however a compatible server writes them. Without I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from tui.messages import Json, StopReason, clean
from tui.models.answer import AnswerBuilder, Part, count, parse_arguments, usage_of
from tui.models.base import EmptyAnswer, Finished, ModelEvent, ModelInfo, Overloaded, StreamDropped
from tui.models.errors import sanitise
from tui.models.frames import decoded, opened
from tui.models.keys import Secret
from tui.models.sse import SseEvent

__all__ = ["ChatReader"]

_STOPS = {
    "stop": StopReason.COMPLETE,
    "eos": StopReason.COMPLETE,
    "eos_token": StopReason.COMPLETE,
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "tool_calls": StopReason.TOOL_CALLS,
    "tool_use": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
    "safety": StopReason.REFUSAL,
    "sensitive": StopReason.REFUSAL,
}
_FAILURES = ("error", "network_error", "insufficient_system_resource", "abort", "cancelled")


class ChatReader:
    """Takes events, gives model events; `finish` gives the terminal one or raises."""

    def __init__(self, info: ModelInfo, new_id: Callable[[], str], secrets: Sequence[Secret] = ()) -> None:
        self._secrets = secrets
        self._answer = AnswerBuilder(info, new_id)
        self._slots: dict[int, Part] = {}
        self._current: Part | None = None
        self._reason = ""
        self._done = False

    @property
    def ended(self) -> bool:
        """Whether a terminal sign was seen; what may still follow are usage figures."""
        return self._done or bool(self._reason)

    @property
    def closed(self) -> bool:
        """Whether nothing more can follow."""
        return self._done

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        """Return what an event adds. Raises a `ModelError` for an error inside the stream."""
        if event.data.strip() == "[DONE]":
            self._done = True
            return []
        return self.feed_json(decoded(event, self._secrets), event.name)

    def feed_json(self, data: Json, name: str = "") -> list[ModelEvent]:
        """Return what a decoded event, or a whole answer that was not streamed, adds."""
        chunk = opened(data, name, self._secrets)
        if chunk is None:
            return []
        self._use(chunk.get("usage"))
        groq = chunk.get("x_groq")
        self._use(cast("dict[str, Json]", groq).get("usage") if isinstance(groq, dict) else None)
        choice = _first(chunk.get("choices"))
        if choice is None:
            return []
        opened(choice, "", self._secrets)
        self._use(choice.get("usage"))
        # A whole message may also stand at the end of a stream, and then only repeats it.
        delta = choice.get("delta") or (choice.get("message") if self._answer.is_empty else None)
        events = list(self._delta(cast("dict[str, Json]", delta))) if isinstance(delta, dict) else []
        self._end(choice)
        return events

    def finish(self) -> Finished:
        """Return the terminal event. Raises `StreamDropped` or `EmptyAnswer` where no terminal sign came."""
        if not self._reason:
            self._check_unreasoned()
        stop = _STOPS.get(self._reason or "stop")
        if stop is None:
            word = sanitise(self._reason, limit=60)
            return self._answer.finish(
                StopReason.ERROR, f"The provider ended the answer with an unknown reason: {word!r}."
            )
        return self._answer.finish(stop)

    def _check_unreasoned(self) -> None:
        """`[DONE]` alone is an end for text, and for calls only if each is whole (oh-my-pi#9433)."""
        if self._answer.is_empty:
            raise EmptyAnswer("The server sent an empty answer. Perhaps the request is longer than the model's window.")
        broken = any(not part.text or parse_arguments(part.text)[1] for part in self._answer.calls)
        if not self._done or broken:
            raise StreamDropped("The stream ended before the answer was complete.")

    def _end(self, choice: dict[str, Json]) -> None:
        reason = choice.get("finish_reason")
        if not isinstance(reason, str) or not reason:
            return
        if reason.lower() in _FAILURES:
            raise Overloaded(f"The server broke off the answer ({reason}).")
        self._reason = reason.lower()

    def _use(self, usage: Json) -> None:
        """Keep the last figures that say something; a prompt of zero tokens says nothing."""
        if not isinstance(usage, dict):
            return
        figures = cast("dict[str, Json]", usage)
        prompt = _figure(figures, "prompt_tokens", "input_tokens")
        output = _figure(figures, "completion_tokens", "output_tokens")
        found = figures.get("prompt_tokens_details") or figures.get("input_tokens_details")
        details = cast("dict[str, Json]", found) if isinstance(found, dict) else {}
        both = {**figures, **details}
        read = _figure(both, "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
        write = _figure(both, "cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens")
        self._answer.usage = usage_of(prompt, read, write, output, count(figures.get("total_tokens"))) or (
            self._answer.usage
        )

    def _delta(self, delta: dict[str, Json]) -> Iterator[ModelEvent]:
        for key in ("reasoning_content", "reasoning", "reasoning_text"):
            if isinstance(delta.get(key), str) and delta[key]:
                yield from self._answer.grow(self._answer.last("thinking"), delta[key])
                break  # some servers send the same words under two names
        yield from self._content(delta.get("content"))
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            yield from self._answer.grow(self._answer.last("refusal"), delta["refusal"])
        calls = delta.get("tool_calls")
        for call in cast("list[Json]", calls if isinstance(calls, list) else [calls]):
            if isinstance(call, dict):
                yield from self._call(cast("dict[str, Json]", call))
        if isinstance(delta.get("function_call"), dict):
            yield from self._call({"index": 0, "function": delta["function_call"]})

    def _content(self, content: Json) -> Iterator[ModelEvent]:
        if isinstance(content, str) and content:
            yield from self._answer.grow(self._answer.last("text"), content)
        if not isinstance(content, list | dict):
            return
        for part in cast("list[Json]", content if isinstance(content, list) else [content]):
            if isinstance(part, str):
                yield from self._content(part)
            elif isinstance(part, dict):
                yield from self._content_part(cast("dict[str, Json]", part))

    def _content_part(self, part: dict[str, Json]) -> Iterator[ModelEvent]:
        if isinstance(part.get("text"), str):
            yield from self._content(part["text"])
        elif "thinking" in part:
            inner = part["thinking"]
            texts = cast("list[Json]", inner) if isinstance(inner, list) else [{"text": inner}]
            for text in texts:
                words = cast("dict[str, Json]", text).get("text") if isinstance(text, dict) else None
                if isinstance(words, str):
                    yield from self._answer.grow(self._answer.last("thinking"), words)

    def _call(self, call: dict[str, Json]) -> Iterator[ModelEvent]:
        found = call.get("function")
        function = cast("dict[str, Json]", found) if isinstance(found, dict) else {}
        name, arguments = _string(function.get("name")), function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments)
        text = arguments if isinstance(arguments, str) else ""
        part = self._slot(count(call.get("index")), _string(call.get("id")), name, text)
        if part is None:
            return
        part.name = part.name or name  # set once, never appended (hermes-agent#3468)
        yield from self._answer.grow(part, text)

    def _slot(self, index: int | None, provider_id: str, name: str, text: str) -> Part | None:
        """Return the call a delta belongs to; None where it only repeats one that is whole.

        A missing index is not 0 (ollama#7881), and 0 may come for every call (litellm#33678): a new id
        opens a call, and so does a name with new arguments after arguments that are already whole.
        """
        known = self._slots.get(index) if index is not None else self._by_id(provider_id) or self._current
        if known is not None and not _begins_another(known, provider_id, name, text):
            repeats = bool(name) and text and known.text == text and known.provider_id == provider_id and _whole(known)
            known.provider_id = known.provider_id or provider_id
            self._current = known
            return None if repeats else known
        part = self._answer.open("call")
        part.provider_id = provider_id
        self._current = part
        if index is not None:
            self._slots[index] = part
        return part

    def _by_id(self, provider_id: str) -> Part | None:
        """Return the newest call with this id, for deltas of several calls that take turns."""
        return next(
            (part for part in reversed(self._answer.calls) if provider_id and part.provider_id == provider_id), None
        )


def _begins_another(known: Part, provider_id: str, name: str, text: str) -> bool:
    if provider_id and known.provider_id and provider_id != known.provider_id:
        return not _goes_on(known, name, text)
    if name and known.name and name != known.name:
        return True
    again = bool(name) and text.lstrip().startswith("{") and _whole(known)
    return again and not (provider_id and provider_id == known.provider_id and text == known.text)


def _goes_on(known: Part, name: str, text: str) -> bool:
    """Whether a delta goes on with a call in spite of another id: some gateways make up a new one for each delta."""
    if not name:
        return not (_whole(known) and text.lstrip().startswith("{"))
    begun = bool(known.text) and not _whole(known)
    return name == known.name and begun and not text.lstrip().startswith("{")


def _whole(part: Part) -> bool:
    text = part.text
    return text.rstrip().endswith("}") and not parse_arguments(text)[1]


def _string(value: Json) -> str:
    return clean(value) if isinstance(value, str) else ""


def _first(choices: Json) -> dict[str, Json] | None:
    """Return the first choice that is one; `choices` may be null, missing or empty (pydantic-ai#5165)."""
    if not isinstance(choices, list):
        return None
    for choice in cast("list[Json]", choices):
        if isinstance(choice, dict) and not cast("dict[str, Json]", choice).get("index"):
            return cast("dict[str, Json]", choice)
    return None


def _figure(figures: dict[str, Json], *names: str) -> int:
    """Return the first figure above zero that stands under one of the names servers give it, or zero."""
    return next((found for name in names if (found := count(figures.get(name)))), 0)
