"""`/tree`: the session's tree, row by row. Keys move, fold, search, and say what is wanted of a place."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.context.tree import Folds, Tree, TreeNode, TreeRow, find_row, rows
from tui.widgets.sanitise import one_line

__all__ = ["Asked", "TreePage", "row_content"]

Wish: TypeAlias = Literal["go", "label", "fork"]

_MARKS = {
    "prompt": ("●", "*"),
    "steer": ("↳", ">"),
    "checkpoint": ("◆", "#"),
    "fork": ("┬", "+"),
    "mark": ("▪", "@"),
    "fold": ("…", "..."),
    "bar": ("│ ", "| "),
    "lead": ("├ ", "+ "),
    "here": ("◀ here", "< here"),
}
_HELP = "Enter go there  l label  f fork  Space fold  / search  Esc back"


class Asked(msgspec.Struct, frozen=True):
    """What a person wants of a place in the tree."""

    wish: Wish
    node: TreeNode


def row_content(row: TreeRow, *, here: bool, chosen: bool, ascii_only: bool) -> Content:
    """Return one row of the tree; what is not ours is made visible and never read as markup."""
    at = int(ascii_only)
    steps = row.indent
    lead = _MARKS["bar"][at] * (steps - 1) + _MARKS["lead" if row.lead else "bar"][at] if steps else ""
    style = "$clew-text" if row.on_path else "$clew-dim"
    parts: list[tuple[str, str]] = [(">" if chosen else " ", "bold $clew-accent"), (lead, "$clew-dim")]
    if row.node is None:
        parts.append((f"{_MARKS['fold'][at]} {row.folded:,} more", "$clew-dim"))
        return Content.assemble(*parts)
    node = row.node
    parts.append((f"{_MARKS[node.kind][at]} ", "$clew-accent" if row.on_path else "$clew-dim"))
    if node.label:
        parts.append((f"[{one_line(node.label, 60)}] ", "bold $clew-accent"))
    parts.append((one_line(_words(node), 200), f"bold {style}" if chosen else style))
    more = [f"{row.folded:,} hidden"] if row.folded else []
    more += [f"{node.sessions} forked here"] if node.sessions else []
    parts += [(f"  {', '.join(more)}", "$clew-dim")] if more else []
    parts += [(f"  {_MARKS['here'][at]}", "bold $clew-accent")] if here else []
    return Content.assemble(*parts)


def _words(node: TreeNode) -> str:
    if node.kind == "fork":
        return f"{node.branches} ways on from here"
    return f"checkpoint, {node.text}" if node.kind == "checkpoint" else node.text


class TreePage(ModalScreen[Asked | None]):
    """Shows a tree; returns what is wanted of which landmark, or None. Only the rows in view are drawn."""

    DEFAULT_CSS = """
    TreePage { background: $clew-background; }
    TreePage Vertical { padding: 0 1; }
    TreePage .title { height: 1; color: $clew-accent; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
    TreePage .rows { height: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    TreePage .help { height: 1; color: $clew-dim; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", "Up", show=False, id="tree.up"),
        Binding("down,j", "step(1)", "Down", show=False, id="tree.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="tree.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="tree.page_down"),
        Binding("home,g", "step(-1000000000)", "First", show=False, id="tree.home"),
        Binding("end,G", "step(1000000000)", "Last", show=False, id="tree.end"),
        Binding("space,left,right", "fold", "Fold or open", show=False, id="tree.fold"),
        Binding("slash", "search", "Search", show=False, id="tree.search"),
        Binding("enter", "want('go')", "Go there", show=False, id="tree.go"),
        Binding("l", "want('label')", "Label", show=False, id="tree.label"),
        Binding("f", "want('fork')", "Fork", show=False, id="tree.fork"),
        Binding("escape,q,ctrl+c", "leave", "Back", show=False, id="tree.back"),
    ]

    def __init__(self, tree: Tree, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._tree = tree
        self._ascii = ascii_only
        self._folds = Folds()
        self._typing = False
        self._rows = rows(tree, self._folds)
        self._at = find_row(self._rows, tree.here, len(self._rows))
        self._top = 0
        self._title = Static("", classes="title", markup=False)
        self._shown = Static("", classes="rows", markup=False)
        self._help = Static("", classes="help", markup=False)

    def compose(self) -> ComposeResult:
        """Title, rows, help."""
        with Vertical():
            yield self._title
            yield self._shown
            yield self._help

    def on_mount(self) -> None:
        """Draw when the height is known."""
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new height."""
        self.call_after_refresh(self._draw)

    @property
    def rows(self) -> tuple[TreeRow, ...]:
        """The rows as they are folded or found."""
        return self._rows

    @property
    def here(self) -> str:
        """The landmark at which the conversation stands."""
        return self._tree.here

    @property
    def chosen(self) -> TreeRow | None:
        """The row the cursor is on."""
        return self._rows[self._at] if self._rows else None

    def _draw(self) -> None:
        height = max(1, self._shown.size.height)
        self._top = max(min(self._top, self._at), self._at - height + 1, 0)
        lines = [
            row_content(
                row,
                here=row.node is not None and row.node.id == self._tree.here,
                chosen=self._top + at == self._at,
                ascii_only=self._ascii,
            )
            for at, row in enumerate(self._rows[self._top : self._top + height])
        ]
        self._shown.update(Content("\n").join(lines) if lines else Content("Nothing here holds these words"))
        self._title.update(Content(f"Tree  {self._at + 1 if self._rows else 0:,} of {len(self._rows):,}"))
        query = one_line(self._folds.query, 80)
        searching = f"/{query}{'_' if self._typing else ''}  Enter shows, Esc ends the search"
        self._help.update(Content(searching if self._typing or query else _HELP))

    def _refold(self, folds: Folds) -> None:
        key = self._rows[self._at].key if self._rows else self._tree.here
        self._folds = folds
        self._rows = rows(self._tree, folds)
        self._at = find_row(self._rows, key, self._at)
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """While a search is typed, its letters are no commands."""
        if not self._typing:
            return
        if event.key == "backspace":
            self._refold(msgspec.structs.replace(self._folds, query=self._folds.query[:-1]))
        elif event.is_printable and event.character:
            self._refold(msgspec.structs.replace(self._folds, query=self._folds.query + event.character))
        else:
            return
        event.stop()
        event.prevent_default()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give letters to the search while one is typed."""
        letters = action in ("fold", "search") or (action == "want" and parameters != ("go",))
        return not (self._typing and letters)

    def action_step(self, count: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(self._at + count, len(self._rows) - 1))
        self._draw()

    def action_page(self, count: int) -> None:
        """Move by a page."""
        self.action_step(count * max(1, self._shown.size.height - 1))

    def action_fold(self) -> None:
        """Open what is folded, or hide the other branches of a fork."""
        row = self.chosen
        if row is None or self._folds.query:
            return
        if row.node is None:
            self._refold(msgspec.structs.replace(self._folds, opened=self._folds.opened | {row.key}))
        elif row.node.kind == "fork":
            self._refold(msgspec.structs.replace(self._folds, closed=self._folds.closed ^ {row.key}))

    def action_search(self) -> None:
        """Begin a search."""
        self._typing = True
        self._draw()

    def action_want(self, wish: Wish) -> None:
        """Say what is wanted of the chosen landmark; a folded stretch opens instead."""
        if self._typing:
            self._typing = False
            self._draw()
            return
        row = self.chosen
        if row is not None and row.node is not None:
            self.dismiss(Asked(wish, row.node))
        else:
            self.action_fold()

    def action_leave(self) -> None:
        """End the search, else go back."""
        if self._typing or self._folds.query:
            self._typing = False
            self._refold(msgspec.structs.replace(self._folds, query=""))
        else:
            self.dismiss(None)
