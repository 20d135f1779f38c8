"""The main screen without a session: events are put in by hand. Everything on it is fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from textual import on
from textual.app import App

from tui.agent.events import AgentEvent, ApprovalAsked, EntryAdded, PhaseChanged, QueueChanged, QueuedText, UsageChanged
from tui.commands.table import Typed
from tui.context.thresholds import Given, Thresholds, resolve
from tui.log.entries import Answer, Body, Entry, Prompt, Result, Settled, Started, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage
from tui.resources import themes_folder
from tui.screens.composer import Composer
from tui.screens.look import look_of
from tui.screens.main import MainScreen
from tui.screens.options import AppOptions
from tui.tools.base import Effect, Preview
from tui.widgets.approval import ApprovalPanel
from tui.widgets.editor import Editor
from tui.widgets.start import StartView
from tui.widgets.themes import choose_theme, fallback_name

__all__ = [
    "ASKED",
    "ENVIRON",
    "LIMITS",
    "WAITING",
    "Stage",
    "conversation",
    "entries",
    "filled",
    "no_session",
    "options",
]

ENVIRON = {"HOME": "/home/ada", "LANG": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
DIFF = """--- a/parser.py
+++ b/parser.py
@@ -12,4 +12,4 @@
 def price(text):
-    return float(text)
+    return Decimal(text.replace(",", "."))

"""
ASKED = ApprovalAsked(
    call_id="call-2",
    name="edit",
    preview=Preview(title="parser.py", effect=Effect.EDIT, paths=("/home/ada/shop/parser.py",), diff=DIFF),
    suggestions=("edit(/home/ada/shop/parser.py)", "edit(/home/ada/shop/**)"),
)


def _limits() -> Thresholds:
    limits = resolve(Given(), 200_000)
    assert isinstance(limits, Thresholds)
    return limits


LIMITS = _limits()


def filled(tokens: int, *, cached: int = 0, cost: float = 0.0) -> UsageChanged:
    """Return how full a window of 200,000 tokens with the default levels is."""
    return UsageChanged(tokens, cached, LIMITS.window, "reported", cost, LIMITS)


def no_session() -> NoReturn:
    """Stand in for a session that is never opened."""
    raise AssertionError("this stage opens no session")


def options(
    environ: Mapping[str, str] = ENVIRON,
    clock: Callable[[], float] = lambda: 100.0,
    key_clock: Callable[[], float] | None = None,
) -> AppOptions:
    """Return fixed options."""
    return AppOptions(
        session=no_session,
        cwd=Path("/home/ada/shop"),
        version="1.2.3",
        theme_folders=(themes_folder(),),
        environ=environ,
        clock=clock,
        key_clock=key_clock,
    )


class Stage(App[None], inherit_bindings=False):
    """Shows the main screen and the events it is given."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        events: Sequence[AgentEvent] = (),
        *,
        theme: str = "",
        environ: Mapping[str, str] = ENVIRON,
        key_clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__()
        name, found, _ = choose_theme(theme, (themes_folder(),), fallback_name(environ))
        self.register_theme(found.textual(name))
        self.theme = name
        self.events = events
        self.decided: list[ApprovalPanel.Decided] = []
        self.sent: list[Editor.Submitted] = []
        self.commands: list[Typed] = []
        self.quits = 0
        self.main = MainScreen(options(environ, key_clock=key_clock), look_of(environ, found.styles()))

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        self.call_after_refresh(self.play)

    @on(ApprovalPanel.Decided)
    def note_decision(self, event: ApprovalPanel.Decided) -> None:
        self.decided.append(event)

    @on(Editor.Submitted)
    def note_sending(self, event: Editor.Submitted) -> None:
        self.sent.append(event)

    @on(Composer.CommandTyped)
    def note_command(self, event: Composer.CommandTyped) -> None:
        self.commands.append(event.command)

    @on(MainScreen.QuitAsked)
    def note_quit(self) -> None:
        self.quits += 1

    def play(self) -> None:
        self.main.query_one(StartView).answers("rehearsal", "rehearsal", unconnected=True)
        self.main.show(PhaseChanged("idle"))
        self.main.feed.load((), LIMITS)
        for event in self.events:
            self.main.show(event)


def entries(*bodies: Body) -> list[Entry]:
    """Return a path of these bodies, with fixed ids and times."""
    return [
        Entry(id=f"e{n}", parent=f"e{n - 1}" if n else None, depth=n, time=1_700_000_000_000 + n, body=body)
        for n, body in enumerate(bodies)
    ]


def conversation() -> list[AgentEvent]:
    """Return a short session: a prompt, a command with its output, an edit with its diff, an answer."""
    run = ToolCall(id="call-1", name="bash", arguments={"command": "pytest -q"})
    edit = ToolCall(id="call-2", name="edit", arguments={"path": "parser.py", "edits": []})
    usage = Usage(input=12_000, cache_read=60_000, output=900)
    bodies: list[Body] = [
        Started(cwd="/home/ada/shop", version="1.2.3"),
        Prompt(UserMessage((Text("The price parser fails on “3,50”. Please fix it.\nKeep [/red] as text."),))),
        Answer(
            AssistantMessage((Text("I run the tests first."), run), StopReason.TOOL_CALLS, usage=usage), seconds=2.0
        ),
        ToolStarted("call-1", "bash"),
        Result(
            ToolResult(
                "call-1", "bash", (Text("F...\nparser.py:14: ValueError: '3,50'\n1 failed, 3 passed"),), is_error=True
            ),
            details={"type": "bash", "exit": 1},
            seconds=1.25,
        ),
        Answer(AssistantMessage((edit,), StopReason.TOOL_CALLS, usage=usage), seconds=1.0),
        ToolStarted("call-2", "edit"),
        Result(ToolResult("call-2", "edit", (Text("Edited parser.py"),)), details={"type": "edit", "diff": DIFF}),
        Answer(
            AssistantMessage(
                (
                    Text(
                        "Fixed. `price` reads a **decimal comma** now:\n\n- `3,50` gives `3.50`\n- the other tests pass"
                    ),
                ),
                StopReason.COMPLETE,
                usage=usage,
            )
        ),
        Settled("answered", stop=StopReason.COMPLETE),
    ]
    usage_now = filled(72_900, cached=60_000, cost=0.1234)
    return [*(EntryAdded(entry) for entry in entries(*bodies)), usage_now]


WAITING = QueueChanged((QueuedText("q1", "also run the linter", "steer"), QueuedText("q2", "then commit", "follow-up")))
