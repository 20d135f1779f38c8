"""The seam between the agent and a model: messages in, events out, errors typed.

An adapter turns a `Request` into the bytes of one wire protocol and the provider's bytes into
these events. It never retries, never logs and never raises anything but `ModelError`.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

from tui.messages import AssistantMessage, Message, ToolSpec

__all__ = [
    "AnswerEndless",
    "AuthFailed",
    "BadRequest",
    "Connecting",
    "ConnectionFailed",
    "ContextTooLong",
    "Effort",
    "EmptyAnswer",
    "Finished",
    "ImageRejected",
    "Model",
    "ModelError",
    "ModelEvent",
    "ModelInfo",
    "ModelNotFound",
    "NotTheApi",
    "Overloaded",
    "QuotaExceeded",
    "RateLimited",
    "Request",
    "StreamDropped",
    "StreamStalled",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallDelta",
    "WindowSource",
]


class WindowSource(enum.Enum):
    """Where the size of the context window is known from, strongest first."""

    SETTING = "setting"
    SERVER = "server"
    CATALOGUE = "catalogue"
    ASSUMED = "assumed"


class ModelInfo(msgspec.Struct, frozen=True):
    """What is known of a model before it is asked anything."""

    id: str
    provider: str
    """anthropic, openai-chat, openai-responses or rehearsal."""
    base_url: str = ""
    window: int = 32_768
    """Tokens of context."""
    window_source: WindowSource = WindowSource.ASSUMED
    max_output: int = 8_192
    """Most tokens one answer may have."""
    tools: bool = True
    images: bool = False
    thinking: bool = False
    priced: bool = False
    """Whether the prices are known; where they are not, what a request costs is unknown, not nothing."""
    input_price: float = 0.0
    """Dollars per million tokens."""
    output_price: float = 0.0
    cache_read_price: float = 0.0
    cache_write_price: float = 0.0


Effort: TypeAlias = Literal["", "low", "medium", "high"]
"""How much a model is asked to think before it answers; empty asks for nothing."""


class Request(msgspec.Struct, frozen=True):
    """One model call. The same prefix gives the same bytes, so that a provider's cache holds."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output: int = 8_192
    guidance: str = ""
    """A transient note to the model, sent after the newest message behind the last cache marker; never stored."""
    images: Mapping[str, bytes] = {}
    """The bytes of each image named in `messages`, by sha256."""
    session_id: str = ""
    """A stable key for the provider's cache routing."""
    effort: Effort = ""
    idle: float | None = None
    """Seconds without a byte after which it is given up; None is the adapter's own patience."""


class Connecting(msgspec.Struct, frozen=True):
    """The request is on its way; nothing has come back yet."""


class TextDelta(msgspec.Struct, frozen=True):
    """More visible text."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """More reasoning text."""

    text: str


class ToolCallDelta(msgspec.Struct, frozen=True):
    """More of a call's argument text; `index` counts the calls of this answer from 0."""

    index: int
    name: str
    text: str


class Finished(msgspec.Struct, frozen=True):
    """The terminal event: the whole answer. The only sign that a stream is over; always the last event."""

    message: AssistantMessage


ModelEvent: TypeAlias = Connecting | TextDelta | ThinkingDelta | ToolCallDelta | Finished


class Model(Protocol):
    """A model that can be asked. One task opens the stream, reads it and closes it."""

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Send `request`; yields events until `Finished`. Raises a `ModelError` on the way in or while read.

        A cancelled reader closes the connection at once; nothing is read afterwards.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


class ModelError(Exception):
    """A request that failed. `str()` is one sentence for a person, without any key or header.

    `retryable`: the same request may work later. `retry_after`: seconds the server asked for,
    a lower bound. `partial`: text had already come (the agent keeps it, marked).
    """

    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class ConnectionFailed(ModelError):
    """Refused, unreachable, name not found, TLS failure, connection reset before the answer."""

    retryable = True


class AuthFailed(ModelError):
    """The key is missing, wrong, or not allowed to do this."""


class ModelNotFound(ModelError):
    """The server does not know the model."""


class RateLimited(ModelError):
    """Too many requests; honours `retry_after`."""

    retryable = True


class Overloaded(ModelError):
    """5xx, 529, or an overload error in the stream."""

    retryable = True


class QuotaExceeded(ModelError):
    """No money or quota left: waiting does not help."""


class BadRequest(ModelError):
    """The server refused this request for good."""


class ImageRejected(BadRequest):
    """An image was not taken: the view replaces it by a placeholder and the request is repeated.

    `blind`: the model takes none at all. `sha256`: which one it was, where the server said so.
    """

    def __init__(self, message: str, *, status: int | None = None, blind: bool = False) -> None:
        super().__init__(message, status=status)
        self.blind = blind
        self.sha256 = ""


class ContextTooLong(ModelError):
    """More tokens than the window. `limit`: the window in tokens where the server named it."""

    def __init__(self, message: str, *, limit: int | None = None, status: int | None = None) -> None:
        super().__init__(message, status=status)
        self.limit = limit


class StreamDropped(ModelError):
    """The stream ended or was reset without a terminal event."""

    retryable = True


class StreamStalled(ModelError):
    """No byte for the idle limit."""

    retryable = True


class EmptyAnswer(ModelError):
    """A stream with nothing in it (perhaps an overflow that the server hides)."""

    retryable = True


class AnswerEndless(ModelError):
    """Far more came than the request allowed: the server does not end the answer, or the reasoning before it."""


class NotTheApi(ModelError):
    """The address answers, but not as this protocol (HTML, wrong path, not JSON)."""
