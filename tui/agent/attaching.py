"""`@name` in what a person writes: the file, folder or image it names goes with the words, as a part of its own.

The words stay as they were written (`spec/handoff.md`, the word *authored*). A name that leads nowhere is a word
like any other: an address, a decorator. The person named it, so no rule is asked, wherever it lies.
"""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

import msgspec

from tui.messages import Attachment, Image, Text, UserMessage, clean
from tui.tools.base import ToolContext, ToolError
from tui.tools.ls import LS
from tui.tools.paths import Place, locate
from tui.tools.read import READ

if TYPE_CHECKING:
    from tui.agent.agent import Agent

__all__ = ["attach", "draft_of", "mentions"]

MOST_BYTES = 200 * 1024
"""UTF-8 bytes of text that go with one message; each file is cut as `read` cuts it."""
MOST_NAMES = 50

_MENTION = re.compile(r'(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|(\S+))')
_AFTER = ".,;:!?)]}'\""
"""What a sentence may put behind a name."""


def mentions(words: str) -> list[str]:
    """Return the names behind an `@`, each once and in order; whether anything is there is not looked at."""
    found = (quoted or bare for quoted, bare in _MENTION.findall(words))
    return list(dict.fromkeys(found))[:MOST_NAMES]


async def attach(agent: Agent, message: UserMessage) -> UserMessage:
    """Return the message with what its words name. Raises `LogError` where an image cannot be kept.

    What is there but cannot be read, or is too much, is said in a line: the words go alone.
    """
    context = msgspec.structs.replace(agent.context("mention"), images=True)
    parts: list[Attachment | Image] = []
    room = MOST_BYTES
    for name in mentions(message.authored):
        place = _place(context, name)
        if place is None:
            continue
        try:
            found = await _part(agent, context, place)
        except ToolError as error:
            agent.say(f"Not attached: {error}")
            continue
        size = len(found.text.encode()) if isinstance(found, Attachment) else 0
        if size > room:
            agent.say(f"Not attached: {place.name}, a message takes {MOST_BYTES >> 10} KiB of files. It can be read.")
            continue
        room -= size
        parts.append(found)
    return msgspec.structs.replace(message, content=(*message.content, *parts)) if parts else message


def draft_of(message: UserMessage) -> str:
    """Return what goes back to an editor: the words, and pasted or piped matter whole in its place.

    A file is left out where the words name it: it is attached again when they are sent again.
    """
    named = {os.path.normpath(name.rstrip(_AFTER)) for name in mentions(message.authored)}
    return "".join(
        part.text
        for part in message.content
        if isinstance(part, Text) or (isinstance(part, Attachment) and os.path.normpath(part.name) not in named)
    )


def _place(context: ToolContext, name: str) -> Place | None:
    """Return what a name leads to, without what a sentence puts behind it; None where nothing is there."""
    for text in dict.fromkeys((name, name.rstrip(_AFTER))):
        try:
            place = locate(context, text)
            if place.real.exists():
                return place
        except (ToolError, OSError):
            continue
    return None


async def _part(agent: Agent, context: ToolContext, place: Place) -> Attachment | Image:
    tool = LS if place.real.is_dir() else READ
    outcome = await tool.run(context, {"path": str(place.real)})
    for image, raw in outcome.images:
        await agent.journal.log.put_blob(raw)
        return image
    return Attachment(place.name, clean(outcome.text))
