"""The history as every wire protocol can send it: turns in strict alternation, each call with its result.

The strict half of "tolerant reader, strict writer". It works on what the view gives and changes nothing
there; whatever a history holds, the request that leaves is one the strictest known server accepts.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from tui.messages import (
    Arguments,
    AssistantMessage,
    Attachment,
    Image,
    Message,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui.models.answer import preview
from tui.models.base import ModelInfo, Request

__all__ = ["AssistantTurn", "Picture", "Turn", "UserTurn", "WireCall", "WireResult", "safe_name", "turns", "wire_id"]

NO_OUTPUT = "(no output)"
NO_RESULT = "No result was recorded: the call was interrupted, and its effects are unknown."
GO_ON = "Please go on."
CUT_OFF = "(The conversation goes on from here.)"
IMAGE_LIMIT = 5 * 1024 * 1024
"""Most bytes of one image in base64: what counts is the encoded size (amazon-q#3912)."""


class Picture(msgspec.Struct, frozen=True):
    """An image ready to be sent."""

    media_type: str
    base64: str


Piece: TypeAlias = str | Picture
"""Non-empty text or an image."""


class WireCall(msgspec.Struct, frozen=True):
    """A call as it is sent: an id unique in this request, a legal name, an object as arguments."""

    id: str
    name: str
    arguments: Arguments


class WireResult(msgspec.Struct, frozen=True):
    """The result of a call as it is sent; never empty."""

    id: str
    name: str
    pieces: tuple[Piece, ...]
    is_error: bool


class UserTurn(msgspec.Struct, frozen=True):
    """Results first, then what the person said."""

    results: tuple[WireResult, ...] = ()
    pieces: tuple[Piece, ...] = ()


class AssistantTurn(msgspec.Struct, frozen=True):
    """What the model said: text, replayable thinking and calls in their order."""

    parts: tuple[str | Thinking | WireCall, ...]
    reasoning: str = ""
    """All thinking text of the turn, for servers that want it back as a field."""


Turn: TypeAlias = UserTurn | AssistantTurn


def wire_id(own_id: str) -> str:
    """Return an id that every server accepts. Providers' own ids may be empty or used twice (hermes-agent#70724)."""
    legal = re.fullmatch(r"[A-Za-z0-9]{1,32}", own_id)
    return f"call_{own_id if legal else hashlib.sha256(own_id.encode('utf-8', 'replace')).hexdigest()[:32]}"


def safe_name(name: str) -> str:
    """Return a tool name that every server accepts in a history; the tool need not exist any more."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def turns(request: Request, info: ModelInfo) -> list[Turn]:
    """Return the request's history in strict alternation, beginning and ending with the user.

    Guidance is not in it: it goes behind the last cache marker, which each protocol places itself.
    """
    messages = request.messages
    results = _Results(messages)
    made: list[Turn] = []
    ids: set[str] = set()
    for at, message in enumerate(messages):
        match message:
            case UserMessage():
                _append(made, UserTurn(pieces=tuple(_pieces(message.content, request, info))))
            case AssistantMessage():
                turn, calls = _assistant(message, info, ids)
                _append(made, turn)
                _append(made, UserTurn(results=_answers(calls, at, results, request, info)))
            case ToolResult():
                if at not in results.used:
                    _append(made, _orphan(message, request, info))
    if not made or isinstance(made[0], AssistantTurn):
        made.insert(0, UserTurn(pieces=(CUT_OFF,)))
    if isinstance(made[-1], AssistantTurn):
        # A trailing answer is taken as something to be completed, or refused (llama.cpp#27626).
        made.append(UserTurn(pieces=(GO_ON,)))
    return made


class _Results:
    """The results of a history, each taken once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._where: dict[str, list[int]] = {}
        self.used: set[int] = set()
        for at, message in enumerate(messages):
            if isinstance(message, ToolResult):
                self._where.setdefault(message.call_id, []).append(at)

    def take(self, call_id: str, after: int) -> ToolResult | None:
        """Return the first result of a call behind message number `after` that was not taken yet."""
        for at in self._where.get(call_id, ()):
            message = self._messages[at]
            if at > after and at not in self.used and isinstance(message, ToolResult):
                self.used.add(at)
                return message
        return None


def _append(made: list[Turn], turn: Turn) -> None:
    """Add a turn, merged into the last one where both are of one side; an empty one vanishes."""
    last = made[-1] if made else None
    match turn, last:
        case UserTurn(results=(), pieces=()), _:
            return
        case AssistantTurn(parts=()), _:
            return
        case UserTurn(), UserTurn() if not turn.results or not last.pieces:
            made[-1] = UserTurn(last.results + turn.results, last.pieces + turn.pieces)
        case AssistantTurn(), AssistantTurn():
            made[-1] = AssistantTurn(last.parts + turn.parts, last.reasoning + turn.reasoning)
        case _:
            made.append(turn)


def _assistant(
    message: AssistantMessage, info: ModelInfo, ids: set[str]
) -> tuple[AssistantTurn, list[tuple[str, ToolCall]]]:
    own = message.provider == info.provider and message.model == info.id
    parts: list[str | Thinking | WireCall] = []
    calls: list[tuple[str, ToolCall]] = []
    for part in message.content:
        match part:
            case Text() | Refusal():
                parts += [part.text] if part.text.strip() else []
            case Thinking():
                parts += [part] if own and (part.signature or part.redacted) else []
            case ToolCall():
                wire = _unique(wire_id(part.id), ids)
                calls.append((wire, part))
                parts.append(WireCall(wire, safe_name(part.name), _arguments(part)))
    if all(isinstance(part, Thinking) for part in parts):
        parts = []  # thinking alone is no turn (kimi-code#3429)
    reasoning = "".join(part.text for part in message.content if isinstance(part, Thinking)) if own else ""
    return AssistantTurn(tuple(parts), reasoning), calls


def _unique(wire: str, ids: set[str]) -> str:
    made, number = wire, 1
    while made in ids:
        number += 1
        made = f"{wire[:36]}_{number}"
    ids.add(made)
    return made


def _arguments(call: ToolCall) -> Arguments:
    # Broken argument text never leaves as it is; a server would fail on it a turn later (litellm#33678).
    return {"_invalid": preview(call.raw)} if call.raw or call.error else call.arguments


def _answers(
    calls: list[tuple[str, ToolCall]], at: int, results: _Results, request: Request, info: ModelInfo
) -> tuple[WireResult, ...]:
    """Return one result per call, in call order, from wherever it comes after message number `at`."""
    made: list[WireResult] = []
    for wire, call in calls:
        message = results.take(call.id, at)
        if message is None:
            made.append(WireResult(wire, safe_name(call.name), (NO_RESULT,), is_error=True))
            continue
        pieces = tuple(_pieces(message.content, request, info)) or (NO_OUTPUT,)
        made.append(WireResult(wire, safe_name(call.name), pieces, message.is_error))
    return tuple(made)


def _orphan(message: ToolResult, request: Request, info: ModelInfo) -> UserTurn:
    """Keep a result whose call is gone readable, as quoted text (claude-code#24670)."""
    pieces = tuple(_pieces(message.content, request, info)) or (NO_OUTPUT,)
    return UserTurn(pieces=(f"[Result of an earlier call of {safe_name(message.name)}]", *pieces))


def _pieces(content: Sequence[Text | Attachment | Image], request: Request, info: ModelInfo) -> Iterator[Piece]:
    for part in content:
        match part:
            case Text():
                if part.text.strip():
                    yield part.text
            case Attachment():
                yield f'<attachment name="{part.name}">\n{part.text}\n</attachment>'
            case Image():
                yield _picture(part, request, info)


def _picture(image: Image, request: Request, info: ModelInfo) -> Piece:
    data = request.images.get(image.sha256)
    label = f"{image.media_type} {image.width}x{image.height}, sha256 {image.sha256[:12]}"
    if not info.images:
        return f"[image {label}: this model cannot see images]"
    if data is None:
        return f"[image {label}: not available]"
    if (len(data) + 2) // 3 * 4 > IMAGE_LIMIT:
        return f"[image {label}: larger than the provider allows]"
    return Picture(image.media_type, base64.b64encode(data).decode("ascii"))
