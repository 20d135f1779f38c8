"""An app that calls a person who looks elsewhere, and stops when they come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events, on

from tui.agent.events import AgentEvent, PhaseChanged
from tui.screens.dressing import DressedApp
from tui.widgets.keyboard import TerminalDriver

if TYPE_CHECKING:
    from tui.widgets.notification import Watch

__all__ = ["AttentiveApp"]


class AttentiveApp(DressedApp, inherit_bindings=False):
    """Knows whether its window is in front, as far as the terminal tells."""

    _front: bool | None = None
    _watch: Watch | None = None

    def attend(self, event: AgentEvent) -> None:
        """Call the person where an event is worth it."""
        from tui.widgets.notification import Watch, decide, sequences, step

        now = self.options.clock()
        before = self._watch or Watch()
        self._watch, moment = step(before, event, now)
        if isinstance(event, PhaseChanged) and event.phase not in ("idle", "approval"):
            self._name_window("")  # it goes on: nothing is wanted any more
        if moment is None:
            return
        told = decide(
            moment,
            front=self._front,
            seconds=now - before.since if before.since is not None else 0.0,
            way=self.options.notify,
            after=self.options.notify_after,
        )
        if told is not None and not self.is_headless:
            self.to_terminal(sequences(told, self.environ))
            self._name_window(told.text)

    @on(events.AppFocus)
    def _in_front(self) -> None:
        self._front = True
        self._name_window("")

    @on(events.AppBlur)
    def _behind(self) -> None:
        self._front = False

    def _name_window(self, text: str) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.give_title(text)
