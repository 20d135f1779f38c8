"""How the app is dressed: the theme in force, the terminal's own light and dark, theme files that change.

And what the editor asks of an app: the person's own editor, and the list of earlier prompts.
"""

from __future__ import annotations

from textual import on
from textual.app import App
from textual.timer import Timer

from tui.screens.main import MainScreen
from tui.screens.options import AppOptions
from tui.screens.outside import OutsideApp
from tui.widgets.editor import Editor
from tui.widgets.keyboard import TerminalShade
from tui.widgets.themes import DEFAULT_NAME, LIGHT_NAME, broken_themes, choose_theme, stamps, theme_names

__all__ = ["DressedApp"]

_LOOK_EVERY = 2.0
"""Seconds between looks at the person's theme files."""


class DressedApp(OutsideApp, inherit_bindings=False):
    """An app whose theme follows what a person and the terminal want."""

    options: AppOptions
    main: MainScreen
    _theme_timer: Timer | None = None
    _stamps: tuple[tuple[str, int], ...] = ()

    @property
    def known_themes(self) -> tuple[str, ...]:
        """The names of all themes, the person's own too."""
        return theme_names(self.options.theme_folders)

    def wear_first(self, name: str) -> None:
        """Put the first theme on, before any style is read: changed later, every rule would be read twice."""
        self.set_reactive(App.theme, name)
        dark = self.current_theme.dark
        self.update_classes({"-dark-mode": dark, "-light-mode": not dark, f"-theme-{name}": True}, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def use_theme(self, name: str) -> str:
        """Switch to a theme; return what to say."""
        found, theme, notice = choose_theme(name, self.options.theme_folders, self.theme)
        if not notice:
            self.register_theme(theme.textual(found))
            if self.theme == found:
                self.refresh_css(animate=False)  # the same name with other colours
            self.theme = found
            self.ansi_color = theme.ansi or None
            self.main.restyle(theme.styles())
        return notice or f"The theme is {found}"

    def on_terminal_shade(self, event: TerminalShade) -> None:
        """Follow the terminal, where no theme was asked for."""
        wanted = DEFAULT_NAME if event.dark else LIGHT_NAME
        if not self.options.theme and self.theme in (DEFAULT_NAME, LIGHT_NAME) and self.theme != wanted:
            self.use_theme(wanted)

    def watch_theme_files(self) -> None:
        """Say in one notice which of the person's themes cannot be used, and look for changes from now on."""
        own = self.options.theme_folders[1:]
        if not any(folder.is_dir() for folder in own):
            return
        notice = broken_themes(own)
        if notice:
            self.say(notice)
        self._stamps = stamps(own)
        self._theme_timer = self.set_interval(_LOOK_EVERY, self._look_at_themes, name="themes")

    def _look_at_themes(self) -> None:
        own = self.options.theme_folders[1:]
        now = stamps(own)
        if now == self._stamps:
            return
        changed = {name for name, _ in set(now) ^ set(self._stamps)}
        self._stamps = now
        said = self.use_theme(self.theme) if self.theme in changed else ""
        self.say(broken_themes(own) or said)

    @on(Editor.OutsideWanted)
    def _edit_outside(self, event: Editor.OutsideWanted) -> None:
        async def edit() -> None:
            text = await self.edit(event.text)
            if text is not None:
                self.main.composer.edited_outside(event.text, text, event.chip)

        self.run_worker(edit(), group="outside", exclusive=True)

    @on(Editor.RecallWanted)
    def _recall(self) -> None:
        from tui.screens.recalling import recall_page

        def picked(text: str | None) -> None:
            if text is not None:
                self.main.editor.show_draft(text)

        self.push_screen(recall_page(self.main.editor.recall.items, self.main.editor.text), picked)
