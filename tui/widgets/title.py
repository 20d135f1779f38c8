"""The window's title while somebody is called: kept, replaced, brought back."""

from __future__ import annotations

from collections.abc import Mapping

from tui.plain import plain_line

__all__ = ["MOST", "MUTE", "title", "title_back"]

MOST = 120
"""Characters at most; more would not be shown, and a long one is somebody else's text."""
MUTE = ("", "dumb")
"""Terminals that are given nothing at all."""


def title(text: str, environ: Mapping[str, str]) -> str:
    """Return what keeps the window's title and puts `text` in its place."""
    return f"\x1b[22;2t\x1b]2;{plain_line(text, MOST)}\x07" if _knows(environ) else ""


def title_back(environ: Mapping[str, str]) -> str:
    """Return what brings the title back; a terminal that keeps none is left with an empty one."""
    return "\x1b]2;\x07\x1b[23;2t" if _knows(environ) else ""


def _knows(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "") not in (*MUTE, "linux")
