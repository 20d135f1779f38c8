"""A model provider on 127.0.0.1: a real HTTP/1.1 server with scripted answers, in a thread of its own.

It speaks OpenAI Chat Completions (`…/chat/completions`), OpenAI Responses (`…/responses`) and Anthropic
Messages (`…/messages`), cuts and breaks the stream wherever a `Reply` says, checks what it is asked as the
strictest servers do, and records every request and whether its client closed early. Nothing in it sleeps:
silence lasts until `release()`.

    async with Provider(Reply(text="hello")) as provider:      # also: with Provider(...) as provider
        ask(provider.base_url + "/v1", …)
        received = await provider.request(0)

As a program: `python -m tests.support.provider SCRIPT.json [PORT]` prints its base URL and serves until
stdin closes or it is killed; SCRIPT.json is a `Script`. SIGUSR1 is `release()`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self, TypeAlias, TypeVar, cast

import msgspec

from tests.support.strict import check_chat, check_messages, check_responses
from tests.support.wire import Call, Protocol, Reply, Script, cut, encode, frames_for

__all__ = ["Call", "Provider", "Received", "Reply", "Responder", "Script"]

T = TypeVar("T")
Responder: TypeAlias = "Callable[[Received], Reply]"
"""Decides on a reply from the request; runs in the provider's thread."""

_CHECKS = {"chat": check_chat, "messages": check_messages, "responses": check_responses}
_LIMIT = 30.0
"""Seconds after which waiting for something that never comes fails the test."""


class Received:
    """A request as it came, and what became of its connection."""

    def __init__(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        """Names in lower case."""
        self.raw = raw
        self.body: dict[str, Any] = json.loads(raw) if raw else {}
        self.problems: list[str] = []
        """What a strict server would refuse."""
        self.closed_early = False
        """The client closed before the reply was complete."""
        self.ended = asyncio.Event()
        self.sent = 0
        """Bytes of the reply's body that were written."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the body."""
        return self.body.get("messages", [])


class Provider:
    """The server. All methods may be called from any thread or loop."""

    def __init__(self, *script: Script | Reply | Responder, strict: bool = True, repeat_last: bool = False) -> None:
        given = script[0] if script and isinstance(script[0], Script) else None
        self.script = given or Script(strict=strict, repeat_last=repeat_last)
        replies = given.replies if given else cast("tuple[Reply | Responder, ...]", script)
        self._replies: list[Reply | Responder] = list(replies)
        self._next = 0
        self.requests: list[Received] = []
        """Every model call, in order of arrival (looking at `/models` and the like is in `others`)."""
        self.others: list[Received] = []
        self.base_url = ""
        """`http://127.0.0.1:PORT`, without `/v1`."""
        self.connections = 0
        """How many connections were ever made."""
        self._open = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loopback-provider", daemon=True)
        self._changed = asyncio.Condition()
        self._released = asyncio.Event()
        self._stopping = asyncio.Event()

    # -- life ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(_LIMIT):
            raise RuntimeError("The loopback provider did not start.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_LIMIT)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join, _LIMIT)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._connection(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", self.port)
        host, port = server.sockets[0].getsockname()[:2]
        self.base_url = f"http://{host}:{port}"
        self._ready.set()
        async with server:
            await self._stopping.wait()
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    port = 0
    """0 takes any free port."""

    # -- for tests -------------------------------------------------------------------------------

    def add(self, *replies: Reply | Responder) -> None:
        """Append replies to the script."""
        self._replies.extend(replies)

    def release(self) -> None:
        """End the silence of every reply that is silent now or later."""
        self._loop.call_soon_threadsafe(self._released.set)

    def hold(self) -> None:
        """Make replies with silence wait again."""
        self._loop.call_soon_threadsafe(self._released.clear)

    async def request(self, index: int) -> Received:
        """Wait for the model call number `index` and return it."""
        await self._in_loop(self._until(lambda: len(self.requests) > index))
        return self.requests[index]

    async def ended(self, index: int) -> Received:
        """Wait until the exchange over call `index` has ended, complete or not, and return it."""
        received = await self.request(index)
        await self._in_loop(asyncio.wait_for(received.ended.wait(), _LIMIT))
        return received

    async def sent(self, index: int, size: int) -> Received:
        """Wait until at least `size` bytes of the reply to call `index` were written, and return it."""
        received = await self.request(index)
        await self._in_loop(self._until(lambda: received.sent >= size))
        return received

    async def idle(self) -> None:
        """Wait until no connection is open."""
        await self._in_loop(self._until(lambda: self._open == 0))

    @property
    def open_connections(self) -> int:
        """How many clients are connected now."""
        return self._open

    async def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _until(self, done: Callable[[], bool]) -> None:
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(done), _LIMIT)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # -- one connection --------------------------------------------------------------------------

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        self.connections += 1
        inbox = _Inbox()
        pump = asyncio.create_task(inbox.pump(reader))
        try:
            with contextlib.suppress(ConnectionError, EOFError):
                while await self._exchange(inbox, writer):
                    pass
        finally:
            pump.cancel()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self._open -= 1
            await self._notify()

    async def _exchange(self, inbox: _Inbox, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection may be used again."""
        received = await _read_request(inbox)
        protocol = _protocol(received)
        (self.others if protocol is None else self.requests).append(received)
        await self._notify()
        reply = self._other(received) if protocol is None else self._reply(received, protocol)
        try:
            received.closed_early = await _cut_short(self._send(writer, reply, received, protocol), inbox.gone)
        finally:
            received.ended.set()
            await self._notify()
        return not received.closed_early and not writer.is_closing() and reply.framing == "chunked"

    def _other(self, received: Received) -> Reply:
        """Answer a look around: the model list, or a route of the script."""
        path = received.path.split("?")[0]
        if path in self.script.routes:
            return Reply(body=json.dumps(self.script.routes[path]), headers={"content-type": "application/json"})
        if path.endswith("/models"):
            data = [{"id": name, "object": "model"} for name in self.script.models]
            return Reply(body=json.dumps({"object": "list", "data": data}))
        return Reply(status=404, body="<html><body>Not found</body></html>", headers={"content-type": "text/html"})

    def _reply(self, received: Received, protocol: Protocol) -> Reply:
        received.problems = _CHECKS[protocol](received.body)
        if self.script.strict and received.problems:
            return _refuse("; ".join(received.problems))
        at = self._next
        if at >= len(self._replies):
            if not (self.script.repeat_last and self._replies):
                return _refuse("the script has no more replies")
            at = len(self._replies) - 1
        self._next += 1
        reply = self._replies[at]
        return reply if isinstance(reply, Reply) else reply(received)

    async def _send(
        self, writer: asyncio.StreamWriter, reply: Reply, received: Received, protocol: Protocol | None
    ) -> None:
        if reply.hold:
            await self._released.wait()
        if reply.body is not None:
            await _write_plain(writer, reply, reply.body.encode())
            return
        before, after = cut(reply, encode(reply, frames_for(reply, protocol or "chat", received.body)))
        await _write_head(writer, reply)
        await self._write(writer, reply, received, before)
        if reply.stop_at is not None:
            if reply.stop_how == "silence":
                await self._released.wait()
                await self._write(writer, reply, received, after)
            elif reply.stop_how != "end":
                _break(writer, reset=reply.stop_how == "rst")
                return
        if reply.framing == "chunked":
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    async def _write(self, writer: asyncio.StreamWriter, reply: Reply, received: Received, pieces: list[bytes]) -> None:
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.framing == "chunked" else piece)
            await writer.drain()
            received.sent += len(piece)
            if reply.chunk:
                await asyncio.sleep(0)  # let the client see each piece alone where it can
        await self._notify()


class _Inbox:
    """What the client sends, read ahead, so that its leaving is seen at once."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._more = asyncio.Event()
        self.gone = asyncio.Event()

    async def pump(self, reader: asyncio.StreamReader) -> None:
        """Read until the client closes or resets."""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                self._bytes += data
                self._more.set()
        self.gone.set()
        self._more.set()

    async def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        while len(self._bytes) < size:
            await self._wait()
        taken = bytes(self._bytes[:size])
        del self._bytes[:size]
        return taken

    async def until(self, end: bytes) -> bytes:
        """Return everything up to and including `end`."""
        while (at := self._bytes.find(end)) < 0:
            await self._wait()
        return await self.take(at + len(end))

    async def _wait(self) -> None:
        if self.gone.is_set():
            raise EOFError
        self._more.clear()
        await self._more.wait()


async def _cut_short(work: Coroutine[Any, Any, None], gone: asyncio.Event) -> bool:
    """Run `work` until it ends or the client is gone; return whether the client left first."""
    tasks: tuple[asyncio.Task[Any], asyncio.Task[Any]] = asyncio.create_task(work), asyncio.create_task(gone.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finished = tasks[0].done() and tasks[0].exception() is None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return not finished


async def _read_request(inbox: _Inbox) -> Received:
    head = (await inbox.until(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await inbox.take(int(headers.get("content-length", "0")))
    return Received(method, path, headers, raw)


def _protocol(received: Received) -> Protocol | None:
    path = received.path.split("?")[0]
    if received.method == "POST" and path.endswith("/chat/completions"):
        return "chat"
    if received.method == "POST" and path.endswith("/responses"):
        return "responses"
    return "messages" if received.method == "POST" and path.endswith("/messages") else None


def _refuse(message: str) -> Reply:
    error = {"type": "invalid_request_error", "message": message}
    return Reply(status=400, body=json.dumps({"type": "error", "error": error}))


async def _write_head(writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers = {"content-type": "text/event-stream", **reply.headers}
    headers |= {"transfer-encoding": "chunked"} if reply.framing == "chunked" else {"connection": "close"}
    writer.write(_head(reply.status, headers))
    await writer.drain()


async def _write_plain(writer: asyncio.StreamWriter, reply: Reply, body: bytes) -> None:
    headers = {"content-type": "application/json", **reply.headers, "content-length": str(len(body))}
    writer.write(_head(reply.status, headers) + body)
    await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _break(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    sock = cast("socket.socket", writer.get_extra_info("socket"))
    if reset:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


def _releaser(provider: Provider) -> Callable[[int, FrameType | None], None]:
    def release(number: int, frame: FrameType | None) -> None:
        provider.release()

    return release


def main(argv: list[str]) -> None:
    """Serve a script until stdin closes."""
    provider = Provider(msgspec.json.decode(Path(argv[0]).read_bytes(), type=Script))
    provider.port = int(argv[1]) if len(argv) > 1 else 0
    signal.signal(signal.SIGUSR1, _releaser(provider))
    with provider:
        print(provider.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
