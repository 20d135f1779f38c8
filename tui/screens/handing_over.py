"""What the commands about the context do: compact, hand over, the note, the task, the pins, the info page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from textual.content import Content

from tui.screens.checkpoint_page import ask_undo, show_checkpoint
from tui.screens.help import info_content
from tui.screens.main import MainScreen
from tui.screens.pages import EditPage, PickPage, TextPage
from tui.screens.paging import Pages, tell_of
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent

__all__ = ["ContextName", "run_context_command"]

ContextName: TypeAlias = Literal[
    "checkpoint",
    "compact",
    "continue",
    "pin",
    "self-compact-drop",
    "self-compact-edit",
    "self-compact-info",
    "self-compact-now",
    "task",
]


def run_context_command(screen: MainScreen, name: ContextName, rest: str, pages: Pages) -> None:
    """Run a command about the context."""
    link = screen.link
    if link is None:
        screen.note("The session is not open yet", passing=True)
        return
    match name:
        case "compact":
            link.do(lambda agent: _compact(screen, agent, rest, pages))
        case "checkpoint":
            link.do(lambda agent: show_checkpoint(screen, agent, pages))
        case "continue":
            tell_of(screen, _go_on)
        case "self-compact-now":
            tell_of(screen, lambda agent: _hand_over(agent, rest))
        case "task":
            _task(screen, rest)
        case "pin":
            _pin(screen, rest, pages)
        case "self-compact-edit":
            link.do(lambda agent: _edit(screen, agent, pages))
        case "self-compact-drop":
            link.do(lambda agent: _drop(screen, agent, pages))
        case "self-compact-info":
            link.do(lambda agent: _info(screen, agent, pages))
        case _:
            assert_never(name)


async def _compact(screen: MainScreen, agent: Agent, rest: str, pages: Pages) -> None:
    from tui.agent.wishes import compact

    if rest.strip().lower() == "undo":
        await ask_undo(screen, agent, pages)
    else:
        await compact(agent, rest)


async def _go_on(agent: Agent) -> str:
    from tui.agent.wishes import go_on

    return await go_on(agent)


async def _hand_over(agent: Agent, rest: str) -> str:
    from tui.agent.wishes import hand_over

    return await hand_over(agent, rest)


def _task(screen: MainScreen, rest: str) -> None:
    async def asked(agent: Agent) -> str:
        from tui.agent.wishes import set_task

        return await set_task(agent, rest)

    if rest:
        tell_of(screen, asked)
    else:
        screen.note("/task takes the words of the task: /task TEXT")


def _pin(screen: MainScreen, rest: str, pages: Pages) -> None:
    async def asked(agent: Agent) -> str:
        from tui.agent.wishes import pin

        return await pin(agent, rest)

    if rest:
        tell_of(screen, asked)
    elif screen.link is not None:
        screen.link.do(lambda agent: _pins(screen, agent, pages))


async def _pins(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    """Show what is pinned; what is picked is taken away."""
    from tui.agent.wishes import PIN_LIMIT, pin_size, pinned, unpin

    texts = pinned(agent)
    if not texts:
        screen.note("Nothing is pinned; /pin TEXT does it")
        return

    def picked(key: str | None) -> None:
        if key is not None and screen.link is not None:
            screen.link.do(lambda agent: unpin(agent, texts[int(key)]))

    rows = tuple((str(at), Content(one_line(text, 90))) for at, text in enumerate(texts))
    title = f"Pinned: {pin_size(texts):,} of {PIN_LIMIT:,} bytes. Enter takes the chosen one away"
    pages.pick(PickPage(title, rows), picked)


async def _edit(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    from tui.agent.wishes import edit_note, pending_note

    note = pending_note(agent)
    if not note or agent.compaction.state.phase in ("compacting", "delivered"):
        await edit_note(agent, note)  # says why there is nothing to edit
        return

    def written(text: str | None) -> None:
        if text is None or text == note:
            screen.note("The note is as it was")
        elif screen.link is not None:
            screen.link.do(lambda agent: edit_note(agent, text))

    pages.edit(EditPage("The note to self", note), written)


async def _drop(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    from tui.agent.wishes import drop_note

    question = await drop_note(agent)
    if not question:
        return

    def answered(key: str | None) -> None:
        if key == "drop":
            tell_of(screen, _dropped)

    rows = (("keep", Content("Keep it")), ("drop", Content("Give it up")))
    pages.pick(PickPage(question, rows), answered)


async def _dropped(agent: Agent) -> str:
    from tui.agent.wishes import drop_note

    await drop_note(agent, confirmed=True)
    return "The handoff is given up; its note stays in the log"


async def _info(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    from tui.agent.session_info import info_rows
    from tui.agent.wishes import info_facts

    facts = await info_facts(agent, persisted=screen.options.history is not None)
    more = [("approval", agent.approval), ("saved", "yes" if agent.writable else "no: read-only")]
    if agent.usage.cost:
        more.append(("cost", f"${agent.usage.cost:.4f}" + "+?" * agent.usage.cost_partial))
    rows = [*info_rows(facts), *more]
    pages.read(TextPage("Context", lambda width: info_content(rows, width)))
