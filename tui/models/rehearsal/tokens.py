"""How many tokens a request has, by one deterministic rule, and which part of it was sent before.

A stand-in for a tokenizer, not an estimate of another model's: words cost one token per eight letters
begun, digits one per three, marks one per two, wide scripts one per character.
"""

from __future__ import annotations

import re
from collections import OrderedDict

import msgspec

from tui.messages import AssistantMessage, Attachment, Image, Message, Refusal, Text, Thinking, ToolCall
from tui.models.base import Request

__all__ = ["Ledger", "Measured", "count_tokens"]

_PIECE = re.compile(
    "(?P<word>[A-Za-z]+)|(?P<number>[0-9]+)|(?P<newline>\n+)|(?P<blank>[ \t\r\f\v]+)|(?P<mark>[!-/:-@\\[-`{-~]+)"
    "|(?P<wide>[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+)|(?P<control>[\x00-\x1f\x7f]+)"
    "|(?P<other>.)",
    re.DOTALL,
)
_PER_TOKEN = {"word": 8, "number": 3, "newline": 64, "blank": 16, "mark": 2, "wide": 1, "control": 1, "other": 2}
_MESSAGE_OVERHEAD = 4
_IMAGE_TOKENS = 1_000
_SESSIONS = 32


def count_tokens(text: str) -> int:
    """Return the tokens of `text`; 0 for no text."""
    total = 0
    for piece in _PIECE.finditer(text):
        size = piece.end() - piece.start()
        kind = piece.lastgroup or "other"
        if kind == "blank" and size == 1:
            continue
        total += -(-size // _PER_TOKEN[kind])
    return total


class Measured(msgspec.Struct, frozen=True):
    """Tokens of one request: all of it, and the part that is the same as in the request before."""

    total: int
    cached: int


class _Segment(msgspec.Struct, frozen=True):
    text: str
    tokens: int


class Ledger:
    """Measures requests and remembers the newest one of each session, as a provider's prefix cache does."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, tuple[_Segment, ...]] = OrderedDict()

    def measure(self, request: Request) -> Measured:
        """Return the figures of `request` against the one before it in its session; remembers nothing."""
        segments, same = self._segments(request)
        total = sum(segment.tokens for segment in segments) + count_tokens(request.guidance)
        return Measured(total=total, cached=sum(segment.tokens for segment in segments[:same]))

    def remember(self, request: Request) -> None:
        """Take `request` as sent: the next one is compared with it."""
        self._sent[request.session_id] = self._segments(request)[0]
        self._sent.move_to_end(request.session_id)
        while len(self._sent) > _SESSIONS:
            self._sent.popitem(last=False)

    def _segments(self, request: Request) -> tuple[tuple[_Segment, ...], int]:
        before = self._sent.get(request.session_id, ())
        texts = [_head(request), *(_render(message) for message in request.messages)]
        same = 0
        while same < min(len(before), len(texts)) and before[same].text == texts[same]:
            same += 1
        fresh = tuple(_Segment(text=text, tokens=count_tokens(text) + _MESSAGE_OVERHEAD) for text in texts[same:])
        return before[:same] + fresh, same


def _head(request: Request) -> str:
    tools = [f"{tool.name}\n{tool.description}\n{_json(tool.parameters)}" for tool in request.tools]
    return "\n\n".join([request.system, *tools])


def _render(message: Message) -> str:
    role = type(message).__name__
    mark = " error" if not isinstance(message, AssistantMessage) and getattr(message, "is_error", False) else ""
    return f"{role}{mark}\n" + "\n".join(_part(part) for part in message.content)


def _part(part: Text | Attachment | Image | Thinking | ToolCall | Refusal) -> str:
    if isinstance(part, Image):
        return f"[image {part.sha256}]" + "\0" * _IMAGE_TOKENS
    if isinstance(part, ToolCall):
        return f"{part.name} {part.raw or _json(part.arguments)}"
    if isinstance(part, Attachment):
        return f"{part.name}\n{part.text}"
    return part.text


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
