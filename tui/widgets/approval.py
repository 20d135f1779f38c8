"""The question before a tool acts: exactly what would run, and a few deliberate keys.

The panel stands above the editor and never takes the keyboard by itself: the editor hands it each
key first (`take`), and `gate` decides whether the key was meant for it. What is typed meanwhile goes
into the draft, every character of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui.agent.events import ApprovalAsked
from tui.widgets.gate import KeyGate
from tui.widgets.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from tui.tools.base import Preview

__all__ = ["ApprovalPanel", "question_body", "question_keys", "question_title"]

_BODY_LIMIT = 200_000
_RULE_KEYS = "ab"
"""The keys that allow this and alike from now on, one for each rule that is offered."""
_VERBS = {"bash": "wants to run a command", "edit": "wants to change a file", "write": "wants to write a file"}


def question_title(asked: ApprovalAsked) -> Content:
    """Return the line that says who asks for what."""
    verb = _VERBS.get(asked.name, f"wants to {asked.preview.effect.value}")
    return Content.assemble(
        ("? ", "bold $clew-warning"), (one_line(asked.name, 40), "bold $clew-text"), (f" {verb}", "$clew-text")
    )


def question_body(preview: Preview) -> Content:
    """Return what would be done, every odd character visible. Never cut without saying so."""
    rows: list[Content] = []
    if preview.command:
        rows += _block(preview.command, "bold $clew-text")
    else:
        rows += _block(preview.title, "bold $clew-text")
    rows += [_row(f"outside the project: {one_line(path)}", "$clew-hard") for path in preview.outside]
    if preview.warning:
        rows += _block(preview.warning, "$clew-warning")
    if preview.diff:
        rows += [
            _row(line, _diff_style(line)) for line in _lines(preview.diff) if not line.startswith(("--- ", "+++ "))
        ]
    return Content("\n").join(rows)


def question_keys(asked: ApprovalAsked, *, ready: bool, drafting: bool, root: str = "") -> Content:
    """Return the rows of keys; dim, with what to do, while no key counts. Always the same number of rows.

    Paths below `root` are shown without it; a rule that is written so means the same.
    """
    offered = tuple(zip(_RULE_KEYS, asked.suggestions, strict=False))
    if drafting:
        rest = "\n" * len(offered)
        return Content.assemble(
            ("Tab", "$clew-text"), (f" to answer; what you type goes into your message{rest}", "$clew-dim")
        )
    key = "bold $clew-text" if ready else "$clew-dim"
    about = "$clew-text" if ready else "$clew-dim"
    parts = [("y", key), (" once   ", about), ("n", key), (" no, and say why   ", about)]
    parts += [("Esc", key), (" no, and stop", about)]
    for letter, rule in offered:
        parts += [(f"\n{letter}", key), (f" always {one_line(_shown(rule, root), 160)}", about)]
    return Content.assemble(*parts)


def _shown(rule: str, root: str) -> str:
    return rule.replace(f"({root}/", "(", 1) if root else rule


def _lines(text: str) -> list[str]:
    cut = sanitise(text[:_BODY_LIMIT], visible=True).split("\n")
    if len(text) > _BODY_LIMIT:
        cut.append(f"[{len(text) - _BODY_LIMIT:,} more characters are not shown: say no unless you know them]")
    return cut[:-1] if cut and not cut[-1] else cut


def _block(text: str, style: str) -> list[Content]:
    return [_row(line, style) for line in _lines(text)]


def _row(text: str, style: str) -> Content:
    return Content.assemble((text or " ", style))


def _diff_style(line: str) -> str:
    return {"+": "$clew-ok", "-": "$clew-hard", "@": "$clew-accent"}.get(line[:1], "$clew-dim")


class _Parts(NamedTuple):
    title: Static
    body: Static
    scroll: VerticalScroll
    reason: Input
    keys: Static


class ApprovalPanel(Vertical):
    """Shows one question at a time and posts `Decided`."""

    DEFAULT_CSS = """
    ApprovalPanel { height: auto; display: none; background: $clew-surface; padding: 0 1;
        border-left: outer $clew-warning; }
    ApprovalPanel.-open { display: block; }
    ApprovalPanel #question-title, ApprovalPanel #question-keys { height: auto; max-height: 5; }
    ApprovalPanel #question-scroll { height: auto; max-height: 10; padding: 0 2; scrollbar-size-vertical: 1; }
    ApprovalPanel #question-body { height: auto; width: 1fr; }
    ApprovalPanel #question-reason { display: none; border: none; height: 1; padding: 0; background: $clew-surface; }
    ApprovalPanel.-reason #question-reason { display: block; }
    """

    class Decided(Message):
        """The person decided; `interrupt` means stop the exchange too."""

        def __init__(
            self, call_id: str, *, allowed: bool, rule: str = "", reason: str = "", interrupt: bool = False
        ) -> None:
            self.call_id = call_id
            self.allowed = allowed
            self.rule = rule
            self.reason = reason
            self.interrupt = interrupt
            super().__init__()

    class Left(Message):
        """The reason field was closed: the keyboard goes back to the editor."""

    def __init__(self, *, clock: Callable[[], float] | None = None, root: str = "") -> None:
        super().__init__(id="approval")
        self._clock = clock
        self._root = root
        self._rows = 14
        self._parts: _Parts | None = None
        """Made for the first question: the first frame of the program is there sooner without them."""
        self._asked: ApprovalAsked | None = None
        self._gate = KeyGate()
        self._called = False
        """The person turned to the panel on purpose (Tab), though a draft stands."""
        self._drafting = False

    @property
    def asked(self) -> ApprovalAsked | None:
        """The open question."""
        return self._asked

    @property
    def is_painted(self) -> bool:
        """Whether the open question is on the screen."""
        return self._asked is not None and self._gate.painted is not None

    @property
    def ready(self) -> bool:
        """Whether a key pressed now would answer."""
        return self._asked is not None and self._gate.accepts(self._now()) and not self._drafting

    def ask(self, asked: ApprovalAsked, *, drafting: bool) -> None:
        """Show a question. No key counts before it is painted and the keyboard has been still."""
        self._asked = asked
        self._called = False
        self._drafting = drafting
        self._gate = KeyGate(last_key=self._gate.last_key)
        parts = self._made()
        parts.title.update(question_title(asked))
        parts.body.update(question_body(asked.preview))
        parts.scroll.scroll_home(animate=False)
        self.remove_class("-reason")
        self.add_class("-open")
        self.fit(self._rows)
        self._show_keys()
        self.call_after_refresh(self._mounted, asked.call_id)

    def _made(self) -> _Parts:
        if self._parts is None:
            body = Static("", id="question-body", markup=False)
            self._parts = _Parts(
                title=Static("", id="question-title", markup=False),
                body=body,
                scroll=VerticalScroll(body, id="question-scroll", can_focus=False),
                reason=Input(placeholder="why not? (Enter sends it, Esc goes back)", id="question-reason"),
                keys=Static("", id="question-keys", markup=False),
            )
            self.mount(self._parts.title, self._parts.scroll, self._parts.reason, self._parts.keys)
        return self._parts

    def fit(self, rows: int) -> None:
        """Leave the question so many rows of the screen: what would run scrolls, the keys are always in view."""
        self._rows = rows
        if self._parts is not None:
            self._parts.scroll.styles.max_height = max(2, rows - 4)

    def close(self, call_id: str) -> None:
        """Take the question away, if it is this one."""
        if self._asked is not None and self._asked.call_id == call_id:
            if self._made().reason.has_focus:
                self.post_message(self.Left())
            self._asked = None
            self.remove_class("-open", "-reason")

    def drafting(self, has_text: bool) -> None:
        """Say whether a draft stands in the editor: then no letter is an answer, unless Tab was pressed."""
        self._called = self._called and has_text
        self._drafting = has_text and not self._called
        self._show_keys()

    def take(self, event: events.Key) -> bool:
        """Return whether this key was meant for the question, and act on it if so."""
        at = event.time if self._clock is None else self._clock()
        accepts = self._gate.accepts(at)
        self._gate = self._gate.pressed(at)
        if self._asked is None:
            return False
        if event.key == "tab" and self._drafting:
            self._called, self._drafting = True, False
            self._later()
            return True
        if self._drafting or not accepts:
            self._called = False
            self._later()
            return False
        return self._answer(event.key, self._asked)

    def _answer(self, key: str, asked: ApprovalAsked) -> bool:
        match key:
            case "y":
                self._decide(allowed=True)
            case "a" | "b" if _RULE_KEYS.index(key) < len(asked.suggestions):
                self._decide(allowed=True, rule=asked.suggestions[_RULE_KEYS.index(key)])
            case "n":
                self.add_class("-reason")
                field = self._made().reason
                field.value = ""
                field.focus()
            case "up" | "down" | "pageup" | "pagedown" | "home" | "end":
                self._scroll(key)
            case "enter" | "tab":
                pass  # Never an answer, and not a message either: nothing happens by accident.
            case _:
                return False
        return True

    def refuse_and_stop(self) -> bool:
        """Answer no and ask to stop (Esc). Refusing is safe, so no gate. Returns whether a question was open."""
        if self._asked is None:
            return False
        if self.has_class("-reason"):
            self._leave_reason()
            return True
        self._decide(allowed=False, interrupt=True)
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Refuse with the reason that was written."""
        event.stop()
        self._decide(allowed=False, reason=event.value)
        self._leave_reason()

    def _decide(self, *, allowed: bool, rule: str = "", reason: str = "", interrupt: bool = False) -> None:
        if self._asked is not None:
            call_id = self._asked.call_id
            self.post_message(self.Decided(call_id, allowed=allowed, rule=rule, reason=reason, interrupt=interrupt))

    def _leave_reason(self) -> None:
        self.remove_class("-reason")
        self.post_message(self.Left())

    def _scroll(self, key: str) -> None:
        body = self._made().scroll
        match key:
            case "up":
                body.scroll_up(animate=False)
            case "down":
                body.scroll_down(animate=False)
            case "pageup":
                body.scroll_page_up(animate=False)
            case "pagedown":
                body.scroll_page_down(animate=False)
            case "home":
                body.scroll_home(animate=False)
            case _:
                body.scroll_end(animate=False)

    def _mounted(self, call_id: str) -> None:
        """Wait until the parts stand on the screen, then for the frame that shows them."""
        there = self._made().keys.is_mounted
        self.call_after_refresh(self._painted if there else self._mounted, call_id)

    def _painted(self, call_id: str) -> None:
        if self._asked is not None and self._asked.call_id == call_id:
            self._gate = self._gate.shown(self._now())
            self._later()

    def _later(self) -> None:
        """Show the keys as they are now, and again when they would count."""
        self._show_keys()
        wait = self._gate.wait(self._now())
        if self._asked is not None and wait > 0:
            self.set_timer(wait + 0.01, self._show_keys, name="gate")

    def _show_keys(self) -> None:
        if self._asked is not None:
            keys = question_keys(self._asked, ready=self.ready, drafting=self._drafting, root=self._root)
            self._made().keys.update(keys)

    def _now(self) -> float:
        return time.monotonic() if self._clock is None else self._clock()
