"""The marks of the frame, in Unicode and in ASCII: one table, chosen once at the start."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["ASCII", "UNICODE", "Glyphs", "needs_ascii"]


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
)


def needs_ascii(environ: Mapping[str, str]) -> bool:
    """Return whether this terminal should get ASCII alone: asked for, or a locale that is not UTF-8."""
    if environ.get("CLEW_ASCII", "") not in ("", "0"):
        return True
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    # An empty locale says nothing (macOS over ssh); only one that names another encoding, or plain C, does.
    return locale in ("C", "POSIX") or ("." in locale and "utf" not in locale.lower())
