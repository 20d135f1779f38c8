"""Short ways to ask a scripted provider and to read a stream without one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from tests.support.provider import Provider, Reply
from tests.support.wire import Protocol, encode, frames_for
from tui.messages import Message, Text, ToolSpec, UserMessage
from tui.models.anthropic import AnthropicModel
from tui.models.anthropic_reader import AnthropicReader
from tui.models.base import Finished, Model, ModelEvent, ModelInfo, Request, TextDelta, ThinkingDelta
from tui.models.chat_reader import ChatReader
from tui.models.http import Http, Timeouts
from tui.models.keys import Secret
from tui.models.openai_chat import ChatModel
from tui.models.openai_responses import ResponsesModel
from tui.models.responses_reader import ResponsesReader
from tui.models.sse import SseSplitter

PROTOCOLS: tuple[Protocol, ...] = ("chat", "messages")
ALL_PROTOCOLS: tuple[Protocol, ...] = (*PROTOCOLS, "responses")
_PROVIDERS = {"chat": "openai-chat", "messages": "anthropic", "responses": "openai-responses"}
_READERS = {"chat": ChatReader, "messages": AnthropicReader, "responses": ResponsesReader}
LS = ToolSpec("ls", "List a folder.", {"type": "object", "properties": {"path": {"type": "string"}}})


def user(text: str = "hi") -> UserMessage:
    return UserMessage((Text(text),))


def request(*messages: Message, **changes: Any) -> Request:
    return Request(system="You are terse.", messages=messages or (user(),), **changes)


def info_for(protocol: Protocol, **changes: Any) -> ModelInfo:
    return ModelInfo("scripted", _PROVIDERS[protocol], **changes)


def ids() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"{next(numbers):032x}"


def model_at(
    base_url: str, protocol: Protocol, *, key: str = "", timeouts: Timeouts | None = None, **changes: Any
) -> Model:
    secret = Secret(key) if key else None
    extra = changes.pop("extra", None)
    info = info_for(protocol, **changes)
    if protocol != "messages":
        http = Http(f"{base_url}/v1", secret, "authorization", timeouts)
        return (ChatModel if protocol == "chat" else ResponsesModel)(info, http, extra=extra, make_id=ids())
    return AnthropicModel(info, Http(base_url, secret, "x-api-key", timeouts), extra=extra, make_id=ids())


async def ask(model: Model, asked: Request | None = None) -> list[ModelEvent]:
    """Return all events of one request, the model closed afterwards."""
    made: list[ModelEvent] = []
    try:
        async with model.stream(asked or request()) as events:
            made += [event async for event in events]
    finally:
        await model.aclose()
    return made


async def ask_provider(
    reply: Reply, protocol: Protocol, asked: Request | None = None, **options: Any
) -> list[ModelEvent]:
    async with Provider(reply) as provider:
        return await ask(model_at(provider.base_url, protocol, **options), asked)


def joined(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Return the events with neighbouring words of one kind as one: how they were cut says nothing."""
    made: list[ModelEvent] = []
    for event in events:
        last = made[-1] if made else None
        if isinstance(event, TextDelta | ThinkingDelta) and last is not None and type(last) is type(event):
            made[-1] = type(event)(getattr(last, "text", "") + event.text)
        else:
            made.append(event)
    return made


def finished(events: Iterable[ModelEvent]) -> Finished:
    last = list(events)[-1]
    assert isinstance(last, Finished)
    return last


def body_of(reply: Reply, protocol: Protocol) -> bytes:
    asked: dict[str, Any] = {"messages": [], "stream_options": {"include_usage": True}}
    return b"".join(encode(reply, frames_for(reply, protocol, asked)))


def read(body: bytes, protocol: Protocol, cuts: Iterable[int] = ()) -> list[ModelEvent]:
    """Read a whole stream, cut into chunks at the given offsets. Raises as the adapter would."""
    splitter = SseSplitter()
    reader = _READERS[protocol](info_for(protocol), ids())
    made: list[ModelEvent] = []
    edges = [0, *sorted(cuts), len(body)]
    for start, end in itertools.pairwise(edges):
        made += [event for item in splitter.feed(body[start:end]) for event in reader.feed(item)]
    made += [event for item in splitter.finish() for event in reader.feed(item)]
    return [*made, reader.finish()]


def shown(events: Iterable[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta | ThinkingDelta))
