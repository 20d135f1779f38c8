"""The context bar: the exact text form of 20 cells, and the full-width row of the same truth.

Pure: numbers and a width in, characters with roles out. Which colour a role has is the theme's matter.
"""

from __future__ import annotations

import unicodedata
from typing import Literal, TypeAlias

import msgspec

from tui.context.thresholds import Level, Thresholds, level_of

__all__ = ["BarState", "Role", "Span", "Tone", "bar_text", "percent", "row", "short_count", "tone_of"]

Role: TypeAlias = Literal[
    "cached", "used", "free", "soft", "warning", "hard", "count", "distance", "cost", "model", "gap"
]
Tone: TypeAlias = Literal["unknown", "normal", "soft", "warning", "hard"]
"""The colour of the whole bar; `hard` also for a failed handoff and an invalid configuration."""

_CELLS = 20
_BLOCKS = " ▏▎▍▌▋▊▉█"
_MARKS: dict[Role, str] = {"soft": "~", "warning": "!", "hard": "|"}
_FILLS: dict[Role, str] = {"cached": "#", "used": "=", "free": "-"}
_NO_WINDOW = "window not positive: the threshold settings are invalid, no bar is drawn"


class Span(msgspec.Struct, frozen=True):
    """Some cells of one look: `fg` is what the glyphs are, `bg` what lies behind them."""

    text: str
    fg: Role
    bg: Role


class BarState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the row shows. `tokens` None is unknown; `thresholds` None means the configuration is invalid."""

    tokens: int | None
    cached: int
    window: int
    thresholds: Thresholds | None
    estimated: bool = False
    cost: float = 0.0
    cost_partial: bool = False
    """Something was asked for whose price is not known: the cost is the least it was."""
    """Dollars so far; zero is not shown."""
    model: str = ""
    failed: bool = False
    """A handoff failed: the whole bar is red."""


def percent(tokens: int, window: int) -> int:
    """Return the share of the window in percent, rounded half up; may exceed 100."""
    return (tokens * 200 + window) // (2 * window)


def tone_of(tokens: int | None, thresholds: Thresholds | None, *, failed: bool = False) -> Tone:
    """Return the bar's tone; `failed` is a handoff that failed."""
    if failed or thresholds is None:
        return "hard"
    if tokens is None:
        return "unknown"
    tones: dict[Level, Tone] = {
        Level.NONE: "normal",
        Level.SOFT: "soft",
        Level.WARNING: "warning",
        Level.HARD: "hard",
    }
    return tones[level_of(tokens, thresholds)]


def bar_text(tokens: int | None, cached: int, window: int, thresholds: Thresholds | None) -> str:
    """Return the exact text form: `[###~====-!-|--------] 40%`."""
    if window <= 0:
        return _NO_WINDOW
    label = "?%" if tokens is None else f"{percent(tokens, window)}%"
    return f"[{_plain_cells(_CELLS, tokens, cached, window, thresholds)}] {label}"


def _plain_cells(width: int, tokens: int | None, cached: int, window: int, thresholds: Thresholds | None) -> str:
    used = _filled(tokens, window, width)
    warm = min(used, _filled(cached, window, width))
    cells = list(_FILLS["cached"] * warm + _FILLS["used"] * (used - warm) + _FILLS["free"] * (width - used))
    for place, role in _markers(width, window, thresholds).items():
        cells[place] = _MARKS[role]
    return "".join(cells)


def _filled(tokens: int | None, window: int, units: int) -> int:
    return min(units, max(0, tokens or 0) * units // window)


def _markers(width: int, window: int, thresholds: Thresholds | None) -> dict[int, Role]:
    """Return the role at each marked cell; the stronger marker stays where two meet."""
    if thresholds is None:
        return {}
    marks: tuple[tuple[Role, int], ...] = (
        ("soft", thresholds.soft),
        ("warning", thresholds.warning),
        ("hard", thresholds.hard),
    )
    return {min(width - 1, max(0, -(-tokens * width // window) - 1)): role for role, tokens in marks}


def row(width: int, state: BarState, *, ascii_only: bool = False) -> tuple[Span, ...]:
    """Return one row of exactly `width` cells: the bar, then what fits of count, distance, cost and model."""
    if width <= 0:
        return ()
    labels = _labels(state)
    least = max(10, width // 3)
    while labels and width - _labels_width(labels) < least:
        del labels[_weakest(labels)]
    bar_width = width - _labels_width(labels)
    spans = list(_bar_spans(bar_width, state, ascii_only=ascii_only))
    for role, text in labels.items():
        spans += [Span("  ", "gap", "gap"), Span(text, role, "gap")]
    return tuple(spans)


def _weakest(labels: dict[Role, str]) -> Role:
    order: tuple[Role, ...] = ("model", "cost", "distance", "count")
    return next(role for role in order if role in labels)


def _labels_width(labels: dict[Role, str]) -> int:
    return sum(2 + _cells(text) for text in labels.values())


def _cells(text: str) -> int:
    """Return the terminal cells of a short label; model names may be Chinese."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _labels(state: BarState) -> dict[Role, str]:
    known = "?" if state.tokens is None else ("~" if state.estimated else "") + short_count(state.tokens)
    labels: dict[Role, str] = {"count": f"{known} / {short_count(state.window)}"}
    distance = _distance(state)
    if distance:
        labels["distance"] = distance
    if state.cost > 0:
        dollars = f"${state.cost:.2f}" if state.cost >= 0.01 else "<$0.01"
        labels["cost"] = dollars + "+?" * state.cost_partial
    name = "".join(char for char in state.model if char.isprintable())
    if name:
        labels["model"] = name
    return labels


def _distance(state: BarState) -> str:
    if state.thresholds is None:
        return "thresholds invalid"
    if state.tokens is None:
        return ""
    limits = state.thresholds
    for name, mark in (("soft", limits.soft), ("warning", limits.warning), ("hard", limits.hard)):
        if state.tokens < mark:
            return f"{short_count(mark - state.tokens)} to {name}"
    return "at hard"


def short_count(tokens: int) -> str:
    """Return a count for people: 950, 8.2k, 82k, 1.2M. Rounded down, so that a mark is never shown as reached early."""
    for size, suffix in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            whole, tenth = divmod(tokens * 10 // size, 10)
            return f"{whole}.{tenth}{suffix}" if whole < 10 and tenth else f"{whole}{suffix}"
    return str(tokens)


def _bar_spans(width: int, state: BarState, *, ascii_only: bool) -> tuple[Span, ...]:
    if state.window <= 0:
        return _joined([_cell(0, 0, ascii_only=ascii_only)] * width)
    used = _filled(state.tokens, state.window, width * 8)
    warm = 0 if state.tokens is None else min(used, _filled(state.cached, state.window, width * 8))
    marks = _markers(width, state.window, state.thresholds)
    return _joined(
        [
            _marked(marks.get(place), _part(used, place), _part(warm, place), ascii_only=ascii_only)
            for place in range(width)
        ]
    )


def _part(eighths: int, place: int) -> int:
    return min(8, max(0, eighths - place * 8))


def _marked(mark: Role | None, used: int, warm: int, *, ascii_only: bool) -> Span:
    cell = _cell(used, warm, ascii_only=ascii_only)
    if mark is None:
        return cell
    return Span(_MARKS[mark], mark, cell.fg if used >= 4 else "free")


def _cell(used: int, warm: int, *, ascii_only: bool) -> Span:
    """Return one cell; where cached and used both end in it, the larger of the two gives the colour."""
    fill: Role = "cached" if warm * 2 >= used > 0 else "used"
    if ascii_only:
        role: Role = fill if used == 8 else "free"
        return Span(_FILLS[role], role, role)
    if used == 0:
        return Span(" ", "free", "free")
    if used == 8 and 0 < warm < 8:
        return Span(_BLOCKS[warm], "cached", "used")
    return Span(_BLOCKS[used], fill, "free")


def _joined(cells: list[Span]) -> tuple[Span, ...]:
    """Return the cells with neighbours of one look joined."""
    spans: list[Span] = []
    for cell in cells:
        if spans and (spans[-1].fg, spans[-1].bg) == (cell.fg, cell.bg):
            spans[-1] = Span(spans[-1].text + cell.text, cell.fg, cell.bg)
        else:
            spans.append(cell)
    return tuple(spans)
