"""The one module that speaks HTTP. httpx is imported on the first request, never at start.

A response is opened and closed by one task; no cancel scope is ever open across a yield, so a cancelled reader
closes its connection at once and nothing else notices (agentrove#192). The body is read ahead by a task of its
own: a time limit for each of the small pieces a server sends would cost more than the pieces.
Errors are raised outside of any `except`, so that no traceback can reach an object that holds a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Mapping
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread
import msgspec

from tui.messages import Json, clean
from tui.models.base import BadRequest, ConnectionFailed, ModelError, StreamDropped, StreamStalled
from tui.models.errors import sanitise
from tui.models.keys import Secret, is_loopback, origin

if TYPE_CHECKING:
    import httpx

__all__ = ["AHEAD", "BODY_LIMIT", "Http", "Response", "Timeouts", "encode_json"]

T = TypeVar("T")

BODY_LIMIT = 256 * 1024
"""Most bytes of an error that are read."""
LIST_LIMIT = 16 * 1024 * 1024
"""Most bytes of a list of models that are read."""
AHEAD = 32 * 1024
"""Bytes of a body that are read before anyone asked for them."""


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds without a byte after which a request is given up, by phase."""

    connect: float = 15.0
    first_byte: float = 300.0
    """A local server may read a long prompt for minutes before it says anything."""
    between: float = 120.0
    tail: float = 5.0
    """After the answer's end, while its usage figures may still follow."""
    drain: float = 0.25
    """After the very last event, for the body's own end: then the connection can be used again."""


def encode_json(body: Json) -> bytes:
    """Return `body` as UTF-8 JSON. Cannot raise on any text: what cannot be encoded becomes U+FFFD."""
    return clean(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


class _Ahead:
    """Reads a body in a task of its own; whoever asks gets all that has come, in one piece."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._parts: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False
        self._task: asyncio.Task[None] | None = None

    async def take(self) -> bytes | None:
        """Return what has come, waiting for the first byte; None at the end. Raises what reading raised."""
        if self._task is None:
            self._task = asyncio.create_task(self._read())
        await self._news.wait()
        if not self._parts:
            await self._task
            return None
        whole, self._parts, self._size = b"".join(self._parts), [], 0
        self._room.set()
        if not self._ended:
            self._news.clear()
        return whole

    async def stop(self) -> None:
        """Read no more."""
        task = self._task
        if task is not None and task.cancel():
            await asyncio.wait([task])
        if task is not None and not task.cancelled():
            task.exception()  # nobody waits for what it raised any more

    async def _read(self) -> None:
        try:
            async for chunk in self._chunks:
                self._parts.append(chunk)
                self._size += len(chunk)
                self._news.set()
                if self._size >= AHEAD:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._ended = True
            self._news.set()


class Response:
    """An open answer: status, headers with lower-case names, and the body in pieces as they come."""

    def __init__(self, inner: httpx.Response, timeouts: Timeouts) -> None:
        self.status = inner.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in inner.headers.items()}
        self._ahead = _Ahead(inner.aiter_bytes())
        self._timeouts = timeouts
        self._first = True

    async def next_chunk(self, *, tail: bool = False) -> bytes | None:
        """Return what has come, or None at the end of the body. Raises `StreamStalled` or `StreamDropped`."""
        limit = self._timeouts.first_byte if self._first else self._timeouts.between
        chunk = await _guard(self._ahead.take(), self._timeouts.tail if tail else limit, "sent nothing more")
        self._first = False
        return chunk

    async def drain(self) -> None:
        """Read on to the end of the body where it is near; else the connection is closed instead of kept."""
        with contextlib.suppress(StreamDropped, StreamStalled):
            for _ in range(64):
                if await _guard(self._ahead.take(), self._timeouts.drain, "went on") is None:
                    return

    async def stop(self) -> None:
        """End what reads ahead."""
        await self._ahead.stop()

    async def read(self, limit: int = BODY_LIMIT) -> bytes:
        """Return the body up to about `limit` bytes; what a broken connection leaves counts as the body."""
        parts: list[bytes] = []
        with contextlib.suppress(StreamDropped, StreamStalled):
            while sum(map(len, parts)) < limit and (chunk := await self.next_chunk(tail=bool(parts))) is not None:
                parts.append(chunk)
        return b"".join(parts)[:limit]


class Http:
    """Requests to one base URL with one key. The key is put into the header of this origin's requests alone."""

    def __init__(self, base_url: str, key: Secret | None, key_header: str, timeouts: Timeouts | None = None) -> None:
        origin(base_url)
        self.base_url = base_url.rstrip("/")
        self.secrets = (key,) if key else ()
        self._key_header = key_header
        self._timeouts = timeouts or Timeouts()
        self._client: httpx.AsyncClient | None = None

    @contextlib.asynccontextmanager
    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, idle: float | None = None
    ) -> AsyncGenerator[Response, None]:
        """POST JSON bytes and give the open answer, whatever its status. Raises `ModelError`.

        `idle`: seconds without a byte, in the place of what this client waits.
        """
        waits = self._timeouts
        if idle is not None:
            waits = msgspec.structs.replace(waits, first_byte=idle, between=idle)
        async with self._open("POST", path, body, {"content-type": "application/json", **headers}, waits) as response:
            yield response

    async def get_json(self, path: str, headers: Mapping[str, str] | None = None) -> Json:
        """Return the JSON at `path`, or None where the answer is not a 200 with JSON. Raises `ModelError`."""
        async with self._open("GET", path, None, headers or {}, self._timeouts) as response:
            return _json(await response.read(LIST_LIMIT)) if response.status == 200 else None

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @contextlib.asynccontextmanager
    async def _open(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], waits: Timeouts
    ) -> AsyncGenerator[Response, None]:
        client = await self._connect()
        request = client.build_request(
            method, self.base_url + path, content=body, headers={"accept-encoding": "identity", **headers}
        )
        auth = _header_auth(self._key_header, self.secrets[0]) if self.secrets else None
        inner = await _guard(
            client.send(request, stream=True, auth=auth),
            waits.first_byte,
            "did not answer",
            opening=origin(self.base_url),
        )
        response = Response(inner, waits)
        try:
            yield response
        finally:
            # Closing must not be cut short by the cancellation that asked for it, nor hang on a dead peer.
            with anyio.CancelScope(shield=True), anyio.move_on_after(1.0):
                await response.stop()
                await inner.aclose()

    async def _connect(self) -> httpx.AsyncClient:
        if self._client is None:
            # Importing httpx and reading certificates takes a tenth of a second: not on the event loop.
            made = await anyio.to_thread.run_sync(_new_client, self.base_url, self._timeouts.connect)
            self._client = self._client or made
        return self._client


def _new_client(base_url: str, connect: float) -> httpx.AsyncClient:
    import httpx

    failure = ""
    try:
        return httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=connect, pool=connect),
            limits=httpx.Limits(keepalive_expiry=60.0),
            follow_redirects=False,
            # A proxy is for the world outside; it cannot reach this machine's own ports.
            trust_env=not is_loopback(base_url),
        )
    except ImportError:
        failure = (
            "A SOCKS proxy is set in the environment, which needs the package socksio. Install it or unset the proxy."
        )
    except (ValueError, OSError, httpx.InvalidURL):
        failure = (
            "The proxy or certificate settings in the environment (HTTPS_PROXY, SSL_CERT_FILE, …) cannot be used. "
            "Mend or unset them, and start again."
        )
    raise BadRequest(failure)  # no waiting mends it


def _header_auth(name: str, key: Secret) -> httpx.Auth:
    """Return what writes the key into a request's header at the last moment."""
    import httpx

    class KeyHeader(httpx.Auth):
        """Writes the one header."""

        def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
            """Add the key and send."""
            value = key.reveal()
            request.headers[name] = f"Bearer {value}" if name == "authorization" else value
            yield request

    return KeyHeader()


async def _guard(work: Awaitable[T], limit: float, what: str, *, opening: str = "") -> T:
    """Await `work` for at most `limit` seconds; whatever goes wrong becomes a `ModelError` without a context.

    `opening`: the address, where the connection is still to be made.
    """
    import httpx

    try:
        with anyio.fail_after(limit):
            return await work
    except TimeoutError:
        error: ModelError = StreamStalled(f"The server {what} for {limit:g} seconds.")
    except httpx.TimeoutException:
        error = StreamStalled("The connection could not be made in time.")
    except httpx.TransportError as failure:
        error = _translate(failure, opening=opening)
    except (httpx.InvalidURL, httpx.StreamError, httpx.DecodingError, UnicodeError):
        error = BadRequest(
            "The request could not be built or its answer not be decoded. Check the base URL and the key."
        )
    raise error


def _translate(failure: httpx.TransportError, *, opening: str) -> ModelError:
    import httpx

    if isinstance(failure, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        # The text of this one may quote a header, so it is not repeated.
        return BadRequest("The request cannot be sent as it is. Check the base URL and the key.")
    why = sanitise(str(failure), limit=160) or type(failure).__name__
    if isinstance(failure, httpx.ConnectError | httpx.ProxyError):
        return ConnectionFailed(f"No connection to {opening}: {why}. Is it running, and is the address right?")
    if opening:
        return ConnectionFailed(f"{opening} closed the connection before it answered: {why}.")
    return StreamDropped("The connection broke before the answer was complete.")


def _json(body: bytes) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
