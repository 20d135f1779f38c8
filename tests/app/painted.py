"""What a terminal gets of a screen: its rows as they are painted, and checks that hold for every one of them."""

from __future__ import annotations

import re
from typing import Any

from rich.cells import cell_len
from textual.screen import Screen

__all__ = ["FORBIDDEN", "assert_sound", "painted"]

FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What no cell may hold: it would steer the terminal, or order letters otherwise than they are."""


class _Eye(Screen[None]):
    """Looks at what another screen would send to the terminal."""

    @classmethod
    def rows(cls, screen: Screen[Any]) -> list[str]:
        return ["".join(segment.text for segment in strip) for strip in screen._compositor.render_strips()]


def painted(screen: Screen[Any]) -> list[str]:
    """Return the rows of the whole screen, from top to bottom."""
    return _Eye.rows(screen)


def assert_sound(screen: Screen[Any]) -> None:
    """Assert that each row fills the screen's width exactly and holds no character that is not to be seen."""
    width, height = screen.size
    rows = painted(screen)
    assert len(rows) == height
    for row in rows:
        assert FORBIDDEN.search(row) is None, repr(row)
        assert cell_len(row) == width, f"{cell_len(row)} cells instead of {width}: {row!r}"
