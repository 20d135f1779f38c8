"""Which image of a request a refusal means, where it says so: by its place in the body."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import cast

from tui.messages import Json

__all__ = ["located"]

_PLACE = re.compile(r"(messages|input)\W+(\d+)\W+content\W+(\d+)(?:\W+(?:tool_result\W+)?content\W+(\d+))?")
"""`messages.2.content.0.tool_result.content.1.image…`, `messages[2].content[1]`, `('messages', 2, 'content', 1)`."""


def located(words: str, body: Mapping[str, Json], images: Mapping[str, bytes]) -> str:
    """Return the sha256 of the image at the place that `words` name, or nothing."""
    found = _PLACE.search(words)
    if found is None:
        return ""
    part = _at(_at(_at(body.get(found[1]), int(found[2])), "content"), int(found[3]))
    if found[4]:
        part = _at(_at(part, "content"), int(found[4]))
    held = {text.rpartition(",")[2] for text in _strings(part)}
    return next((name for name, data in images.items() if base64.b64encode(data).decode() in held), "")


def _at(value: Json, key: str | int) -> Json:
    if isinstance(value, list) and isinstance(key, int):
        items = cast("list[Json]", value)
        return items[key] if key < len(items) else None
    return cast("dict[str, Json]", value).get(str(key)) if isinstance(value, dict) else None


def _strings(value: Json) -> Iterator[str]:
    """Yield the strings of an image part, however a protocol nests them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, Json]", value).values():
            yield from _strings(inner)
