"""How things are drawn in this terminal: glyphs, colours, motion. Decided once, from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.agent.events import UsageChanged
from tui.context.bar import BarState
from tui.plain import needs_ascii
from tui.widgets.glyphs import ASCII, UNICODE, Glyphs
from tui.widgets.theme import TranscriptTheme, default_theme

__all__ = ["Look", "bar_state", "look_of"]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What every widget that draws needs to know."""

    home: Path
    glyphs: Glyphs = UNICODE
    ascii: bool = False
    plain: bool = False
    """Characters alone tell things apart: ASCII, or no colours."""
    still: bool = False
    """Reduced motion: nothing spins."""
    transcript: TranscriptTheme = msgspec.field(default_factory=default_theme)


def look_of(environ: Mapping[str, str], transcript: TranscriptTheme) -> Look:
    """Return the look for this environment."""
    plain_letters = needs_ascii(environ)
    return Look(
        home=Path(environ.get("HOME") or Path.home()),
        glyphs=ASCII if plain_letters else UNICODE,
        ascii=plain_letters,
        plain=plain_letters or "NO_COLOR" in environ,
        still=environ.get("CLEW_REDUCED_MOTION", "") not in ("", "0"),
        transcript=transcript,
    )


def bar_state(usage: UsageChanged, model: str, *, failed: bool = False) -> BarState:
    """Return what the context bar shows for a usage; `failed` is a handoff that failed."""
    return BarState(
        tokens=usage.tokens,
        cached=usage.cached,
        window=usage.window,
        thresholds=usage.thresholds,
        estimated=usage.source == "estimated",
        cost=usage.cost or 0.0,
        cost_partial=usage.cost_partial,
        model=model,
        failed=failed,
    )
