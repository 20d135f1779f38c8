"""Server-sent events from bytes, without I/O: any chunking gives the same events.

Only CR, LF and CRLF end a line. Python's own idea of a line is wider and cuts JSON at U+2028,
U+0085, VT or FF (httpx-sse#34), so nothing here splits lines with the standard library.
"""

from __future__ import annotations

import re

import msgspec

__all__ = ["EVENT_LIMIT", "EventTooLong", "SseEvent", "SseSplitter"]

EVENT_LIMIT = 16 * 1024 * 1024
"""Most bytes of one event, its unfinished line included."""

_LINE_END = re.compile(rb"[\r\n]")
_BOM = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """One event is larger than the limit; the stream cannot be trusted."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event. `name` is empty where the server gave none; `data` lines are joined by LF."""

    name: str
    data: str


class SseSplitter:
    """Takes bytes as they come, gives events as they end. Comments give nothing (they are a sign of life)."""

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._started = False
        self._skip_lf = False
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that end in `chunk`. Raises `EventTooLong`."""
        self._buffer += chunk
        if not self._started and not self._skip_bom():
            return []
        events: list[SseEvent] = []
        start = 0
        while True:
            if self._skip_lf and start < len(self._buffer):
                # A CR ends its line at once; the LF of a CRLF cut in two belongs to it (fern#15495).
                start += self._buffer[start] == 0x0A
                self._scanned = max(self._scanned, start)
                self._skip_lf = False
            found = _LINE_END.search(self._buffer, self._scanned)
            if found is None:
                break
            self._line(bytes(self._buffer[start : found.start()]), events)
            self._skip_lf = found[0] == b"\r"
            start = self._scanned = found.end()
        del self._buffer[:start]
        self._scanned = len(self._buffer)
        if self._scanned + self._size > self._limit:
            raise EventTooLong
        return events

    def finish(self) -> list[SseEvent]:
        """Return what was whole but not closed by an empty line when the stream ended, if anything.

        The last data may be cut; a reader must ignore it where it is not whole JSON.
        """
        events: list[SseEvent] = []
        self._line(bytes(self._buffer), events)
        self._line(b"", events)
        self._buffer.clear()
        return events

    def _skip_bom(self) -> bool:
        head = bytes(self._buffer[:3])
        if head != _BOM and _BOM.startswith(head):
            return False
        if head == _BOM:
            del self._buffer[:3]
        self._started = True
        return True

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if not line:
            self._dispatch(events)
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self._keep(value)
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"error":
                # llama.cpp once sent failures under a field of this name.
                self._name = "error"
                self._keep(value)
            case b"[DONE]":
                # LM Studio: the end marker without its field name (lmstudio-bug-tracker#676).
                self._dispatch(events)
                self._keep(line)
            case _:
                if line.startswith(b"{"):
                    # A failure thrown into the stream as a bare line of JSON, as servers of NDJSON do.
                    self._dispatch(events, self._name)
                    self._keep(line)
                    self._dispatch(events)

    def _keep(self, value: bytes) -> None:
        self._data.append(value)
        self._size += len(value)
        if self._size > self._limit:
            raise EventTooLong

    def _dispatch(self, events: list[SseEvent], name: str = "") -> None:
        """End the event, if there is one; `name` is the next one's."""
        if self._data:
            events.append(SseEvent(self._name, b"\n".join(self._data).decode("utf-8", "replace")))
            name = ""
        self._name, self._data, self._size = name, [], 0
