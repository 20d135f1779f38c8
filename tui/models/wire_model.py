"""What all adapters over HTTP share: one request, its bytes, and the events read from them.

The whole exchange lives in one generator that one task opens, reads and closes (`async with model.stream(…)`).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import ClassVar, Protocol

from tui.messages import Json, new_id
from tui.models.base import (
    BadRequest,
    Connecting,
    Finished,
    ImageRejected,
    ModelError,
    ModelEvent,
    ModelInfo,
    NotTheApi,
    Request,
    StreamDropped,
    StreamStalled,
    TextDelta,
    ThinkingDelta,
)
from tui.models.errors import error_from_response
from tui.models.http import Http, Response, encode_json
from tui.models.pictures import located
from tui.models.sse import EVENT_LIMIT, EventTooLong, SseEvent, SseSplitter

__all__ = ["Reader", "WireModel"]


class Reader(Protocol):
    """A protocol's way to read a stream."""

    @property
    def ended(self) -> bool:
        """Whether the answer is complete."""
        ...

    @property
    def closed(self) -> bool:
        """Whether nothing more can follow."""
        ...

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        """Take one event."""
        ...

    def feed_json(self, data: Json, name: str = "") -> list[ModelEvent]:
        """Take one decoded event, or a whole answer."""
        ...

    def finish(self) -> Finished:
        """Give the terminal event."""
        ...


class WireModel:
    """A model behind HTTP. Sub-classes say where, with which body, and how the answer is read.

    `extra` is laid over every body as it is (for settings one server alone knows). `clock` is Unix time.
    """

    path: ClassVar[str] = ""
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        info: ModelInfo,
        http: Http,
        *,
        extra: Mapping[str, Json] | None = None,
        clock: Callable[[], float] = time.time,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._info = info
        self._http = http
        self._extra = extra or {}
        self._clock = clock
        self._make_id = make_id

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""
        return self._info

    @contextlib.asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[ModelEvent], None]:
        """Send `request`; yields events until `Finished`. Raises a `ModelError` while read."""
        async with contextlib.aclosing(self._events(request)) as events:
            yield events

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request."""
        raise NotImplementedError

    def reader(self) -> Reader:
        """Return a fresh reader."""
        raise NotImplementedError

    def adapt(self, error: BadRequest) -> bool:
        """Learn from a refusal; return whether the request, written anew, is worth one more try."""
        del error
        return False

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        yield Connecting()
        while True:
            body = self.body(request)
            headers = {"accept": "text/event-stream", **self.headers}
            async with self._http.post(self.path, encode_json(body), headers, idle=request.idle) as response:
                refusal = await self._refusal(response)
                if refusal is None:
                    async with contextlib.aclosing(self._read(response)) as events:
                        async for event in events:
                            yield event
                    return
            if not self.adapt(refusal):
                if isinstance(refusal, ImageRejected):
                    refusal.sha256 = located(str(refusal), body, request.images)
                raise refusal

    async def _refusal(self, response: Response) -> BadRequest | None:
        """Raise for an error status, or return what the adapter may learn from."""
        if response.status == 200:
            return None
        body = await response.read()
        error = error_from_response(
            response.status, response.headers, body, now=self._clock(), secrets=self._http.secrets
        )
        if isinstance(error, BadRequest):
            return error
        raise error

    async def _read(self, response: Response) -> AsyncGenerator[ModelEvent, None]:
        reader = self.reader()
        first = await _opening(response)
        if _is_plain(first):
            for event in await self._read_plain(reader, first, response):
                yield event
        else:
            splitter = SseSplitter()
            chunk: bytes | None = first
            while chunk is not None and not reader.closed:
                for event in _merged(_feed(splitter, reader, chunk)):
                    yield event
                chunk = await _next(response, reader)
            if chunk is not None:
                await response.drain()
            for event in () if reader.closed else _merged(_flat(reader, splitter.finish())):
                yield event
        yield reader.finish()

    async def _read_plain(self, reader: Reader, first: bytes, response: Response) -> list[ModelEvent]:
        """Read an answer that is no stream: a page, an error, or a whole message."""
        whole = bytearray(first)
        while len(whole) < EVENT_LIMIT and (chunk := await response.next_chunk()) is not None:
            whole += chunk
        text = whole.decode("utf-8", "replace").lstrip("\ufeff")
        if text.lstrip().startswith("<"):
            raise NotTheApi("The server answered with a web page, not with the API. Check the base URL.")
        try:
            return reader.feed_json(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            pass
        return [event for line in text.split("\n") for event in reader.feed(SseEvent("", line))]


async def _opening(response: Response) -> bytes:
    """Return the first bytes that tell what kind of body this is."""
    first = b""
    while not first.removeprefix(b"\xef\xbb\xbf").strip():
        chunk = await response.next_chunk()
        if chunk is None:
            return first
        first += chunk
    return first


def _is_plain(first: bytes) -> bool:
    """No line of an event stream begins like this; what a server calls its body is not to be trusted."""
    return first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"<", b"{", b"[") and not first.lstrip().startswith(
        b"[D"
    )


async def _next(response: Response, reader: Reader) -> bytes | None:
    try:
        return await response.next_chunk(tail=reader.ended)
    except (StreamDropped, StreamStalled):
        if reader.ended:
            return None  # the answer is complete; only its figures are missing
        raise


def _feed(splitter: SseSplitter, reader: Reader, chunk: bytes) -> Iterator[ModelEvent]:
    try:
        events = splitter.feed(chunk)
    except EventTooLong:
        events = None
    if events is None:
        raise NotTheApi("The server sent an event without end. This is not the API that was expected.")
    return _flat(reader, events)


def _flat(reader: Reader, events: list[SseEvent]) -> Iterator[ModelEvent]:
    return (made for event in events for made in reader.feed(event))


def _merged(events: Iterator[ModelEvent]) -> Iterator[ModelEvent]:
    """Yield the events with neighbouring words of one kind as one: what came at once is told at once.

    What came before an error is yielded before it is raised: nothing that was streamed is lost.
    """
    kind: type[TextDelta | ThinkingDelta] = TextDelta
    words: list[str] = []
    error: ModelError | None = None
    try:
        for event in events:
            if words and type(event) is not kind:
                yield kind("".join(words))
                words = []
            if isinstance(event, TextDelta | ThinkingDelta):
                kind = type(event)
                words.append(event.text)
            else:
                yield event
    except ModelError as raised:
        error = raised
    if words:
        yield kind("".join(words))
    if error is not None:
        raise error
