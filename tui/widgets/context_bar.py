"""The context bar: one full-width row that says how full the context is. The truth is `tui.context.bar`'s."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.content import Content
from textual.widget import Widget

from tui.context.bar import BarState, Role, Span, Tone, row, tone_of

__all__ = ["ContextBar", "bar_content"]

_TONES: dict[Tone, str] = {
    "unknown": "$clew-dim",
    "normal": "$clew-ok",
    "soft": "$clew-soft",
    "warning": "$clew-warning",
    "hard": "$clew-hard",
}
_CACHED = {tone: f"{tone}-cached" for tone in ("$clew-soft", "$clew-warning", "$clew-hard")}
_ROLES: dict[Role, str] = {
    "cached": "$clew-cached",
    "free": "$clew-line",
    "soft": "$clew-soft",
    "warning": "$clew-warning",
    "hard": "$clew-hard",
    "count": "$clew-text",
    "distance": "$clew-dim",
    "cost": "$clew-dim",
    "model": "$clew-dim",
}


def bar_content(state: BarState, width: int, *, plain: bool = False) -> Content:
    """Return the row, `width` cells wide. `plain` uses characters alone, for ASCII and for no colours."""
    tone = _TONES[tone_of(state.tokens, state.thresholds, failed=state.failed)]
    # What is cached has the colour of the level too, but weaker: one bar, not two.
    colours: dict[Role, str] = {**_ROLES, "used": tone, "cached": _CACHED.get(tone, _ROLES["cached"])}
    return Content.assemble(
        *((span.text, _style(span, colours, plain=plain)) for span in row(width, state, ascii_only=plain))
    )


def _style(span: Span, colours: Mapping[Role, str], *, plain: bool) -> str:
    front = colours.get(span.fg, "")
    marks = span.fg in ("soft", "warning", "hard")
    if marks and not plain and span.bg in ("used", "cached"):
        front = "$clew-background"  # a mark that was passed must not have the colour of what lies behind it
    if marks:
        front = f"bold {front}"
    if plain or span.bg == "gap":
        return front
    back = colours.get(span.bg, "")
    return f"{front} on {back}" if front and back else front


class ContextBar(Widget):
    """One row, for ever. A click asks for the details."""

    DEFAULT_CSS = "ContextBar { height: 1; width: 1fr; padding: 0 1; }"

    def __init__(self, *, plain: bool = False) -> None:
        super().__init__(id="context")
        self._plain = plain
        self.state = BarState(tokens=None, cached=0, window=0, thresholds=None)

    def show(self, state: BarState) -> None:
        """Show this from now on."""
        if state != self.state:
            self.state = state
            self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """Ask for the details."""
        event.stop()
        await self.run_action("screen.command('self-compact-info')")

    def render(self) -> Content:
        """Return the row; empty until a model is known."""
        if self.state.window <= 0:
            return Content("")
        return bar_content(self.state, self.size.width, plain=self._plain)
