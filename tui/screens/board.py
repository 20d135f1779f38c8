"""`/run`: the board of a run. Items with their evidence, what happened, and keys for what a person can say."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.runs.plan import Plan
from tui.runs.report import MARKS, event_line, figures, item_lines, status_word
from tui.runs.state import RunState, Step
from tui.widgets.sanitise import one_line

__all__ = ["BOARD_BINDINGS", "Board", "BoardPage", "Wanted", "Wish"]

Wish: TypeAlias = Literal["retry", "skip", "accept", "revise", "resume", "pause", "stop", "show"]

_LIST_SHARE = 2
"""The list takes one in so many rows of the page, the marked item's details the others."""
_STYLES = {"accepted": "$clew-ok", "blocked": "$clew-hard", "working": "$clew-accent", "verifying": "$clew-accent"}
_HELP = "r retry  s skip  a accept  v revise  g go on  p pause  x stop\nEnter in the conversation  e events  Esc back"

BOARD_BINDINGS: list[BindingType] = [
    Binding("up,k", "step(-1)", "Item before", show=False, id="board.up"),
    Binding("down,j", "step(1)", "Item after", show=False, id="board.down"),
    Binding("home", "step(-1000000)", "First item", show=False, id="board.home"),
    Binding("end", "step(1000000)", "Last item", show=False, id="board.end"),
    Binding("pageup", "scroll(-8)", "Its details up", show=False, id="board.page_up"),
    Binding("pagedown,space", "scroll(8)", "Its details down", show=False, id="board.page_down"),
    Binding("r", "want('retry')", "Retry the item that is blocked, with a word to it", show=False, id="board.retry"),
    Binding("s", "want('skip')", "Skip the item that waits", show=False, id="board.skip"),
    Binding("a", "want('accept')", "Accept the item that waits for a review", show=False, id="board.accept"),
    Binding("v", "want('revise')", "Ask for a revision of it", show=False, id="board.revise"),
    Binding("g", "want('resume')", "Go on with the run", show=False, id="board.resume"),
    Binding("p", "want('pause')", "Pause the run", show=False, id="board.pause"),
    Binding("x", "want('stop')", "Stop the run for good", show=False, id="board.stop"),
    Binding("enter,o", "want('show')", "Show the item in the conversation", show=False, id="board.show"),
    Binding("e", "events", "What happened, or the items", show=False, id="board.events"),
    Binding("escape,q,ctrl+c", "leave", "Back", show=False, id="board.back"),
]


class Board(msgspec.Struct, frozen=True):
    """What the board shows, at one moment."""

    plan: Plan
    state: RunState
    armed: bool
    """Whether this process works on the run."""
    question: str = ""
    """What only a person can answer now."""


class Wanted(msgspec.Struct, frozen=True):
    """What a person wants, and the index of the item that was marked."""

    wish: Wish
    item: int


class BoardPage(ModalScreen[Wanted | None]):
    """Shows a run; returns what is wanted. `look` tells how the run stands now: it goes on while the page is open."""

    DEFAULT_CSS = """
    BoardPage { background: $clew-background; }
    BoardPage Vertical { padding: 0 1; }
    BoardPage .head { height: auto; }
    BoardPage .items { height: auto; margin: 1 0; text-wrap: nowrap; text-overflow: ellipsis; }
    BoardPage .details { height: 1fr; scrollbar-size-vertical: 1; }
    BoardPage .help { height: 2; color: $clew-dim; }
    """
    BINDINGS: ClassVar[list[BindingType]] = BOARD_BINDINGS

    def __init__(self, look: Callable[[], Board], happened: tuple[tuple[int, Step], ...]) -> None:
        super().__init__()
        self._look = look
        self._happened = happened
        self._board = look()
        self._at = max(0, self._board.state.at)
        self._events = False
        self._head = Static("", classes="head", markup=False)
        self._items = Static("", classes="items", markup=False)
        self._details = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Head, items, the marked one's details, help."""
        with Vertical():
            yield self._head
            yield self._items
            with VerticalScroll(classes="details", can_focus=False):
                yield self._details
            yield Static(_HELP, classes="help", markup=False)

    def on_mount(self) -> None:
        """Draw when the height is known, and again when the run has gone on."""
        self.call_after_refresh(self._draw)
        self.set_interval(1.0, self._follow, name="board")

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self._draw)

    def _follow(self) -> None:
        board = self._look()
        if board != self._board:
            self._board = board
            self._draw()

    def _draw(self) -> None:
        board = self._board
        self._head.update(_head(board))
        rows = max(3, self.size.height // _LIST_SHARE - 4)
        self._items.update(_list(board, self._at, rows))
        lines = (
            [event_line(at, step) for at, step in self._happened]
            if self._events
            else item_lines(board.plan, board.state, self._at)
        )
        self._details.update(Content("\n".join(one_line(line, 300) for line in lines)))

    @property
    def marked(self) -> int:
        """Index of the marked item."""
        return self._at

    def action_step(self, count: int) -> None:
        """Mark another item."""
        self._at = max(0, min(self._at + count, len(self._board.plan.items) - 1))
        self._events = False
        self._draw()
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_scroll(self, rows: int) -> None:
        """Scroll the details."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_events(self) -> None:
        """Show what happened in place of the item, or the item again."""
        self._events = not self._events
        self._draw()

    def action_want(self, wish: Wish) -> None:
        """Say what is wanted."""
        self.dismiss(Wanted(wish, self._at))

    def action_leave(self) -> None:
        """Want nothing."""
        self.dismiss(None)


def _head(board: Board) -> Content:
    """Return title and figures, why it does not go on, and what a person is asked."""
    word = status_word(board.plan, board.state, armed=board.armed)
    count = f"  {board.state.done}/{len(board.plan.items)}  {word}"
    rows = [Content.assemble((one_line(board.plan.title, 100), "bold $clew-accent"), (count, "bold $clew-text"))]
    rows.append(Content.assemble((figures(board.plan, board.state), "$clew-dim")))
    why = board.question or board.state.suspended or board.state.detail
    return Content("\n").join([*rows, Content.assemble((one_line(why, 300), "$clew-warning"))] if why else rows)


def _list(board: Board, marked: int, most: int) -> Content:
    """Return the rows of the items around the marked one."""
    number = len(board.plan.items)
    top = max(0, min(marked - most // 2, number - most))
    rows: list[Content] = []
    for at in range(top, min(top + most, number)):
        item = board.state.items[at]
        tries = f"  {item.attempts} attempts" if item.attempts > 1 else ""
        rows.append(
            Content.assemble(
                (">" if at == marked else " ", "bold $clew-accent"),
                (f"[{MARKS[item.status]}] {at + 1}. ", _STYLES.get(item.status, "$clew-text")),
                (one_line(board.plan.items[at].title, 200), "bold" if at == marked else ""),
                (f"  {item.status}{tries}", "$clew-dim"),
            )
        )
    left = number - len(rows)
    if left:
        rows.append(Content.assemble((f" {left:,} more", "$clew-dim")))
    return Content("\n").join(rows)
