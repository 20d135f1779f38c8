"""The marks of the frame, in Unicode and in ASCII: one table, chosen once at the start."""

from __future__ import annotations

import msgspec

__all__ = ["ASCII", "UNICODE", "Glyphs"]


class Glyphs(msgspec.Struct, frozen=True):
    """Marks one cell wide, but for the spinner's frames, which are one cell each."""

    prompt: str
    normal: str
    """The prompt in Vim's normal mode."""
    spinner: str
    still: str
    dot: str
    steer: str
    later: str
    times: str
    up: str
    enter: str
    ellipsis: str
    item: str


UNICODE = Glyphs(
    prompt="❯",
    normal="❮",
    spinner="⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
    still="●",
    dot="·",
    steer="↳",
    later="»",
    times="×",
    up="↑",
    enter="⏎",
    ellipsis="…",
    item="▸",
)
ASCII = Glyphs(
    prompt=">",
    normal="<",
    spinner="|/-\\",
    still="*",
    dot="-",
    steer=">",
    later="+",
    times="x",
    up="^",
    enter="Enter",
    ellipsis="...",
    item=">",
)
