"""The app: one screen, one worker that holds the session, and a clean way out whatever happens.

The worker's body is `async with open_session(...)`. Quitting cancels it and lets it finish: what runs
is stopped and written down, the log is closed, and only then does the screen go.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import msgspec
from textual import on

from tui import garbage
from tui.messages import Text, UserMessage
from tui.plain import plain_text
from tui.screens.attention import AttentiveApp
from tui.screens.composer import Composer
from tui.screens.link import SessionLink
from tui.screens.look import look_of
from tui.screens.main import MainScreen
from tui.screens.options import AppOptions, Elsewhere
from tui.screens.saving import saved_first
from tui.widgets.keyboard import TerminalDriver
from tui.widgets.offer import Offer
from tui.widgets.recall import read_history
from tui.widgets.sanitise import one_line
from tui.widgets.themes import choose_theme, fallback_name

if TYPE_CHECKING:
    from anyio import CancelScope

    from tui.agent.agent import Agent
    from tui.agent.events import AgentEvent
    from tui.agent.session import SessionOptions
    from tui.screens.board import BoardPage, Wanted
    from tui.screens.filter_page import FilterPage
    from tui.screens.pages import EditPage, PickPage, TextPage
    from tui.screens.tree_page import Asked, TreePage

__all__ = ["AppOptions", "ClewApp", "run_app"]

_KEYS_FIRST = 0.06
"""Seconds between the first frame and the opening of the session: what was typed by then is shown first."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class ClewApp(AttentiveApp, inherit_bindings=False):
    """The front end for a person. Returns the exit status."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "clew"

    def __init__(self, options: AppOptions) -> None:
        # Textual takes NO_COLOR out of the environment when it starts: look first.
        options = msgspec.structs.replace(options, environ=dict(options.environ))
        instead = fallback_name(options.environ)
        wanted = instead if "NO_COLOR" in options.environ else options.theme
        name, theme, notice = choose_theme(wanted, options.theme_folders, instead)
        super().__init__(driver_class=TerminalDriver, ansi_color=theme.ansi or None)
        self.options = options
        self.session_id = ""
        """The session to resume with, once there is one that is kept."""
        self.elsewhere: Elsewhere | None = None
        """The session of another directory that is to be gone on with next."""
        self.unsaved = False
        """Whether something of the session could not be saved."""
        self.failure: Exception | None = None
        """What ended the app, if that was an error."""
        self._notices = (*options.notices, *([notice] if notice else []))
        self.register_theme(theme.textual(name))
        self.wear_first(name)
        options = self._with_keys(options)
        self.main = MainScreen(options, look_of(options.environ, theme.styles()))
        self._scope: CancelScope | None = None
        self._picked = False
        self._options: SessionOptions | None = None
        """What sessions are opened with."""
        self._next: SessionOptions | None = None
        """The session to hold when this one is closed."""
        self._status = 0
        self._leaving = False
        self._sent = False

    def _with_keys(self, options: AppOptions) -> AppOptions:
        """Use a person's own keys, where there are any; those that cannot be used are told."""
        if not options.keymap:
            return options
        from tui.screens.bindings import judged

        keymap, notices = judged(options.keymap)
        self.set_keymap(keymap)
        self._notices = (*self._notices, *notices)
        return msgspec.structs.replace(options, keymap=keymap)

    def get_default_screen(self) -> MainScreen:
        """Return the one screen."""
        return self.main

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment the app was started in."""
        return self.options.environ

    def say(self, text: str) -> None:
        """Show a word in the status line until the next key."""
        self.main.note(text)

    def on_mount(self) -> None:
        """Listen for the system's signals; open the session once the first frame is on the screen."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        self.call_after_refresh(self.set_timer, _KEYS_FIRST, self._start)

    def _start(self) -> None:
        garbage.release()
        _recall(self)
        for notice in self._notices:
            self.main.note(notice)
        self.watch_theme_files()
        self.main.composer.arguments = {"theme": self.known_themes}
        self.run_worker(self._hold_sessions(), name="session", exclusive=True, exit_on_error=True)

    async def _hold_sessions(self) -> None:
        """Hold one session after the other until the person leaves. The one task that ever touches them."""
        import anyio
        from anyio import to_thread

        from tui.screens.moved import ask_moved

        options = await to_thread.run_sync(_late_options, self.options.session)
        self._options = options = msgspec.structs.replace(options, held="follow")
        with anyio.CancelScope() as self._scope:
            told = await ask_moved(self, options)
            if told:
                _recall(self)
                self.main.note(told)
        going_on: SessionOptions | None = options
        while going_on is not None and not self._leaving:
            with anyio.CancelScope() as self._scope:
                await self._hold_session(going_on)
            going_on, self._next = self._next, None
        self.exit(self._status)

    async def _hold_session(self, options: SessionOptions) -> None:
        import anyio

        from tui.agent.session import open_session
        from tui.log.errors import LogError
        from tui.models.base import ModelError
        from tui.models.factory import unconnected
        from tui.screens.leftover import offer_left

        failure = ""
        begun = False
        offer = self.main.query_one(Offer)
        offer.close()  # what an earlier session waited for
        try:
            async with (
                open_session(options, report=self.main.note, offer=offer.open) as agent,
                anyio.create_task_group() as group,
            ):
                link = SessionLink(agent, group, self.main.note)
                self.session_id = agent.session_id if options.persist else ""
                events = agent.subscribe()
                try:
                    await self.main.begin(link, unconnected=unconnected(options.wanted, options.environ))
                    begun = True
                    if options is self._options and self.options.prompt is None and self.options.plan is None:
                        link.do(lambda agent: offer_left(self.main, agent, options))  # the first one alone offers
                    self._send_first()
                    if self.options.pick and not self._picked:
                        self._picked = True
                        self._show_sessions()
                    async for event in events:
                        self.main.show(event)
                        self.attend(event)
                        self._follow_on(options, agent, event)
                finally:
                    self.unsaved = bool(agent.journal.failure)
                    self.main.link = None  # from here on nothing may start in the session's group
                    # Leaving before the stored draft was shown must not put an empty one in its place.
                    if begun or self.main.editor.text:
                        with anyio.CancelScope(shield=True):
                            await self._put_draft_away(agent)
        except* (LogError, ModelError, OSError) as errors:
            failure = _first(errors)
        finally:
            self.main.link = None
        if failure:
            self._status = 1
            self.main.stop(failure, opened=begun)
            await anyio.sleep_forever()

    async def _put_draft_away(self, agent: Agent) -> None:
        """Keep the draft with its session; another one that is opened next has its own."""
        await agent.save_draft(self.main.editor.draft)
        if self._next is not None and self._next.session_id != agent.session_id and self.session_id and agent.writable:
            self.main.editor.show_draft("")

    def _follow_on(self, options: SessionOptions, agent: Agent, event: AgentEvent) -> None:
        """Open the session anew where that is what an event calls for.

        One that another window took over is followed from here on; a follower learns of another model or mode.
        """
        from tui.agent.events import EntryAdded, Failed
        from tui.log.entries import ApprovalMode, ModelChosen

        same = msgspec.structs.replace(options, open="id", session_id=agent.session_id, held="look")
        if isinstance(event, Failed) and event.taken:
            self._open_next(same)
        elif isinstance(event, EntryAdded) and not agent.journal.log.writable and options.persist:
            if not isinstance(event.entry.body, ModelChosen | ApprovalMode):
                return
            self._open_next(same)

    def _open_next(self, options: SessionOptions) -> None:
        """Close the session that is open, and hold this one."""
        self._next = options
        self._end_session()

    def _show_sessions(self) -> None:
        """Show the list of sessions; the picked one is opened in the place of this one."""
        from tui.agent.shelf import Shelf
        from tui.screens.session_groups import Picked
        from tui.screens.sessions import SessionsPage

        link, options = self.main.link, self._options
        if link is None or options is None:
            self.main.note("The session is not open yet")
            return

        def do(work: Callable[[], Awaitable[None]]) -> None:
            if self.main.link is not None:
                self.main.link.do(lambda _agent: work())

        def picked(found: Picked | None) -> None:
            if found is not None and found.here:
                self._switch("id", found.session)
            elif found is not None and found.shelf.project.is_dir():
                self.elsewhere = Elsewhere(found.shelf.project, found.session)
                self.leave()
            elif found is not None:
                self.main.note(f"{found.shelf.project} is not there; the session is kept, and opens once it is")

        shelf = Shelf(options.home, options.cwd)
        self.push_screen(SessionsPage(shelf, do, here=link.agent.session_id, export=self.options.export), picked)

    def _send_first(self) -> None:
        """Send what the command line gave, or begin its plan, once."""
        prompt, attachments = self.options.prompt, self.options.attachments
        if self._sent or (prompt is None and not attachments and self.options.plan is None):
            return
        self._sent = True
        if self.options.plan is not None:
            from tui.screens.running import begin_given

            begin_given(self.main, self.options.plan, self._pick)
            return
        words = (Text(prompt),) if prompt is not None else ()
        self.main.ask(UserMessage(content=(*attachments, *words)), draft=prompt or "")

    @on(MainScreen.ReviewAsked)
    def _review(self) -> None:
        if self.main.link is None:
            self.main.note("The session is not open yet")
            return
        from tui.screens.reviewing import review_page

        self.push_screen(review_page(self.main.link.agent))

    @on(MainScreen.QuitAsked)
    def leave(self) -> None:
        """Leave: save a summary for next time where one is due, stop the session, wait for it, then go.

        A second request while that lasts goes at once, and so does a signal.
        """
        if self._leaving:
            self.exit(self._status)
            return
        self._leaving = True
        if self._status > 128:
            self._end_session()
        else:
            saved_first(self.main, self._end_session)

    async def action_quit(self) -> None:
        """Leave, as Textual calls it."""
        self.leave()

    @on(Composer.CommandTyped)
    def _command(self, event: Composer.CommandTyped) -> None:
        from tui.screens.commanding import Powers, run_command

        def read(page: TextPage) -> None:
            self.push_screen(page)

        def tree(page: TreePage, asked: Callable[[Asked | None], None]) -> None:
            self.push_screen(page, asked)

        def board(page: BoardPage, wanted: Callable[[Wanted | None], None]) -> None:
            self.push_screen(page, wanted)

        def switch(session: str, prompt: str) -> None:
            if prompt:
                self.options = msgspec.structs.replace(self.options, prompt=prompt, attachments=())
                self._sent = False
            self._switch("id", session, arrives=True)

        powers = Powers(
            renew=lambda: self._switch("new"),
            resume=self._show_sessions,
            open=lambda session: self._switch("id", session),
            take_over=lambda: self._switch("id", self.session_id, held="take", arrives=True),
            theme=self.theme,
            themes=self.known_themes,
            use_theme=self.use_theme,
            read=read,
            pick=self._pick,
            find=self._find,
            edit=self._edit,
            board=board,
            tree=tree,
            switch=switch,
        )
        run_command(self.main, event.command, powers)

    def _pick(self, page: PickPage, picked: Callable[[str | None], None]) -> None:
        self.push_screen(page, picked)

    def _find(self, page: FilterPage, picked: Callable[[str | None], None]) -> None:
        self.push_screen(page, picked)

    def _edit(self, page: EditPage, written: Callable[[str | None], None]) -> None:
        self.push_screen(page, written)

    def _switch(
        self,
        how: Literal["new", "id"],
        session_id: str = "",
        *,
        held: Literal["follow", "take"] = "follow",
        arrives: bool = False,
    ) -> None:
        """Go over to another session, or to this one in another way."""
        if self._options is not None:
            changes = {"open": how, "session_id": session_id, "held": held, "arrives": arrives}
            own = {"choice": None, "approve": None} if how == "id" else {}  # an old one keeps its model and mode
            options = msgspec.structs.replace(self._options, **changes, **own)
            if how == "id" and session_id == self.session_id:
                self._open_next(options)
            else:
                saved_first(self.main, lambda: self._open_next(options))

    def _end_session(self) -> None:
        if self._scope is not None:
            self._scope.cancel()

    def _signalled(self, number: int) -> None:
        self._status = 128 + number
        self.leave()

    def _fatal_error(self) -> None:
        """Close without Textual's traceback: it prints local variables, and those may be keys or private words."""
        self.failure = self._exception
        self._close_messages_no_wait()


def _recall(app: ClewApp) -> None:
    """Read the earlier prompts of this directory."""
    if app.options.history is not None:
        app.main.editor.recall = read_history(app.options.history())


def _late_options(make: Callable[[], SessionOptions]) -> SessionOptions:
    """Import what a session needs, in a thread, so that keys are answered meanwhile."""
    import_module("tui.screens.feed")
    return make()


def run_app(options: AppOptions) -> int | Elsewhere:
    """Run the app in this terminal and return the exit status; then say how to go on with the session.

    Returns a session of another directory instead, where that was picked.

    Raises what a handler raised, after the terminal is as it was.
    """
    app = ClewApp(options)
    status = app.run()
    _show_printed()
    if app.session_id:
        words = "Not all of this session could be saved. Go on from what was with" if app.unsaved else "Continue with"
        sys.stderr.write(f"{words}: clew -r {one_line(app.session_id, 80)}\n")
    if app.failure is not None:
        raise app.failure
    if app.elsewhere is not None:
        return app.elsewhere
    return status if status is not None else app.return_code or 0


def _show_printed() -> None:
    """Show what others printed while the screen was open; it would have torn the picture."""
    text = TerminalDriver.printed.text() if TerminalDriver.printed is not None else ""
    if text.strip():
        sys.stderr.write(f"Printed by other code while the screen was open:\n{plain_text(text.rstrip())}\n")


def _first(errors: BaseExceptionGroup[Exception]) -> str:
    """Return what the first error says; a session's task group wraps what is raised in it."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else str(error)
