"""Connections: cancelled at once and without leaks, keys kept, failures typed."""

from __future__ import annotations

import asyncio
import gc
import logging
import pickle
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.models.helpers import ALL_PROTOCOLS, ask, ask_provider, finished, model_at, request
from tests.support.provider import Provider, Reply
from tests.support.wire import Protocol
from tui.models.base import AuthFailed, BadRequest, Connecting, ConnectionFailed, ModelError, RateLimited, TextDelta
from tui.models.http import Http, encode_json
from tui.models.keys import Secret

KEY = "sk-test-0123456789abcdef"
SILENT = Reply(text="Hello, this is long.", stop_at=-200, stop_how="silence")
pytestmark = pytest.mark.anyio


async def _until_text(model: Any) -> None:
    async with model.stream(request()) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                return


async def _read_for_ever(model: Any, started: asyncio.Event) -> None:
    async with model.stream(request()) as events:
        async for event in events:
            if not isinstance(event, Connecting):
                started.set()


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_cancelling_closes_the_connection_at_once(protocol: Protocol) -> None:
    async with Provider(SILENT) as provider:
        model = model_at(provider.base_url, protocol)
        started = asyncio.Event()
        task = asyncio.create_task(_read_for_ever(model, started))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await provider.ended(0)).closed_early
        await model.aclose()


async def test_cancelling_before_the_answer_closes_too() -> None:
    async with Provider(Reply(text="x", hold=True)) as provider:
        model = model_at(provider.base_url, "chat")
        task = asyncio.create_task(ask(model))
        await provider.request(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await provider.ended(0)).closed_early


async def test_leaving_between_deltas_closes_too() -> None:
    async with Provider(SILENT) as provider:
        model = model_at(provider.base_url, "messages")
        await _until_text(model)
        assert (await provider.ended(0)).closed_early
        await model.aclose()


async def test_a_consumer_that_raises_closes_too() -> None:
    async def fail(model: Any) -> None:
        async with model.stream(request()) as events:
            async for event in events:
                if getattr(event, "text", ""):
                    raise LookupError

    async with Provider(SILENT) as provider:
        model = model_at(provider.base_url, "chat")
        with pytest.raises(LookupError):
            await fail(model)
        assert (await provider.ended(0)).closed_early
        await model.aclose()


async def test_many_cancels_leave_nothing_behind() -> None:
    """In all phases, in debug mode: no open connection, no task, no complaint (pytest raises the unraisable)."""
    complaints: list[object] = []
    before = asyncio.all_tasks()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    replies = (SILENT, Reply(text="x", hold=True), Reply(text="Hello", chunk=1))
    async with Provider(*(replies * 20)) as provider:
        model = model_at(provider.base_url, "chat")
        for index in range(len(replies) * 20):
            started = asyncio.Event()
            task = asyncio.create_task(_read_for_ever(model, started))
            if index % 3 == 0:
                await started.wait()
            else:
                await provider.request(index)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await provider.ended(index)
        await model.aclose()
        await provider.idle()
        gc.collect()
        await asyncio.to_thread(gc.collect)
        assert provider.open_connections == 0
    assert complaints == []
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("chunk", [0, 1])
async def test_a_connection_is_used_again(protocol: Protocol, chunk: int) -> None:
    async with Provider(Reply(text="one", chunk=chunk), Reply(text="two", chunk=chunk)) as provider:
        model = model_at(provider.base_url, protocol)
        for word in ("one", "two"):
            async with model.stream(request()) as events:
                assert finished([event async for event in events]).message.text == word
        assert provider.connections == 1
        await model.aclose()
        await provider.idle()


async def test_a_refused_connection_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionFailed, match=f"No connection to http://127.0.0.1:{port}: .* Is it running"):
        await ask(model_at(f"http://127.0.0.1:{port}", "chat"))


async def test_a_connection_closed_before_the_answer_is_told() -> None:
    async with Provider(lambda received: _vanish()) as provider:
        with pytest.raises(ConnectionFailed):
            await ask(model_at(provider.base_url, "chat"))


def _vanish() -> Reply:
    raise ConnectionResetError


async def test_retry_after_reaches_the_caller() -> None:
    reply = Reply(status=429, body='{"error": {"message": "slow"}}', headers={"retry-after": "3"})
    with pytest.raises(RateLimited) as caught:
        await ask_provider(reply, "chat")
    assert caught.value.retry_after == 3


async def test_redirects_are_not_followed() -> None:
    async with Provider(Reply(text="stolen")) as other:
        reply = Reply(status=307, body="", headers={"location": other.base_url + "/v1/chat/completions"})
        with pytest.raises(ModelError, match="redirects"):
            await ask_provider(reply, "chat", key=KEY)
        assert other.requests == []


FAILURES: list[Reply] = [
    Reply(status=401, body='{"error": {"message": "Incorrect API key provided: ' + KEY + '"}}'),
    Reply(status=500, body=f"Authorization: Bearer {KEY}"),
    Reply(status=400, body="<html>" + KEY),
    Reply(text="x", error={"message": f"key {KEY} is bad"}),
    Reply(text="Hello", stop_at=150, stop_how="rst"),
]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("reply", FAILURES)
async def test_a_key_never_shows(protocol: Protocol, reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Provider(reply) as provider:
        model = model_at(provider.base_url, protocol, key=KEY)
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert KEY in str(provider.requests[0].headers)
    error = caught.value
    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in caplog.text
    assert KEY not in repr(vars(model)) + repr(error.__context__) + repr(error.__cause__) + str(error)


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_a_traceback_with_all_locals_holds_no_key(protocol: Protocol) -> None:
    with pytest.raises(AuthFailed) as caught:
        await ask_provider(Reply(status=401, body="{}"), protocol, key=KEY)
    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack
    inside = [frame for frame in frames if "tui" in Path(frame.filename).parts]
    assert inside
    assert KEY not in repr([frame.locals for frame in inside])


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_a_cancelled_task_group_closes_all_its_streams(protocol: Protocol) -> None:
    """A scope cancels every further await, the closing ones too: they are shielded."""
    async with Provider(*([SILENT] * 8)) as provider:
        model = model_at(provider.base_url, protocol)
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(_read_for_ever, model, asyncio.Event())
            for index in range(8):
                await provider.sent(index, 1)
            group.cancel_scope.cancel()
        assert all([(await provider.ended(index)).closed_early for index in range(8)])
        await provider.idle()
        await model.aclose()


async def test_nothing_of_http_is_imported_before_the_first_request() -> None:
    code = "import sys, tui.models.factory as f; f.open_model(f.ModelChoice(), {}); print('httpx' in sys.modules)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    output, _ = await process.communicate()
    assert output == b"False\n"


async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://127.0.0.1:1")
    with pytest.raises(BadRequest, match="proxy") as caught:
        await ask(model_at("https://clew-test.invalid", "chat"))
    assert not caught.value.retryable, "no waiting mends a setting"


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert finished(await ask_provider(Reply(text="x"), "chat")).message.text == "x"


def test_a_secret_does_not_tell() -> None:
    secret = Secret(KEY)
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>30}", repr([secret])):
        assert KEY not in text
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://", "http://user:pw@host/v1", "http://host:99999/"])
def test_bad_addresses_are_refused_at_once(url: str) -> None:
    with pytest.raises(BadRequest):
        Http(url, None, "authorization")


def test_no_text_breaks_the_encoder() -> None:
    assert encode_json({"a": "\ud800\u2028é"}) == '{"a":"\ufffd\u2028é"}'.encode()


async def test_a_wrong_key_is_told() -> None:
    with pytest.raises(AuthFailed):
        await ask_provider(Reply(status=401, body="{}"), "messages", key=KEY)
