"""What leaves the composer for the agent: messages with the images they name, and commands of the person."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec

from tui.agent.shell import run_shell
from tui.messages import Image, Text, UserMessage
from tui.tools.pictures import MAX_ENCODED_BYTES, picture

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.widgets.editor import SendMode

__all__ = ["image_paths", "run_for_person", "send"]

_IMAGE = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]+)"|(\S+))')
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_MOST = MAX_ENCODED_BYTES * 3 // 4
"""Bytes of one image."""


def image_paths(words: str, cwd: Path) -> list[Path]:
    """Return the images that are named with an `@` in `words`, each once; whether they are there is not looked at."""
    named = (Path(quoted or bare).expanduser() for quoted, bare in _IMAGE.findall(words))
    return list(dict.fromkeys(cwd / path for path in named if path.suffix.lower() in _SUFFIXES))


async def send(agent: Agent, message: UserMessage, mode: SendMode, cwd: Path) -> None:
    """Send a message, with the images its words name. Raises `AgentStoppedError`, `LogError`."""
    agent.check()
    words = "\n".join(part.text for part in message.content if isinstance(part, Text))
    images = [image for path in image_paths(words, cwd) if (image := await _image(agent, path)) is not None]
    if images:
        message = msgspec.structs.replace(message, content=(*message.content, *images))
    await agent.send(message, mode)


async def _image(agent: Agent, path: Path) -> Image | None:
    """Return an image that is kept in the log; None for what is none, is not there or is too large to be sent."""
    try:
        if not await anyio.Path(path).is_file() or (await anyio.Path(path).stat()).st_size > _MOST:
            return None
        data = await anyio.Path(path).read_bytes()
    except OSError:
        return None  # the words with its name are sent; the model can say what it cannot read
    found = picture(data)
    if found is None:
        return None
    sha256 = await agent.journal.log.put_blob(data)
    return Image(sha256, found.media_type, found.width, found.height, len(data))


async def run_for_person(agent: Agent, command: str, *, private: bool) -> None:
    """Run a command the person typed after `!`. Raises `AgentStoppedError`."""
    run_shell(agent, command, private=private)
