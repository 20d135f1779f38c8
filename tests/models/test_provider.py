"""The loopback provider itself, as a program and in its odder modes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.models.helpers import ask, finished, model_at, request, user
from tests.support.provider import Provider, Reply, Script
from tui.messages import AssistantMessage, StopReason
from tui.models.base import BadRequest, EmptyAnswer, StreamDropped

ROOT = Path(__file__).parents[2]


def test_it_serves_a_script_as_a_program(tmp_path: Path) -> None:
    script = Script((Reply(text="Hello", stop_at=0, stop_how="silence"),), models=("one",))
    path = tmp_path / "script.json"
    path.write_bytes(msgspec.json.encode(script))
    command = [sys.executable, "-m", "tests.support.provider", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        process.send_signal(signal.SIGUSR1)
        assert finished(asyncio.run(ask(model_at(base_url, "chat")))).message.text == "Hello"
        process.communicate()
        assert process.returncode == 0


@pytest.mark.anyio
async def test_silence_ends_when_it_is_released() -> None:
    with Provider(Reply(text="Hello", stop_at=40, stop_how="silence"), Reply(text="held", hold=True)) as provider:
        provider.release()
        model = model_at(provider.base_url, "messages")
        assert finished(await ask(model)).message.text == "Hello"
        assert finished(await ask(model)).message.text == "held"
        assert not (await provider.ended(0)).closed_early


@pytest.mark.anyio
async def test_a_script_that_is_over_says_so() -> None:
    async with Provider() as provider:
        with pytest.raises(BadRequest, match="no more replies"):
            await ask(model_at(provider.base_url, "chat"))


@pytest.mark.anyio
async def test_a_reply_may_depend_on_the_request() -> None:
    async with Provider(lambda received: Reply(text=str(len(received.messages)))) as provider:
        answer = AssistantMessage((), StopReason.EMPTY)
        asked = request(user("a"), answer, user("b"))
        assert finished(await ask(model_at(provider.base_url, "chat"), asked)).message.text == "2"


@pytest.mark.anyio
async def test_a_stream_may_stop_at_any_byte() -> None:
    async with Provider(*(Reply(text="Hello", stop_at=at, stop_how="end") for at in range(1, 40, 7))) as provider:
        model = model_at(provider.base_url, "messages")
        for _ in range(1, 40, 7):
            with pytest.raises((StreamDropped, EmptyAnswer)):
                await ask(model)
