"""Both adapters against llama.cpp's own server and a real small model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import pytest

from tests.models.helpers import PROTOCOLS, ask, finished, model_at, request, shown, user
from tests.support.engine import Engine
from tests.support.wire import Protocol
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult
from tui.models.base import Connecting, ContextTooLong, Model
from tui.models.discover import server_window
from tui.models.http import Http

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("engine")]


async def busy_slots(engine: Engine) -> int:
    http = Http(engine.base_url, None, "authorization")
    try:
        slots: list[dict[str, Any]] = await http.get_json("/slots")
    finally:
        await http.aclose()
    return sum(bool(slot["is_processing"]) for slot in slots)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_answer_streams_with_its_figures(engine: Engine, protocol: Protocol) -> None:
    events = await ask(model_at(engine.base_url, protocol), request(user("Say hello."), max_output=16))
    message = finished(events).message
    assert isinstance(events[0], Connecting)
    assert shown(events) == message.text != ""
    assert message.stop in (StopReason.LENGTH, StopReason.COMPLETE)
    assert message.usage is not None
    assert message.usage.input + message.usage.cache_read > 10
    assert 0 < message.usage.output <= 16


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_session_with_tools_and_breaks_is_accepted(engine: Engine, protocol: Protocol) -> None:
    calls = AssistantMessage((Text("Look."), ToolCall("a", "ls", {"path": "."})), StopReason.TOOL_CALLS)
    half = AssistantMessage((Text("Half"),), StopReason.ABORTED)
    history = (user("List."), calls, ToolResult("a", "ls", ()), half, user("Go on."), half)
    asked = request(*history, max_output=4, guidance="Be short.")
    assert finished(await ask(model_at(engine.base_url, protocol), asked)).message.usage is not None


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_too_long_a_request_names_the_window(engine: Engine, protocol: Protocol) -> None:
    with pytest.raises(ContextTooLong) as caught:
        await ask(model_at(engine.base_url, protocol), request(user("Say hello. " * engine.window)))
    assert caught.value.limit == engine.window


async def test_the_server_tells_its_window(engine: Engine) -> None:
    assert await server_window(engine.base_url + "/v1", "smollm2") == engine.window


async def test_a_schema_of_constants_forces_the_words(engine: Engine) -> None:
    words = "the thread holds"
    extra = {"response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": {"enum": [words]}}}}
    events = await ask(model_at(engine.base_url, "chat", extra=extra), request(user("Speak."), max_output=64))
    message = finished(events).message
    assert json.loads(message.text) == words
    assert message.stop is StopReason.COMPLETE


async def _read_until_cancelled(model: Model, started: asyncio.Event) -> None:
    async with model.stream(request(user("Count from one to one thousand."), max_output=900)) as events:
        async for event in events:
            if not isinstance(event, Connecting):
                started.set()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_cancelling_frees_the_slot(engine: Engine, protocol: Protocol) -> None:
    """Without cancellation the answer would go on for many seconds and keep its slot busy."""
    extra = {"temperature": 0, "ignore_eos": True}
    model = model_at(engine.base_url, protocol, extra=extra)
    started = asyncio.Event()
    task = asyncio.create_task(_read_until_cancelled(model, started))
    await asyncio.wait([task, asyncio.create_task(started.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert await busy_slots(engine) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with anyio.fail_after(10):
        while await busy_slots(engine):
            pass
    await model.aclose()
