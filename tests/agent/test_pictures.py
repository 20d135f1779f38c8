"""Images that a server will not take: that one is left out of what is sent, and nothing else."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.agent.handoffs import Player, serving, work
from tests.agent.support import options, said, session, texts, until
from tests.agent.test_retries import refusal
from tests.support.provider import Call, Provider, Reply
from tui.agent.agent import Agent
from tui.agent.events import Said
from tui.models.factory import ModelChoice
from tui.models.pictures import located

pytestmark = pytest.mark.anyio
Protocol = Literal["openai-chat", "anthropic", "openai-responses"]


def png(color: int) -> bytes:
    """Return a picture of one pixel, unlike those of other colours."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = b"\0\0\0\1\0\0\0\1\x08\2\0\0\0"
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes((0, color, 0, 0)))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def encoded(color: int) -> str:
    return base64.b64encode(png(color)).decode()


def looks(color: int) -> Reply:
    return Reply(calls=(Call("read", json.dumps({"path": f"{color}.png"})),))


@asynccontextmanager
async def seeing(tmp_path: Path, provider: Provider, protocol: Protocol) -> AsyncGenerator[Agent]:
    """Open a session whose model sees the pictures 1 to 3 of its project."""
    async with provider:
        base = provider.base_url if protocol == "anthropic" else f"{provider.base_url}/v1"
        model = "claude-scripted" if protocol == "anthropic" else "gpt-5-scripted"
        choice = ModelChoice(protocol, model, base, 32_000)
        given = msgspec.structs.replace(options(tmp_path, provider), choice=choice)
        for color in (1, 2, 3):
            (given.cwd / f"{color}.png").write_bytes(png(color))
        async with session(given) as (agent, _):
            yield agent


async def test_only_the_refused_image_is_left_out_and_later_ones_are_tried_again(tmp_path: Path) -> None:
    bad = refusal(400, "image_url could not be processed")
    provider = Provider(looks(1), Reply(text="one"), looks(2), bad, Reply(text="two"), looks(3), Reply(text="three"))
    async with seeing(tmp_path, provider, "openai-chat") as agent:
        events = agent.subscribe()
        for word in ("first", "second", "third"):
            assert await said(agent, word) == "answered"
        line = (await until(events, lambda event: isinstance(event, Said))).text
    assert "refused an image: [image 1x1, image/png" in line
    sent = [tuple(color for color in (1, 2, 3) if encoded(color) in texts(request)) for request in provider.requests]
    assert sent == [(), (1,), (1,), (1, 2), (1,), (1,), (1, 3)]


async def test_of_two_new_images_the_good_one_comes_back(tmp_path: Path) -> None:
    bad = refusal(400, "could not process image")
    both = Reply(calls=(*looks(1).calls, *looks(2).calls))
    async with seeing(
        tmp_path, provider := Provider(both, bad, bad, Reply(text="without"), Reply(text="with one")), "openai-chat"
    ) as agent:
        for word in ("first", "second"):
            assert await said(agent, word) == "answered"
    sent = [tuple(color for color in (1, 2) if encoded(color) in texts(request)) for request in provider.requests]
    assert sent == [(), (1, 2), (1,), (), (2,)]


async def test_a_server_that_names_the_image_is_believed(tmp_path: Path) -> None:
    place = "messages.2.content.0.tool_result.content.1.image.source.base64.data"
    both = Reply(calls=(*looks(1).calls, *looks(2).calls))
    bad = refusal(400, f"{place}: At least one of the image dimensions exceed max allowed size")
    provider = Provider(both, bad, Reply(text="fine"), Reply(text="fine"))
    async with seeing(tmp_path, provider, "anthropic") as agent:
        for word in ("first", "second"):
            assert await said(agent, word) == "answered"
    sent = [tuple(color for color in (1, 2) if encoded(color) in texts(request)) for request in provider.requests]
    assert sent == [(), (1, 2), (2,), (2,)]


async def test_a_model_that_takes_no_images_is_asked_once(tmp_path: Path) -> None:
    both = Reply(calls=(*looks(1).calls, *looks(2).calls))
    blind = refusal(500, "image input is not supported - hint: you may need to provide the mmproj")
    provider = Provider(both, blind, Reply(text="fine"), Reply(text="fine"))
    async with seeing(tmp_path, provider, "openai-chat") as agent:
        for word in ("first", "second"):
            assert await said(agent, word) == "answered"
    assert ["data:image" in texts(request) for request in provider.requests] == [False, True, False, False]


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "openai-responses"])
async def test_a_summary_is_asked_for_without_the_picture_that_was_refused(tmp_path: Path, protocol: Protocol) -> None:
    bad = refusal(400, "image exceeds 5 MB maximum: image_url")
    player = Player(looks(1), bad, work("true"), Reply(text="seen"))
    async with seeing(tmp_path, serving(player), protocol) as agent:
        assert await said(agent, "look") == "answered"
        agent.loop.job(lambda: agent.compaction.compact(""))
        await agent.settled()
        assert await said(agent, "more") == "answered"
    assert encoded(1) in texts(player.asked[1])
    assert len(player.summarised) == 1
    assert encoded(1) not in texts(player.summarised[0])
    assert "[image" in texts(player.summarised[0])


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.1.image.source.base64: image exceeds 5 MB maximum",
        "Invalid image (messages[1].content[1].image_url)",
        "bad image at ('body', 'messages', 1, 'content', 1)",
    ],
)
def test_the_place_of_an_image(words: str) -> None:
    for part in (
        {"type": "image", "source": {"type": "base64", "data": encoded(2)}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(2)}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{encoded(2)}"},
    ):
        body = {"messages": [{"content": "hi"}, {"content": [{"type": "text", "text": "see"}, part]}]}
        assert located(words, body, {"one": png(1), "two": png(2)}) == "two"


@pytest.mark.parametrize(
    "words", ["no place", "messages.9.content.1.image", "messages.0.content.0", "input[0].content[0]"]
)
def test_no_place_means_no_image(words: str) -> None:
    assert located(words, {"messages": [{"content": "hi"}]}, {"one": png(1)}) == ""
