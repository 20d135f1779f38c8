"""The one validator before each request, the summary included: repairs the view, never the log.

Whatever the history holds, what comes out satisfies the strictest server known: it begins with a user
message and does not end with an answer, each call is followed at once by its one result, no text is
empty, ids are unique, nothing in it can fail to encode, signed reasoning is byte-exact or left out, and
images are within limits. So no history can brick a session.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    Json,
    Message,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    clean,
    clean_json,
)

__all__ = ["NO_OUTPUT", "NO_RESULT", "ImageLimits", "ViewLimits", "describe_image", "validate"]

NO_OUTPUT = "(no output)"
NO_RESULT = "No result is recorded for this call: its effects are unknown. Check before repeating it."
_BEGINNING = "(The conversation begins in the middle: what came before is not part of this view.)"
_GO_ON = "(Go on from here.)"
_EMPTY_PROMPT = "(empty message)"
_NAMELESS = "unknown_tool"

_UserPart: TypeAlias = Text | Attachment | Image


class ImageLimits(msgspec.Struct, frozen=True):
    """What a provider takes: the encoded (base64) size counts, not the bytes on disk (amazon-q#3912)."""

    most: int = 20
    """Images per request; the newest are kept."""
    encoded_bytes: int = 5 * 1024 * 1024
    edge: int = 8_000
    """Pixels."""


class ViewLimits(msgspec.Struct, frozen=True):
    """What the model that is asked can take."""

    model: str = ""
    provider: str = ""
    sees_images: bool = True
    images: ImageLimits = ImageLimits()
    rejected: frozenset[str] = frozenset()
    """sha256 of images the server has refused: they are placeholders from then on."""


def validate(messages: Sequence[Message], limits: ViewLimits) -> tuple[Message, ...]:
    """Return the messages as they may be sent. Valid input comes back equal."""
    verdicts = iter(_image_verdicts(messages, limits))
    mended = [_mend(message, limits, verdicts) for message in messages]
    paired = _paired(mended)
    said = [message for message in paired if message.content]
    if not said or not isinstance(said[0], UserMessage):
        said.insert(0, UserMessage(content=(Text(_BEGINNING),)))
    if isinstance(said[-1], AssistantMessage):
        said.append(UserMessage(content=(Text(_GO_ON),)))
    return tuple(said)


# --- each message by itself ---------------------------------------------------------------------


def _mend(message: Message, limits: ViewLimits, verdicts: Iterator[str]) -> Message:
    match message:
        case UserMessage():
            parts = tuple(_user_part(part, verdicts) for part in message.content)
            spoken = _spoken(parts) or (Text(_EMPTY_PROMPT),)
            return message if _untouched(spoken, message.content) else UserMessage(content=spoken)
        case ToolResult():
            parts = tuple(_result_part(part, verdicts) for part in message.content)
            kept = tuple(part for part in parts if not isinstance(part, Text) or part.text.strip())
            kept = kept or (Text(NO_OUTPUT),)
            return message if _untouched(kept, message.content) else msgspec.structs.replace(message, content=kept)
        case AssistantMessage():
            return _mend_answer(message, limits)


def _untouched(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether all parts are the very same: then the message itself is sent, and what is known of it still holds."""
    return len(new) == len(old) and all(map(operator.is_, new, old))


def _spoken(parts: tuple[_UserPart, ...]) -> tuple[_UserPart, ...]:
    return tuple(part for part in parts if isinstance(part, Image) or part.text.strip())


def _user_part(part: _UserPart, verdicts: Iterator[str]) -> _UserPart:
    match part:
        case Text():
            return _clean_text(part)
        case Attachment():
            name, text = clean(part.name), clean(part.text)
            same = name == part.name and text == part.text
            return part if same else Attachment(name=name, text=text)
        case Image():
            return _image(part, verdicts)


def _result_part(part: Text | Image, verdicts: Iterator[str]) -> Text | Image:
    return _clean_text(part) if isinstance(part, Text) else _image(part, verdicts)


def _clean_text(part: Text) -> Text:
    text = clean(part.text)
    return part if text == part.text else Text(text)


def _mend_answer(message: AssistantMessage, limits: ViewLimits) -> AssistantMessage:
    own = message.model == limits.model and message.provider == limits.provider
    thinks = own and all(_encodes(part) for part in message.content if isinstance(part, Thinking))
    parts = tuple(_answer_part(part) for part in message.content if thinks or not isinstance(part, Thinking))
    if not any(isinstance(part, ToolCall) or (isinstance(part, Text) and part.text.strip()) for part in parts):
        # Reasoning alone is no answer for a server: "must contain content or tool_calls" (LLMKube#935).
        parts = ()
    kept = tuple(part for part in parts if not isinstance(part, Text) or part.text.strip())
    return message if _untouched(kept, message.content) else msgspec.structs.replace(message, content=kept)


def _encodes(part: Thinking) -> bool:
    """Whether the block can be sent as it is: one changed byte and the provider refuses it (pi#9112)."""
    return all(clean(text) == text for text in (part.text, part.signature, part.redacted)) and bool(
        part.text or part.redacted or part.signature
    )


def _answer_part(part: Text | Thinking | ToolCall | Refusal) -> Text | Thinking | ToolCall:
    match part:
        case Text():
            return _clean_text(part)
        case Thinking():
            return part
        case Refusal():
            return Text(clean(part.text))
        case ToolCall():
            return _clean_call(part)


def _clean_call(part: ToolCall) -> ToolCall:
    arguments: dict[str, Json] = clean_json(part.arguments)
    name, raw = clean(part.name) or _NAMELESS, clean(part.raw)
    if (name, raw) == (part.name, part.raw) and arguments == part.arguments:
        return part
    return msgspec.structs.replace(part, name=name, arguments=arguments, raw=raw)


# --- images -------------------------------------------------------------------------------------


def describe_image(image: Image, why: str = "") -> str:
    """Return the words that stand for an image: its size, type and hash."""
    size = f"{image.width}x{image.height}, " if image.width and image.height else ""
    return f"[image {size}{image.media_type}, sha256 {image.sha256[:12]}{': ' if why else ''}{why}]"


def _image(image: Image, verdicts: Iterator[str]) -> Image | Text:
    why = next(verdicts)
    return Text(describe_image(image, why)) if why else image


def _unsendable(image: Image, limits: ViewLimits) -> str:
    """Return why an image cannot be sent, or nothing."""
    if not limits.sees_images:
        return "this model cannot see images"
    if image.sha256 in limits.rejected:
        return "the server refused it"
    if (image.size + 2) // 3 * 4 > limits.images.encoded_bytes:
        return "too large for the server"
    return "too many pixels for the server" if max(image.width, image.height) > limits.images.edge else ""


def _image_verdicts(messages: Sequence[Message], limits: ViewLimits) -> list[str]:
    """Return for each image, in order, why it is left out, or nothing: the newest that fit are sent."""
    images = [image for message in messages for image in message.content if isinstance(image, Image)]
    verdicts = [_unsendable(image, limits) for image in images]
    room = limits.images.most
    for place in reversed(range(len(verdicts))):
        if not verdicts[place]:
            room -= 1
            if room < 0:
                verdicts[place] = "left out, newer images fill the request"
    return verdicts


# --- calls and results --------------------------------------------------------------------------


def _paired(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield all messages with each call's one result right after its answer; orphaned results are dropped."""
    results = _match_results(messages)
    seen: set[str] = set()
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                yield message
            case AssistantMessage():
                yield from _answer_with_results(place, message, results, seen)
            case ToolResult():
                pass


def _match_results(messages: Sequence[Message]) -> dict[tuple[int, int], ToolResult]:
    """Return the result of each call, by (place of the answer, number of the call).

    A server may give every call of a session one id (hermes-agent#70724): a result then belongs to the
    newest answer that still has an open call of that id, the first such call in it.
    """
    open_calls: dict[str, list[tuple[int, int]]] = {}
    results: dict[tuple[int, int], ToolResult] = {}
    for place, message in enumerate(messages):
        match message:
            case AssistantMessage():
                for number, call in reversed(list(enumerate(message.calls))):
                    open_calls.setdefault(call.id, []).append((place, number))
            case ToolResult():
                waiting = open_calls.get(message.call_id)
                if waiting:
                    results[waiting.pop()] = message
            case UserMessage():
                pass
    return results


def _answer_with_results(
    place: int, message: AssistantMessage, results: dict[tuple[int, int], ToolResult], seen: set[str]
) -> Iterator[Message]:
    parts: list[Text | Thinking | ToolCall | Refusal] = []
    following: list[ToolResult] = []
    for part in message.content:
        if not isinstance(part, ToolCall):
            parts.append(part)
            continue
        number = len(following)
        call = part if part.id and part.id not in seen else msgspec.structs.replace(part, id=_fresh(part, seen))
        seen.add(call.id)
        parts.append(call)
        given = results.get((place, number)) or ToolResult(call.id, call.name, (Text(NO_RESULT),), is_error=True)
        fits = (given.call_id, given.name) == (call.id, call.name)
        following.append(given if fits else msgspec.structs.replace(given, call_id=call.id, name=call.name))
    yield message if _untouched(parts, message.content) else msgspec.structs.replace(message, content=tuple(parts))
    yield from following


def _fresh(call: ToolCall, seen: set[str]) -> str:
    """Return an id no call before it has, the same for the same history."""
    stem = call.id or "call"
    number = 2
    while f"{stem}-{number}" in seen:
        number += 1
    return f"{stem}-{number}"
