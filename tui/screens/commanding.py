"""What the slash commands do. Each is a function of the screen; none knows a provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, assert_never

import msgspec
from textual.content import Content

from tui.commands.table import Typed
from tui.screens.bindings import GROUPS
from tui.screens.branches import Branches, run_branch_command
from tui.screens.filter_page import FilterPage
from tui.screens.handing_over import run_context_command
from tui.screens.help import help_lines
from tui.screens.looking_back import look_back
from tui.screens.main import MainScreen
from tui.screens.model_pick import choose_model, use_named
from tui.screens.pages import EditPage, PickPage, TextPage
from tui.screens.paging import Pages
from tui.screens.running import Work, run_work
from tui.screens.tree_page import Asked, TreePage
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent, Mode
    from tui.screens.board import BoardPage, Wanted

__all__ = ["Powers", "run_command"]

_MODES: dict[Mode, str] = {
    "ask": "before a file is changed and before a command is run",
    "edits": "before a command is run; files in the project are changed at once",
    "all": "never, but for what reaches outside the project",
}


class Powers(msgspec.Struct, frozen=True):
    """What only the app can do for a command."""

    renew: Callable[[], None]
    """Start a new session."""
    resume: Callable[[], None]
    """Show the list of sessions."""
    open: Callable[[str], None]
    """Go on with a session that was asked for, by its id."""
    take_over: Callable[[], None]
    """Write the session that is followed here."""
    theme: str
    """The theme in force."""
    themes: tuple[str, ...]
    use_theme: Callable[[str], str]
    """Switch the theme; returns what to say."""
    read: Callable[[TextPage], None]
    """Open a page of text."""
    pick: Callable[[PickPage, Callable[[str | None], None]], None]
    """Open a list; the callback gets what was picked."""
    find: Callable[[FilterPage, Callable[[str | None], None]], None]
    """Open a list to type into; the callback gets what was picked."""
    edit: Callable[[EditPage, Callable[[str | None], None]], None]
    """Open a text to be changed; the callback gets it, or None where it stays as it was."""
    board: Callable[[BoardPage, Callable[[Wanted | None], None]], None]
    """Open the board of a run; the callback gets what is wanted."""
    tree: Callable[[TreePage, Callable[[Asked | None], None]], None]
    """Open a tree; the callback gets what is wanted of a place."""
    switch: Callable[[str, str], None]
    """Go on with another session, by its id; a text that is not empty is sent there."""


def run_command(screen: MainScreen, command: Typed, powers: Powers) -> None:
    """Run a command."""
    match command.name:
        case "help":
            _help(screen, powers)
        case "continue" if again := _opened_by_continue(screen):
            powers.open(again)
        case ("new" | "resume" | "take-over") as name:
            _session(screen, name, powers)
        case "model":
            _model(screen, command.rest, powers)
        case "approve":
            _approve(screen, command.rest, powers)
        case "theme":
            _theme(screen, command.rest, powers)
        case "quit":
            screen.post_message(MainScreen.QuitAsked())
        case ("goal" | "run") as name:
            run_work(screen, name, command.rest, Work(Pages(powers.read, powers.pick, powers.edit), powers.board))
        case ("fork" | "label" | "rewind" | "tree") as name:
            pages = Pages(powers.read, powers.pick, powers.edit)
            run_branch_command(screen, name, command.rest, Branches(pages, powers.tree, powers.switch))
        case ("search" | "view") as name:
            look_back(screen, name, command.rest, Pages(powers.read, powers.pick, powers.edit))
        case (
            "checkpoint"
            | "compact"
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


def _opened_by_continue(screen: MainScreen) -> str:
    """Return the session that has to be opened to go on, empty where this one goes on as it is."""
    if screen.link is not None and screen.link.agent.journal.failure:
        return screen.link.agent.session_id  # perhaps the log can be written again: what stands in it rules
    return screen.left if not screen.has_class("-talking") else ""


def _session(screen: MainScreen, name: Literal["new", "resume", "take-over"], powers: Powers) -> None:
    """Go on with another session, or with this one as its writer."""
    match name:
        case "new":
            powers.renew()
        case "resume":
            powers.resume()
        case "take-over":
            _take_over(screen, powers)


def _take_over(screen: MainScreen, powers: Powers) -> None:
    """Take a followed session over: at once where its owner is gone, else after a question."""
    link = screen.link
    if link is None or link.agent.journal.log.writable:
        screen.note("This window writes the session already")
        return

    def answered(key: str | None) -> None:
        if key == "take":
            powers.take_over()

    async def asked(agent: Agent) -> None:
        owner = await agent.journal.log.holder()
        if not owner:
            powers.take_over()
            return
        rows = (("follow", Content("Go on following")), ("take", Content("Take it over")))
        title = f"{owner} is at work on this session. Taken over, it stops what it does and can only read"
        powers.pick(PickPage(title, rows), answered)

    link.do(asked)


def _help(screen: MainScreen, powers: Powers) -> None:
    def picked(word: str | None) -> None:
        if word:
            screen.editor.show_draft(word)

    below = "Type to find. Enter puts a command into the editor. Other keys: [keys] in settings.toml, by the dim names."
    powers.find(FilterPage("Commands and keys", help_lines(GROUPS, screen.options.keymap), below=below), picked)


def _approve(screen: MainScreen, rest: str, powers: Powers) -> None:
    if screen.link is None:
        screen.note("The session is not open yet", passing=True)
        return
    now = screen.link.agent.approval

    def use(mode: str | None) -> None:
        if mode in _MODES and screen.link is not None:
            screen.link.do(lambda agent: agent.use_approval(mode))

    if rest in _MODES:
        use(rest)
    elif rest:
        screen.note(f"/approve takes ask, edits or all, not {one_line(rest, 30)}")
    else:
        rows = tuple((mode, _mode_row(mode, about, now=mode == now)) for mode, about in _MODES.items())
        powers.pick(PickPage("How much you are asked", rows), use)


def _mode_row(mode: str, about: str, *, now: bool) -> Content:
    return Content.assemble((f"{mode:7}", "bold" if now else ""), (about + ("  now" if now else ""), "$clew-dim"))


def _theme(screen: MainScreen, rest: str, powers: Powers) -> None:
    if rest:
        screen.note(powers.use_theme(rest))
        return

    before = powers.theme

    def picked(name: str | None) -> None:
        said = powers.use_theme(before if name is None else name)
        if name is not None:
            screen.note(said)

    lines = [(name, Content(name + ("  now" if name == before else "")), name) for name in powers.themes]
    below = 'Each is shown as it is marked; Enter keeps it until you leave. To stay: theme = "NAME" in settings.toml.'
    powers.find(FilterPage("Themes", lines, below=below, tried=powers.use_theme), picked)


def _model(screen: MainScreen, rest: str, powers: Powers) -> None:
    if screen.link is None:
        screen.note("The session is not open yet", passing=True)
    elif rest:
        use_named(screen, rest)
    else:
        choose_model(screen, powers.pick)
