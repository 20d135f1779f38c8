"""The words every layer shares: messages, calls, results, usage. Frozen and provider-neutral.

Nothing here knows a wire protocol, a database or a screen. Text is kept byte for byte as it was
authored; the one change made where text enters is `clean`, which replaces what cannot be encoded.
"""

from __future__ import annotations

import enum
import os
import re
import time
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import msgspec

__all__ = [
    "Arguments",
    "AssistantMessage",
    "Attachment",
    "Image",
    "Json",
    "Message",
    "Refusal",
    "StopReason",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "UserMessage",
    "clean",
    "clean_json",
    "new_id",
]

Json: TypeAlias = Any
"""Decoded JSON: None, bool, int, float, str, list or dict."""
Arguments: TypeAlias = Mapping[str, Json]
"""The arguments of a tool call: always a JSON object."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return `text` with each lone surrogate replaced by U+FFFD; everything else stays.

    Called where text enters (provider, tools, files, argv, clipboard), so that no encoder
    further on can raise. A lone surrogate in a stored message bricks a session for good
    elsewhere (claude-code#68325).
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean_json(value: Json) -> Json:
    """Return a decoded JSON value with `clean` applied to every string and key in it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        return {clean(key): clean_json(item) for key, item in cast("dict[str, Json]", value).items()}
    return value


def new_id(now_ms: int | None = None) -> str:
    """Return a fresh uuid7 as 32 hex digits: 48 bits of milliseconds, then random (RFC 9562 §5.7)."""
    stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    random = int.from_bytes(os.urandom(10), "big")
    value = (stamp & (2**48 - 1)) << 80 | 0x7 << 76 | (random >> 66 & 0xFFF) << 64 | 0b10 << 62
    return f"{value | random & (2**62 - 1):032x}"


class StopReason(enum.Enum):
    """Why an answer ended. Only `COMPLETE` and `TOOL_CALLS` mean the provider finished it."""

    COMPLETE = "complete"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    """Cut by the output limit: none of its calls may run (Cogtrix#1370)."""
    REFUSAL = "refusal"
    EMPTY = "empty"
    """Ended regularly, but with neither text nor call (thinking alone counts as empty)."""
    ERROR = "error"
    """The provider reported an error, before or in the middle of the stream."""
    DROPPED = "dropped"
    """The stream just ended, without a terminal event."""
    STALLED = "stalled"
    """No byte for longer than the idle limit."""
    ABORTED = "aborted"
    """A person pressed Esc, or the program is stopping."""

    @property
    def is_complete(self) -> bool:
        """Whether a terminal event was seen and the answer may be acted on."""
        return self in (StopReason.COMPLETE, StopReason.TOOL_CALLS)


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request as the provider reported them. `input` excludes both cache figures."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """What the next request starts from: the whole prompt plus the answer."""
        return self.input + self.cache_read + self.cache_write + self.output


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Plain text."""

    text: str


class Attachment(msgspec.Struct, frozen=True, tag="attachment", omit_defaults=True):
    """Matter that came with authored words (stdin, an `@file`, a large paste): sent, but not authored."""

    name: str
    text: str


class Image(msgspec.Struct, frozen=True, tag="image", omit_defaults=True):
    """An image by the hash of its blob in the log; the bytes are given to the adapter beside it."""

    sha256: str
    media_type: str
    width: int = 0
    height: int = 0
    size: int = 0
    """Bytes, before base64."""


class Thinking(msgspec.Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning. A signed block is replayed byte for byte to the model that made it, or not at all."""

    text: str
    signature: str = ""
    redacted: str = ""
    """Opaque data of a redacted block (Anthropic); `text` is then empty."""


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """What the provider said when it refused."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A call the model made. `id` is ours and unique for ever; `provider_id` may be anything."""

    id: str
    name: str
    arguments: dict[str, Json] = {}
    raw: str = ""
    """The argument text as received, where it was no valid JSON object; then `arguments` is empty."""
    error: str = ""
    """Why the arguments cannot be used; such a call is answered with this and never run."""
    provider_id: str = ""


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    """What the person (or the program on their behalf) says to the model."""

    content: tuple[Text | Attachment | Image, ...]

    @property
    def authored(self) -> str:
        """The authored words alone, byte for byte, without attachments."""
        return "".join(part.text for part in self.content if isinstance(part, Text))


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant", omit_defaults=True):
    """One answer: its parts in the order they came, how it ended, and what it cost."""

    content: tuple[Text | Thinking | ToolCall | Refusal, ...]
    stop: StopReason
    model: str = ""
    provider: str = ""
    usage: Usage | None = None
    """None where the provider reported none: unknown is a value, never zero."""
    error: str = ""
    """For a person: why it did not end well."""

    @property
    def text(self) -> str:
        """The visible words, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(part for part in self.content if isinstance(part, ToolCall))


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """The one result of a call, as the model sees it: bounded text, perhaps with images."""

    call_id: str
    name: str
    content: tuple[Text | Image, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model is told of it. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Json]
    short: str = ""
    """A one-line description for windows below 16k tokens; empty means use `description`."""


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult
