"""What the slash commands do. Each is a function of the screen; none knows a provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

import msgspec
from textual.content import Content

from tui.commands.table import Typed
from tui.screens.handing_over import Pages, run_context_command
from tui.screens.help import help_content
from tui.screens.main import SCREEN_BINDINGS, MainScreen
from tui.screens.pages import EditPage, PickPage, TextPage
from tui.widgets.editor import EDITOR_BINDINGS
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.models.base import ModelInfo

__all__ = ["Powers", "run_command"]

_MODES = {
    "ask": "you are asked before anything is changed or run",
    "edits": "files may be edited",
    "all": "never asked",
}


class Powers(msgspec.Struct, frozen=True):
    """What only the app can do for a command."""

    renew: Callable[[], None]
    """Start a new session."""
    themes: tuple[str, ...]
    use_theme: Callable[[str], str]
    """Switch the theme; returns what to say."""
    read: Callable[[TextPage], None]
    """Open a page of text."""
    pick: Callable[[PickPage, Callable[[str | None], None]], None]
    """Open a list; the callback gets what was picked."""
    edit: Callable[[EditPage, Callable[[str | None], None]], None]
    """Open a text to be changed; the callback gets it, or None where it stays as it was."""


def run_command(screen: MainScreen, command: Typed, powers: Powers) -> None:
    """Run a command."""
    match command.name:
        case "help":
            powers.read(TextPage("Help", help_content((("Everywhere", SCREEN_BINDINGS), ("Editor", EDITOR_BINDINGS)))))
        case "new":
            powers.renew()
        case "model":
            _model(screen, command.rest, powers)
        case "approve":
            _approve(screen, command.rest)
        case "theme":
            _theme(screen, command.rest, powers)
        case "quit":
            screen.post_message(MainScreen.QuitAsked())
        case (
            "compact"
            | "continue"
            | "pin"
            | "self-compact-drop"
            | "self-compact-edit"
            | "self-compact-info"
            | "self-compact-now"
            | "task"
        ) as name:
            pages = Pages(powers.read, powers.pick, powers.edit)
            run_context_command(screen, name, command.rest, pages)
        case _:
            assert_never(command.name)


def _approve(screen: MainScreen, rest: str) -> None:
    link = screen.link
    match rest:
        case "" if link is not None:
            screen.note(
                f"Approval is {link.agent.approval}: {_MODES[link.agent.approval]}. /approve ask|edits|all changes it"
            )
        case "ask" | "edits" | "all" as mode if link is not None:
            link.do(lambda agent: agent.use_approval(mode))
        case _:
            screen.note(f"/approve takes ask, edits or all, not {one_line(rest, 30)}")


def _theme(screen: MainScreen, rest: str, powers: Powers) -> None:
    if rest:
        screen.note(powers.use_theme(rest))
        return

    def picked(name: str | None) -> None:
        if name is not None:
            screen.note(powers.use_theme(name))

    powers.pick(PickPage("Themes", tuple((name, Content(name)) for name in powers.themes)), picked)


def _model(screen: MainScreen, rest: str, powers: Powers) -> None:
    if screen.link is None:
        screen.note("The session is not open yet")
    elif rest:
        _use_model(screen, rest)
    else:
        screen.link.do(lambda agent: _pick_model(screen, agent, powers))


async def _pick_model(screen: MainScreen, agent: Agent, powers: Powers) -> None:
    from tui.models.factory import list_models

    found = list_models(screen.options.environ)
    rows = tuple((info.id, _model_row(info, now=info.id == agent.model_info.id)) for info in found)

    def picked(name: str | None) -> None:
        if name is not None:
            _use_model(screen, name)

    powers.pick(PickPage("Models", rows), picked)


def _model_row(info: ModelInfo, *, now: bool) -> Content:
    facts = f"  {info.provider}  {info.window // 1000}k" + ("  answers now" if now else "")
    return Content.assemble((one_line(info.id, 60), "bold" if now else ""), (facts, "$clew-dim"))


def _use_model(screen: MainScreen, name: str) -> None:
    async def use(agent: Agent) -> None:
        from tui.models.factory import ModelChoice, list_models, open_model

        known = [info for info in list_models(screen.options.environ) if info.id == name]
        choice = (
            ModelChoice(provider=known[0].provider, base_url=known[0].base_url, model=name)
            if known
            else ModelChoice(model=name)
        )
        await agent.use_model(open_model(choice, screen.options.environ))

    if screen.link is not None:
        screen.link.do(use)
