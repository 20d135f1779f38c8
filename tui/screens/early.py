"""A screen on which no key is lost that was typed before the editor had the keyboard."""

from __future__ import annotations

import math
from time import monotonic

from textual import events
from textual.widget import Widget

from tui.screens.fast import FastScreen
from tui.widgets.keyboard import TypedBurst

__all__ = ["EarlyKeysScreen"]


class EarlyKeysScreen(FastScreen):
    """Passes what comes to the screen itself, because nothing has the focus yet, on to one widget."""

    _focused_at = math.inf
    """Monotonic seconds; printable keys before it were typed before the widget had the keyboard."""

    def keyboard_goes_to(self) -> Widget:
        """Return the widget that is typed into."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Give the keyboard to the widget."""
        self.keyboard_goes_to().focus()
        self.call_after_refresh(self._has_keyboard)

    def _has_keyboard(self) -> None:
        self._focused_at = monotonic()

    def on_key(self, event: events.Key) -> None:
        """Pass an early key on."""
        if event.time > self._focused_at:
            return
        widget = self.keyboard_goes_to()
        if event.is_printable:
            event.stop()
            widget.post_message(events.Key(event.key, event.character))
        elif event.key == "enter":
            event.stop()
            widget.call_later(widget.run_action, "submit")  # behind the keys that were typed before it

    def on_typed_burst(self, event: TypedBurst) -> None:
        """Pass an early burst of keys on; the editor keeps every other one to itself."""
        event.stop()
        self.keyboard_goes_to().post_message(TypedBurst(event.text))

    def on_paste(self, event: events.Paste) -> None:
        """Pass an early paste on."""
        event.stop()
        self.keyboard_goes_to().post_message(events.Paste(event.text))
