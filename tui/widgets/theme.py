"""The style roles of the transcript, and how a theme's words become them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec
from rich.errors import StyleSyntaxError
from rich.style import Style

__all__ = ["DARK", "Level", "ThemeError", "TranscriptTheme", "default_theme"]

Level: TypeAlias = Literal["none", "ok", "soft", "warning", "hard", "unknown"]
"""How full the context was: `none` before anything was measured, `unknown` where no usage was reported."""


class ThemeError(ValueError):
    """A role is unknown or its style cannot be read. `str()` names the role and the word."""


DARK: Mapping[str, str] = {
    "text": "#d6d9de on #101216",
    "dim": "#7d838e",
    "strong": "bold #f0f2f5",
    "emphasis": "italic",
    "strike": "strike #7d838e",
    "code": "#e2b97f",
    "heading": "bold #8ab8f0",
    "bullet": "#7d838e",
    "quote": "#9aa2ae",
    "rule": "#3c424d",
    "link": "underline #8ab8f0",
    "table_head": "bold #f0f2f5",
    "code_block": "#c3c9d3 on #16191f",
    "prompt": "bold #8ab8f0",
    "prompt_text": "#f0f2f5",
    "thinking": "italic #7d838e",
    "tool": "bold #d6d9de",
    "tool_text": "#9aa2ae",
    "running": "#d9b26a",
    "ok": "#7fb98a",
    "error": "#e07a7a",
    "info": "#7d838e",
    "warning": "#d9b26a",
    "gap": "#d9b26a",
    "added": "#93cfa0",
    "removed": "#e39a9a",
    "added_word": "bold #c3f0cd on #1d3a26",
    "removed_word": "bold #f5c4c4 on #43201f",
    "hunk": "#6b8fb8",
    "level_none": "#4a515d",
    "level_ok": "#4f7f5a",
    "level_soft": "#6f9fd8",
    "level_warning": "#d9a24a",
    "level_hard": "#e06a6a",
    "level_unknown": "#6a6490",
    "keyword": "#c08ad6",
    "string": "#93c98a",
    "number": "#e0a070",
    "comment": "italic #6f7682",
    "function": "#8ab8f0",
    "type": "#e2c08a",
    "operator": "#9ab4c8",
    "selection": "on #2f4a6b",
    "hit": "#101216 on #b8934a",
    "hit_here": "bold #101216 on #ffd479",
}
"""The default theme: a role's style is laid over `text`, those of code over `code_block`."""

_LAID_OVER = ("selection", "hit", "hit_here")
"""Roles that are laid over whatever is painted."""
_SYNTAX = frozenset({"keyword", "string", "number", "comment", "function", "type", "operator"})


class TranscriptTheme(msgspec.Struct, frozen=True, kw_only=True):
    """One complete style per role: foreground and background, ready to be painted."""

    text: Style
    dim: Style
    strong: Style
    emphasis: Style
    strike: Style
    code: Style
    heading: Style
    bullet: Style
    quote: Style
    rule: Style
    link: Style
    table_head: Style
    code_block: Style
    prompt: Style
    prompt_text: Style
    thinking: Style
    tool: Style
    tool_text: Style
    running: Style
    ok: Style
    error: Style
    info: Style
    warning: Style
    gap: Style
    added: Style
    removed: Style
    added_word: Style
    removed_word: Style
    hunk: Style
    level_none: Style
    level_ok: Style
    level_soft: Style
    level_warning: Style
    level_hard: Style
    level_unknown: Style
    keyword: Style
    string: Style
    number: Style
    comment: Style
    function: Style
    type: Style
    operator: Style
    selection: Style
    hit: Style
    hit_here: Style

    @classmethod
    def from_mapping(cls, roles: Mapping[str, str]) -> TranscriptTheme:
        """Build a theme from style words per role; roles not named keep the default. Raises `ThemeError`."""
        unknown = sorted(set(roles) - set(DARK))
        if unknown:
            raise ThemeError(f"no such style role: {', '.join(unknown)}; known are {', '.join(sorted(DARK))}")
        words = {**DARK, **roles}
        text = _parse("text", words["text"])
        block = text + _parse("code_block", words["code_block"])
        styles = {
            role: _base(role, text, block) + _parse(role, word)
            for role, word in words.items()
            if role not in _LAID_OVER
        }
        return cls(**styles, **{role: _parse(role, words[role]) for role in _LAID_OVER})

    def level(self, level: Level) -> Style:
        """Return the colour of the thread at a level of context."""
        return {
            "none": self.level_none,
            "ok": self.level_ok,
            "soft": self.level_soft,
            "warning": self.level_warning,
            "hard": self.level_hard,
            "unknown": self.level_unknown,
        }[level]


def _base(role: str, text: Style, block: Style) -> Style:
    return block if role in _SYNTAX else text


def _parse(role: str, word: str) -> Style:
    try:
        return Style.parse(word)
    except StyleSyntaxError as error:
        raise ThemeError(f"the style of {role} cannot be read: {word!r} ({error})") from error


@lru_cache(maxsize=1)
def default_theme() -> TranscriptTheme:
    """Return the default dark theme."""
    return TranscriptTheme.from_mapping({})
