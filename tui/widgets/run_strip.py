"""The run strip: one row, whatever the run's size; nothing where there is no run."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.widget import Widget

from tui.agent.events import RunShown
from tui.widgets.glyphs import UNICODE, Glyphs
from tui.widgets.sanitise import one_line

__all__ = ["RunStrip", "run_content"]

_LEVELS = {"normal": "$clew-accent", "good": "$clew-ok", "warning": "$clew-warning", "error": "$clew-hard"}
_LEAST_ITEM = 8
"""Cells below which the item's words say nothing: then they are left out."""
_LEAST_HINT = 76
"""Cells of a row in which there is room for what can be typed."""


def run_content(run: RunShown, width: int, active_ms: int, glyphs: Glyphs = UNICODE) -> Content:
    """Return the row, at most `width` cells: state and figures are kept, title, item and hint give way."""
    hint = f": {run.hint}" if run.hint and width >= _LEAST_HINT else ""
    state = Content.assemble((f" {run.status}", f"bold {_LEVELS[run.level]}"), (hint, _LEVELS[run.level]))
    facts = Content("").join(
        Content.assemble((f" {glyphs.dot} {word}", "$clew-dim")) for word in _facts(run, active_ms)
    )
    count = Content.assemble((f" {run.done}/{run.total} ", "$clew-text"))
    room = width - state.cell_length - facts.cell_length - count.cell_length
    parts = [_cut(one_line(run.title, 60), min(24, max(0, room // 3)), "bold $clew-text", glyphs), count]
    item = f"{glyphs.item} {one_line(run.item, 200)}" if run.number else ""
    left = width - state.cell_length - facts.cell_length - sum(part.cell_length for part in parts)
    if item and left >= _LEAST_ITEM:
        parts.append(_cut(item, left, "$clew-text", glyphs))
    return Content("").join([*parts, state, facts]).truncate(width)


def _cut(text: str, width: int, style: str, glyphs: Glyphs) -> Content:
    whole = Content.assemble((text, style))
    if whole.cell_length <= width:
        return whole
    keep = max(0, width - len(glyphs.ellipsis))
    return Content.assemble(whole.truncate(keep), (glyphs.ellipsis, style)) if keep else Content("")


def _facts(run: RunShown, active_ms: int) -> list[str]:
    seconds = active_ms // 1_000
    active = f"{seconds // 60}m{seconds % 60:02}s"
    facts = [f"{run.attempts} attempt{'' if run.attempts == 1 else 's'}"] if run.attempts else []
    facts.append(f"{active} of {run.max_minutes:g}m" if run.max_minutes else active)
    if run.cost or run.max_cost:
        spent = f"${run.cost:.2f}{'' if run.priced else ' +?'}"
        facts.append(f"{spent} of ${run.max_cost:.2f}" if run.max_cost else spent)
    return facts


class RunStrip(Widget):
    """Shows the session's run; its clock runs only while the run does."""

    DEFAULT_CSS = """
    RunStrip { height: 1; width: 1fr; padding: 0 1; display: none; }
    RunStrip.-run { display: block; }
    """

    def __init__(self, *, clock: Callable[[], float], glyphs: Glyphs = UNICODE) -> None:
        super().__init__(id="run")
        self._clock = clock
        self._glyphs = glyphs
        self._since = 0.0
        self.run: RunShown | None = None
        self._timer = self.set_interval(1.0, self.refresh, name="run", pause=True)

    def show(self, run: RunShown | None) -> None:
        """Show this from now on."""
        self.run, self._since = run, self._clock()
        self.set_class(run is not None, "-run")
        if run is not None and run.going:
            self._timer.resume()
        else:
            self._timer.pause()
        self.refresh()

    def render(self) -> Content:
        """Return the row."""
        run = self.run
        if run is None:
            return Content("")
        passed = int(1_000 * (self._clock() - self._since)) if run.going else 0
        return run_content(run, self.size.width, run.active_ms + max(0, passed), self._glyphs)
