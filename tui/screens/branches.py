"""What the commands about branches do: the tree, a fork, an earlier prompt, a name for a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

import msgspec
from textual.content import Content

from tui.screens.main import MainScreen
from tui.screens.pages import EditPage, PickPage
from tui.screens.paging import Pages
from tui.screens.tree_page import Asked, TreePage
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.agent.checkpoint_wishes import Told
    from tui.context.tree import Spot, Tree, TreeNode

__all__ = ["BranchName", "Branches", "run_branch_command"]

BranchName: TypeAlias = Literal["tree", "fork", "rewind", "label"]
_FILES = "Files are not changed back"
_MOST = 200
"""Prompts that /rewind lists; the tree has all."""


class Branches(msgspec.Struct, frozen=True):
    """What only the app can do for these commands."""

    pages: Pages
    tree: Callable[[TreePage, Callable[[Asked | None], None]], None]
    """Open the tree; the callback gets what is wanted of a place."""
    switch: Callable[[str, str], None]
    """End this session and go on with another one, by its id; a text is sent there."""


def run_branch_command(screen: MainScreen, name: BranchName, rest: str, app: Branches) -> None:
    """Run a command about branches."""
    link = screen.link
    if link is None:
        screen.note("The session is not open yet", passing=True)
        return
    match name:
        case "tree":
            link.do(lambda agent: _tree(screen, agent, app))
        case "rewind":
            link.do(lambda agent: _rewind(screen, agent, app))
        case "label":
            link.do(lambda agent: _label(screen, agent, rest))
        case "fork":
            _fork(screen, None, rest, app)
        case _:
            assert_never(name)


async def _tree(screen: MainScreen, agent: Agent, app: Branches) -> None:
    from tui.agent.branching import tree

    drawn = await tree(agent)

    def asked(wanted: Asked | None) -> None:
        if wanted is not None:
            _wanted(screen, drawn, wanted, app)

    app.tree(TreePage(drawn, ascii_only=screen.look.ascii), asked)


def _wanted(screen: MainScreen, drawn: Tree, wanted: Asked, app: Branches) -> None:
    from tui.context.tree import after

    match wanted.wish:
        case "go":
            _how(screen, after(drawn, wanted.node.id), wanted.node, app)
        case "fork":
            _fork(screen, after(drawn, wanted.node.id), "", app)
        case "label":
            _name(screen, wanted.node, app)


def _how(screen: MainScreen, spot: Spot, node: TreeNode, app: Branches) -> None:
    """Ask how to go to a place: after it or before it, with a summary of what is left behind or without."""
    from tui.context.tree import Spot

    edits = node.kind in ("prompt", "steer")
    rows = [("go", "Go on from there"), ("carry", "Go on from there, with a summary of the branch that is left")]
    if edits:
        rows += [("edit", "Edit this prompt: go before it, its words come to the editor")]
        rows += [("edit-carry", "Edit it, with a summary of the branch that is left")]

    def picked(key: str | None) -> None:
        if key is not None:
            edit = key.startswith("edit")
            place = Spot(node.id, before=True) if edit else spot
            _go(screen, place, carry=key.endswith("carry"), edit=edit, app=app)

    title = f"{one_line(node.label or node.text or 'This place', 60)}. {_FILES}"
    app.pages.pick(PickPage(title, tuple((key, Content(words)) for key, words in rows)), picked)


def _go(screen: MainScreen, spot: Spot, *, carry: bool, edit: bool, app: Branches, confirmed: bool = False) -> None:
    async def asked(agent: Agent) -> None:
        from tui.agent.branching import go

        told = await go(agent, spot, carry=carry, edit=edit, confirmed=confirmed)
        if told.question:
            _ask(told.text, "Stop it and go", again, app)
            return
        _tell(screen, told)

    def again() -> None:
        _go(screen, spot, carry=carry, edit=edit, app=app, confirmed=True)

    if screen.link is not None:
        screen.link.do(asked)


def _ask(question: str, yes: str, then: Callable[[], None], app: Branches) -> None:
    def answered(key: str | None) -> None:
        if key == "yes":
            then()

    app.pages.pick(PickPage(question, (("no", Content("Stay here")), ("yes", Content(yes)))), answered)


def _tell(screen: MainScreen, told: Told) -> None:
    if told.draft:
        screen.editor.give_back((told.draft,))
    screen.note(told.text)


def _name(screen: MainScreen, node: TreeNode, app: Branches) -> None:
    def written(text: str | None) -> None:
        if text is not None and screen.link is not None:
            screen.link.do(lambda agent: _label(screen, agent, text, node.id))

    app.pages.edit(EditPage("The name of this place", node.label), written)


async def _label(screen: MainScreen, agent: Agent, text: str, entry: str = "") -> None:
    from tui.agent.branching import label

    screen.note(await label(agent, text, entry))


async def _rewind(screen: MainScreen, agent: Agent, app: Branches) -> None:
    """List the earlier prompts, newest first; the one that is picked is edited on a branch of its own."""
    from tui.agent.branching import earlier_prompts, tree
    from tui.context.tree import Spot

    prompts = earlier_prompts(await tree(agent))
    if not prompts:
        screen.note("There is no earlier prompt to edit")
        return

    def picked(key: str | None) -> None:
        if key is not None:
            _go(screen, Spot(key, before=True), carry=False, edit=True, app=app)

    rows = tuple((node.id, Content(one_line(node.text, 200))) for node in prompts[:_MOST])
    below = f"{_FILES}." + (f" {len(prompts) - _MOST:,} older ones are in /tree" if len(prompts) > _MOST else "")
    app.pages.pick(PickPage("Edit an earlier prompt: a new branch begins before it", rows, below=below), picked)


def _fork(screen: MainScreen, spot: Spot | None, prompt: str, app: Branches) -> None:
    """Fork and go on there. A prompt is offered as the task of the new session."""

    def picked(key: str | None) -> None:
        if key is not None:
            _forked(screen, spot, prompt, task=key == "task", app=app)

    if not prompt:
        _forked(screen, spot, "", task=False, app=app)
        return
    rows = (
        ("task", Content("Make it the task of the new session, and send it")),
        ("plain", Content("Send it there as it is; the task stays")),
    )
    app.pages.pick(PickPage(f"Fork: {one_line(prompt, 60)}", rows, below=f"{_FILES}."), picked)


def _forked(
    screen: MainScreen, spot: Spot | None, prompt: str, *, task: bool, app: Branches, confirmed: bool = False
) -> None:
    async def asked(agent: Agent) -> None:
        from tui.agent.branching import Forked, fork

        kept = screen.options.history is not None
        made = await fork(agent, spot, task=prompt if task else "", persisted=kept, confirmed=confirmed)
        if isinstance(made, Forked):
            app.switch(made.session, prompt)
        elif made.question:
            _ask(made.text, "Stop it and fork", again, app)
        else:
            screen.note(made.text)

    def again() -> None:
        _forked(screen, spot, prompt, task=task, app=app, confirmed=True)

    if screen.link is not None:
        screen.link.do(asked)
