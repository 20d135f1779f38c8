"""What the strictest server would accept. Written from the servers' rules, not from the validator."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.context.validate import ViewLimits
from tui.messages import AssistantMessage, Image, Message, Refusal, Text, Thinking, ToolCall, ToolResult, UserMessage


def faults(messages: Sequence[Message], limits: ViewLimits) -> list[str]:
    """Return everything a strict server would refuse, in words."""
    found = [*_order(messages), *_pairs(messages), *_images(messages, limits)]
    for place, message in enumerate(messages):
        found += [f"{place}: {fault}" for fault in _content(message)]
    try:
        msgspec.json.encode(messages)
    except UnicodeEncodeError:
        found.append("cannot be encoded")
    return found


def _order(messages: Sequence[Message]) -> list[str]:
    if not messages:
        return ["no message at all"]
    found: list[str] = []
    if not isinstance(messages[0], UserMessage):
        found.append("does not begin with a user message")
    if isinstance(messages[-1], AssistantMessage):
        found.append("ends with an answer")
    return found


def _pairs(messages: Sequence[Message]) -> list[str]:
    found: list[str] = []
    ids: set[str] = set()
    due: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolResult):
            if not due or due[0] != message.call_id:
                found.append(f"{place}: a result without its call right before it")
            else:
                due.pop(0)
            continue
        if due:
            found.append(f"{place}: {len(due)} calls without a result")
        due = [part.id for part in message.content if isinstance(part, ToolCall)]
        if not all(due) or len(set(due)) < len(due) or ids & set(due):
            found.append(f"{place}: ids empty or not unique")
        ids |= set(due)
    return [*found, *(["calls without a result at the end"] if due else [])]


def _content(message: Message) -> list[str]:
    found: list[str] = []
    if not message.content:
        found.append("no content")
    for part in message.content:
        if isinstance(part, Text | Refusal) and not part.text.strip():
            found.append("blank text")
        if isinstance(part, ToolCall) and not part.name:
            found.append("a call without a name")
    if all(isinstance(part, Thinking) for part in message.content):
        found.append("nothing but reasoning")
    return found


def _images(messages: Sequence[Message], limits: ViewLimits) -> list[str]:
    images = [part for message in messages for part in message.content if isinstance(part, Image)]
    found = ["too many images"] if len(images) > limits.images.most else []
    for image in images:
        if not limits.sees_images or image.sha256 in limits.rejected:
            found.append("an image the model cannot take")
        if -(-image.size // 3) * 4 > limits.images.encoded_bytes or max(image.width, image.height) > limits.images.edge:
            found.append("an image over the limits")
    return found
