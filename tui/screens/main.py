"""The one screen: transcript, status, queue, editor, context bar, hints.

    key → Editor ──Submitted──► MainScreen ──► SessionLink ──► Agent
    Agent ──events──► MainScreen.show ──► TranscriptFeed, StatusLine, QueuedMessages, ContextBar, ApprovalPanel

The screen holds no session state: what it shows comes from events, what it asks for goes through the link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.agent.events import (
    AgentEvent,
    ApprovalAsked,
    ApprovalClosed,
    BranchMoved,
    EntryAdded,
    Failed,
    Followed,
    PhaseChanged,
    QueueChanged,
    QueueReturned,
    RunChanged,
    Said,
    UsageChanged,
)
from tui.commands.table import Name, Typed
from tui.messages import UserMessage
from tui.screens.composer import Composer
from tui.screens.early import EarlyKeysScreen
from tui.screens.link import SessionLink
from tui.screens.look import Look, bar_state
from tui.screens.options import AppOptions
from tui.screens.progress import advance
from tui.widgets.approval import ApprovalPanel
from tui.widgets.banner import Banner
from tui.widgets.context_bar import ContextBar
from tui.widgets.editor import Editor, SendMode
from tui.widgets.hints import Hint, KeyHints, key_name
from tui.widgets.ladder import Rung, climb
from tui.widgets.offer import Offer
from tui.widgets.queued import QueuedMessages
from tui.widgets.run_strip import RunStrip
from tui.widgets.start import StartFacts, StartView
from tui.widgets.status import StatusLine

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.log.entries import Entry
    from tui.screens.feed import TranscriptFeed
    from tui.screens.reading import ReadingBars
    from tui.widgets.theme import TranscriptTheme
    from tui.widgets.transcript.transcript import Transcript

__all__ = ["SCREEN_BINDINGS", "MainScreen"]

SCREEN_BINDINGS: list[BindingType] = [
    Binding("escape", "stop", "Stop the agent; waiting messages come back", show=False, id="app.stop"),
    Binding("ctrl+c", "climb", "Put the draft away, then stop, then quit", show=False, id="app.ladder", priority=True),
    Binding("ctrl+d", "leave_empty", "Quit, where the editor is empty", show=False, id="app.leave", priority=True),
    Binding("f1", "command('help')", "Help", show=False, id="app.help"),
    Binding("f2", "command('self-compact-info')", "How full the context is", show=False, id="app.info"),
    Binding("f5", "command('continue')", "Go on with what was interrupted or waits", show=False, id="app.continue"),
    Binding("f6", "review", "See what was interrupted and what waits", show=False, id="app.review"),
    Binding("f7", "command('view')", "Begin from the summary, or from the full view", show=False, id="app.view"),
    Binding("pageup", "transcript('page_up')", "Page up", show=False, id="transcript.page_up"),
    Binding("pagedown", "transcript('page_down')", "Page down", show=False, id="transcript.page_down"),
    Binding("ctrl+home", "transcript('home')", "To the beginning", show=False, id="transcript.home"),
    Binding("ctrl+end", "transcript('end')", "To the newest line", show=False, id="transcript.end"),
    Binding("ctrl+o", "transcript('fold')", "Open or fold what can be folded", show=False, id="transcript.fold"),
    Binding("alt+up", "step('older')", "To the prompt before", show=False, id="transcript.prompt_older"),
    Binding("alt+down", "step('newer')", "To the prompt after", show=False, id="transcript.prompt_newer"),
    Binding("f3,ctrl+s", "search", "Search the conversation", show=False, id="transcript.search"),
    Binding("f4", "browse", "Step through the conversation: fold, copy, open", show=False, id="transcript.browse"),
    Binding("ctrl+l", "redraw", "Draw the screen again", show=False, id="app.redraw"),
]

_IDLE = (
    ("editor.submit", "Enter", "send"),
    ("editor.newline", "Ctrl+J", "new line"),
    ("", "/", "commands"),
    ("app.help", "F1", "help"),
    ("app.leave", "Ctrl+D", "quit"),
)
_BUSY = (
    ("app.stop", "Esc", "stop"),
    ("editor.submit", "Enter", "steer"),
    ("editor.submit_later", "Ctrl+T", "then"),
    ("transcript.page_up", "PgUp", "scroll"),
    ("app.help", "F1", "help"),
)
_ROOMY = 24
_TWICE = 1.0
"""Seconds between two Esc that ask for the earlier prompts."""


class SessionView(EarlyKeysScreen):
    """Shows what a session tells, and passes on what its widgets ask for."""

    def __init__(self, options: AppOptions, look: Look) -> None:
        super().__init__()
        self.options = options
        self.look = look
        self.link: SessionLink | None = None
        self.left = ""
        """The session that a new one offers to go on with, as long as nothing was said."""
        self._feed: TranscriptFeed | None = None
        self.composer = Composer(options, look)
        self._armed_at: float | None = None
        self._escaped_at: float | None = None
        self._problem = ""
        self._early: str | None = None
        """A draft that was sent before the session was open: it goes out then, if it still is what is written."""

    def compose(self) -> ComposeResult:
        """Return the rows from top to bottom."""
        o, look = self.options, self.look
        yield StartView(StartFacts(version=o.version, cwd=o.cwd, home=look.home))
        yield Banner()
        yield RunStrip(clock=o.clock, glyphs=look.glyphs)
        yield StatusLine(clock=o.clock, glyphs=look.glyphs, still=look.still)
        yield Offer((("F5", "continue"), ("F6", "review")))
        yield ApprovalPanel(clock=o.key_clock, root=str(o.cwd))
        yield self.composer
        yield ContextBar(plain=look.plain)
        yield KeyHints()

    @property
    def feed(self) -> TranscriptFeed:
        """The conversation; made when there is one to show, so that the first frame need not wait for it."""
        if self._feed is None:
            from tui.screens.feed import TranscriptFeed

            self._feed = TranscriptFeed(self.look)
            self.mount(self._feed.transcript, after=self.query_one(StartView))
        return self._feed

    def on_resize(self, event: events.Resize) -> None:
        """Leave an empty row above the status line where there is room for it, and the question its share."""
        self.query_one(StatusLine).set_class(event.size.height < _ROOMY, "-tight")
        self.query_one(ApprovalPanel).fit(event.size.height * 6 // 10)

    def on_mount(self) -> None:
        """Give the keyboard to the editor."""
        self.editor.gate = self._gate
        self.query_one(KeyHints).show(_hints(self))

    def keyboard_goes_to(self) -> Editor:
        """Return the editor."""
        return self.editor

    @property
    def editor(self) -> Editor:
        """The editor."""
        return self.composer.editor

    @property
    def busy(self) -> bool:
        """Whether an exchange runs."""
        return self.link is not None and not self.link.agent.idle

    # The session's side.

    async def begin(self, link: SessionLink, *, unconnected: bool = False) -> None:
        """Show a session from its beginning: all that is on its branch, its queue, its draft."""
        self.link = link
        self.left = ""
        agent = link.agent
        info = agent.model_info
        self.query_one(StartView).answers(info.id, info.provider, unconnected=unconnected)
        self._load(link)
        _show_run(self, agent)
        for event in (PhaseChanged("idle"), agent.usage, QueueChanged(agent.queue)):
            self.show(event)
        if self._early is not None and self._early == self.editor.draft:
            self.editor.action_submit()
        draft = await agent.draft() if agent.writable else ""
        if draft not in ("", self.editor.draft):
            self.editor.give_back((draft,))
        self.query_one(Banner).mend()
        self.query_one(Banner).stand("following", "" if agent.writable else "This session can only be read here.")

    def _load(self, link: SessionLink) -> None:
        """Show the conversation as the branch has it now."""
        branch = tuple(link.agent.branch)
        self.set_class(any(entry.kind == "prompt" for entry in branch), "-talking")
        self.feed.load(branch, link.agent.usage.thresholds, link.agent.journal.branch.forks)
        link.do(self.feed.read_words)

    def show(self, event: AgentEvent) -> None:
        """Show one event."""
        line = self.query_one(StatusLine)
        line.show(advance(line.status, event, self.options.clock()))
        match event:
            case EntryAdded(entry=entry):
                _show_entry(self, entry)
            case BranchMoved() if self.link is not None:
                self._load(self.link)
            case ApprovalAsked() | ApprovalClosed():
                _show_question(self, event)
            case PhaseChanged(phase=phase) if phase != "idle":
                self.query_one(Offer).close()
            case Said(text=text) if _is_refusal(self, text):
                self.post_message(Composer.CommandTyped(Typed("view")))
            case QueueChanged(items=items):
                self.query_one(QueuedMessages).show(items)
            case QueueReturned(texts=texts):
                self.editor.give_back(texts)
            case UsageChanged():
                _show_bar(self, event)
                self._say_problem(event)
            case RunChanged(run=run):
                self.query_one(RunStrip).show(run)
            case Followed() | Failed():
                _show_standing(self.query_one(Banner), event)
            case _:
                pass
        self.feed.show(event)
        if isinstance(event, EntryAdded) and event.entry.kind == "checkpoint" and self.link is not None:
            self.link.do(self.feed.read_words)
        self.query_one(KeyHints).show(_hints(self))

    def _say_problem(self, usage: UsageChanged) -> None:
        """Tell what is wrong with the levels as long as it is; a doubt about reported usage is said once."""
        invalid = usage.problem if usage.thresholds is None else ""
        self.query_one(Banner).stand("configuration", invalid)
        if usage.problem not in ("", invalid, self._problem):
            self.note(usage.problem)
        self._problem = usage.problem

    def note(self, text: str, *, passing: bool = False) -> None:
        """Show a word in the status line until the next key; `passing` ends with what the agent does now."""
        line = self.query_one(StatusLine)
        line.show(msgspec.structs.replace(line.status, note=text, passing=passing))

    def stop(self, message: str, *, opened: bool) -> None:
        """Say that the session is over, or could not be opened, and why; the screen stays."""
        if opened:
            self.show(Failed(message))
            return
        line = self.query_one(StatusLine)
        line.show(msgspec.structs.replace(line.status, phase="stopped", detail="", note=""))
        self.query_one(Banner).say(f"The session could not be opened. {message} Ctrl+D quits.", "error")

    # The keyboard's side.

    def _gate(self, event: events.Key) -> bool:
        """Ask the open question, then the menu, whether a key is theirs; any key takes a note away."""
        if event.key != "ctrl+c":
            self._armed_at = None
            if event.key != "escape":
                self._escaped_at = None
            if self.query_one(StatusLine).status.note:
                self.note("")
        if self.link is not None and self.link.agent.saver.running:
            self.link.agent.saver.stop()  # a key skips the summary for next time
        return self.query_one(ApprovalPanel).take(event) or self.composer.take(event)

    @on(Composer.Said)
    def _said(self, event: Composer.Said) -> None:
        if self.link is None:
            self._early = event.draft
            self.note("Sent as soon as the session is open; the text is kept", passing=True)
            return
        self.composer.accept(event.draft)
        self.ask(event.message, event.mode, event.draft)

    def ask(self, message: UserMessage, mode: SendMode = "steer", draft: str = "") -> None:
        """Send a message to the agent; where that fails, the draft is given back."""
        if self.link is not None:
            self.link.do(lambda agent: agent.send(message, mode), lambda: self.editor.give_back((draft,)))

    @on(Composer.ShellTyped)
    def _shell_typed(self, event: Composer.ShellTyped) -> None:
        from tui.agent.shell import run_shell

        if self.link is None:
            self.note("The session is not open; the command is kept")
            return
        self.composer.accept(self.editor.draft)
        self.link.do(lambda agent: run_shell(agent, event.command, private=event.private))

    @on(Composer.Noted)
    def _noted(self, event: Composer.Noted) -> None:
        self.note(event.text)

    @on(Composer.Changed)
    def _changed(self, event: Composer.Changed) -> None:
        self.query_one(ApprovalPanel).drafting(has_text=event.has_text)

    @on(Composer.SaveWanted)
    def save_draft(self) -> None:
        """Keep the draft in the log."""
        draft = self.editor.draft
        if self.link is not None:
            self.link.do(lambda agent: agent.save_draft(draft))

    @on(ApprovalPanel.Decided)
    def _decided(self, event: ApprovalPanel.Decided) -> None:
        if self.link is None:
            return
        self.link.agent.answer(event.call_id, allowed=event.allowed, rule=event.rule, reason=event.reason)
        if event.interrupt:
            self.link.do(lambda agent: agent.interrupt())

    @on(ApprovalPanel.Left)
    def _left(self) -> None:
        self.editor.focus()

    def on_transcript_older_wanted(self) -> None:
        """Show an older page above."""
        if self.link is not None and self.feed.oldest > 0:
            self.link.do(self.feed.show_older)

    def on_transcript_new_lines(self, event: Transcript.NewLines) -> None:
        """Say how much came below what is in view."""
        line = self.query_one(StatusLine)
        line.show(msgspec.structs.replace(line.status, below=event.count))


class MainScreen(SessionView):
    """Everything a session shows, and where keys become requests."""

    BINDINGS: ClassVar[list[BindingType]] = SCREEN_BINDINGS
    DEFAULT_CSS = """
    MainScreen { layout: vertical; background: $clew-background; color: $clew-text; overflow: hidden; }
    MainScreen Transcript { height: 1fr; display: none; }
    MainScreen.-talking Transcript { display: block; }
    MainScreen.-talking StartView { display: none; }
    """

    class QuitAsked(Message):
        """The person wants to leave."""

    class ReviewAsked(Message):
        """The person wants to see what is open."""

    _reading: ReadingBars | None = None

    @property
    def reading(self) -> ReadingBars:
        """What reads back; made when it is first asked for."""
        if self._reading is None:
            from tui.screens.reading import ReadingBars

            self._reading = ReadingBars(self)
            self.mount(self._reading, before=self.composer)
        return self._reading

    def restyle(self, styles: TranscriptTheme) -> None:
        """Paint the conversation in another theme, now or when there is one."""
        self.look = msgspec.structs.replace(self.look, transcript=styles)
        if self._feed is not None:
            self._feed.restyle(styles)

    def action_step(self, way: Literal["older", "newer"]) -> None:
        """Go to the prompt before or after; the keyboard stays where it is."""
        self.reading.step(way, prompts=True)

    def action_search(self) -> None:
        """Look for words in the conversation."""
        self.reading.search()

    @on(Editor.SearchWanted)
    def _search_wanted(self) -> None:
        self.action_search()

    def action_browse(self) -> None:
        """Give the keyboard to the conversation."""
        self.reading.browse()

    def action_stop(self) -> None:
        """Refuse an open question, and stop what runs."""
        if self.query_one(ApprovalPanel).refuse_and_stop():
            return
        if self.busy and self.link is not None:
            self.link.do(lambda agent: agent.interrupt())
        elif not self.editor.text:
            now = self.options.clock()
            twice = self._escaped_at is not None and now - self._escaped_at <= _TWICE
            self._escaped_at = None if twice else now
            if twice:
                self.action_command("rewind")

    def action_climb(self) -> None:
        """Copy what is selected, or take the next rung of the Ctrl+C ladder."""
        selected = self.get_selected_text()
        if selected:
            self.reading.post_message(self.reading.CopyAsked(selected))
            self.clear_selection()
            return
        now = self.options.clock()
        rung = climb(draft=bool(self.editor.text), busy=self.busy, armed_at=self._armed_at, now=now)
        self._armed_at = now if rung is Rung.ARM else None
        match rung:
            case Rung.PUT_AWAY:
                self.editor.put_away()
            case Rung.INTERRUPT:
                self.action_stop()
            case Rung.QUIT:
                self.post_message(self.QuitAsked())
            case Rung.ARM:
                pass
        self.note(rung.value)

    def action_leave_empty(self) -> None:
        """Leave, where there is no draft to lose; else delete a character, as Emacs does."""
        if not self.editor.text:
            self.post_message(self.QuitAsked())
        elif self.editor.has_focus:
            self.editor.action_delete_right()

    def action_command(self, name: Name) -> None:
        """Run a command from a key."""
        self.post_message(Composer.CommandTyped(Typed(name)))

    def action_review(self) -> None:
        """Show what was interrupted and what waits."""
        self.post_message(self.ReviewAsked())

    def action_transcript(self, what: str) -> None:
        """Scroll or unfold the conversation, whoever has the keyboard."""
        self.feed.act(what)

    def action_redraw(self) -> None:
        """Paint everything again (something else wrote to the terminal)."""
        self.refresh(layout=True, repaint=True)


def _hints(screen: SessionView) -> tuple[Hint, ...]:
    """Return the hints with the keys that are really bound."""
    keymap = screen.options.keymap
    rows = _BUSY if screen.busy else _IDLE
    return tuple((key_name(keymap[name].split(",")[0]) if name in keymap else key, about) for name, key, about in rows)


def _show_entry(screen: SessionView, entry: Entry) -> None:
    """Show what an entry changes beside the transcript."""
    if entry.kind == "prompt":
        screen.add_class("-talking")
    elif entry.kind in ("checkpoint", "handoff") and screen.link is not None:
        _show_bar(screen, screen.link.agent.usage)  # after a checkpoint it is unknown; a failed handoff is red


def _show_question(screen: SessionView, event: ApprovalAsked | ApprovalClosed) -> None:
    """Open the question about a call, or close it."""
    panel = screen.query_one(ApprovalPanel)
    if isinstance(event, ApprovalAsked):
        panel.ask(event, drafting=bool(screen.editor.text))
    else:
        panel.close(event.call_id)


def _is_refusal(screen: SessionView, text: str) -> bool:
    """Whether this is said because nothing could be sent at a start, which needs a choice."""
    agent = screen.link.agent if screen.link is not None else None
    return agent is not None and agent.starting.refused is not None and text == agent.loop.last.detail


def _show_standing(banner: Banner, event: Followed | Failed) -> None:
    """Show what stays: who writes the session, or that nobody can. One taken over is opened anew to be followed."""
    if isinstance(event, Followed):
        banner.stand("following", _following(event.owner))
    elif not event.taken:
        banner.say(f"{event.message} Nothing after this is saved; what is here can be copied. F5 tries again.", "error")


def _following(owner: str) -> str:
    if owner:
        return f"This session is open in another window ({owner}). Here it is followed; /take-over writes it here."
    return "The other window has gone. This session can only be read here; /take-over writes it here."


def _show_bar(screen: SessionView, usage: UsageChanged) -> None:
    agent = screen.link.agent if screen.link is not None else None
    failed = agent is not None and agent.compaction.state.phase == "failed"
    model = agent.model_info.id if agent is not None else ""
    screen.query_one(ContextBar).show(bar_state(usage, model, failed=failed))


def _show_run(screen: SessionView, agent: Agent) -> None:
    """Show the run the session has, as it stands."""
    from tui.screens.running import run_of

    screen.query_one(RunStrip).show(run_of(agent))
