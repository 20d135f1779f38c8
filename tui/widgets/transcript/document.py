"""All blocks of a transcript at one width: their heights, and the rows of those that were looked at.

No Textual widget in here: it can be tested without an app. Heights are estimated until a block is
rendered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.strip import Strip

from tui.widgets.transcript.blocks import Block, ToolBlock
from tui.widgets.transcript.heights import Heights
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.render import estimate, render_block
from tui.widgets.transcript.rows import Row
from tui.widgets.transcript.views import Done, View, ViewCache

__all__ = ["PROGRESS_CHARS", "Document", "Place"]

PROGRESS_CHARS = 20_000
"""Characters of a running tool's output that are kept for the screen."""


class Place(NamedTuple):
    """A row of a block: the block's serial (stable while blocks are added at either end) and the row in it."""

    serial: int
    row: int


class Document:
    """The blocks, in order, at `width` cells (0: not known yet). Rows count from the first block's first."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.width = 0
        self.heights = Heights()
        self.blocks: list[Block] = []
        self.all_open = False
        self.trailing: list[str] = []
        """Ids of blocks at the end that are being written: what is added comes before them."""
        self.written: dict[str, View] = {}
        """The views of blocks that are being written, by id."""
        self.first = 0
        """The serial of `blocks[0]`."""
        self._exact = bytearray()
        self._serials: dict[str, int] = {}
        self._views = ViewCache()
        self._toggled: set[str] = set()
        self.open_kinds: frozenset[type[Block]] = frozenset()
        """Kinds of block that stand open."""
        self._progress: dict[str, str] = {}

    def load(self, blocks: Iterable[Block]) -> None:
        """Show these blocks and no others; of blocks with one id the last stays, where the first was."""
        self.blocks = list({block.id: block for block in blocks}.values())
        self.first = 0
        self._serials = {block.id: at for at, block in enumerate(self.blocks)}
        self.trailing.clear()
        self.written.clear()
        self._progress.clear()
        self.rebuild()

    def prepend(self, blocks: Iterable[Block]) -> int:
        """Add an older page; return its rows. Blocks that are shown already (a call's later page) are left out."""
        fresh = [block for block in blocks if block.id not in self._serials]
        self.first -= len(fresh)
        self._serials.update((block.id, self.first + at) for at, block in enumerate(fresh))
        self.blocks[:0] = fresh
        self._exact[:0] = bytes(len(fresh))
        return self.heights.prepend([self._estimate(block) for block in fresh])

    def append(self, block: Block) -> None:
        """Add a block at the end, but before what is still being written: that becomes an entry only later."""
        if block.id in self._serials:
            self.replace(block)
            return
        held = [(self.blocks[self._at(name)], self._take(name)) for name in self.trailing]
        self.put(block)
        for each, view in held:
            self.put(each, view)

    def put(self, block: Block, view: View | None = None) -> None:
        """Add a block at the very end, with its rows where they are known."""
        self._serials[block.id] = self.first + len(self.blocks)
        self.blocks.append(block)
        self._exact.append(0)
        self.heights.append(self._estimate(block))
        if view is not None:
            self.show(block.id, view)

    def swap(self, block_id: str, block: Block, view: View | None = None) -> int:
        """Put a block in another's place; return by how many rows it grew."""
        at = self._at(block_id)
        self._views.forget(block_id)
        self.written.pop(block_id, None)
        self._serials[block.id] = self._serials.pop(block_id)
        self.blocks[at] = block
        self._exact[at] = 0
        if view is None:
            return self._changed(at, seen=True)
        return self.show(block.id, view)

    def show(self, block_id: str, view: View) -> int:
        """Give a block its rows; return by how many it grew."""
        if isinstance(view, Done):
            self._views.keep(block_id, view)
            self.written.pop(block_id, None)
        else:
            self.written[block_id] = view
        at = self._at(block_id)
        self._exact[at] = 1
        return self.heights.set(at, len(view))

    def replace(self, block: Block) -> tuple[int, int]:
        """Change a block; return its index and by how many rows it grew."""
        if isinstance(block, ToolBlock) and block.state not in ("waiting", "running"):
            self._progress.pop(block.call_id, None)
        at = self._at(block.id)
        self.blocks[at] = block
        return at, self._changed(at, seen=block.id in self._views)

    def remove(self, block_id: str) -> None:
        """Take a block out, if it is there."""
        if block_id in self._serials:
            self._take(block_id)

    def index(self, block_id: str) -> int | None:
        """Return where a block is, or None."""
        return self._at(block_id) if block_id in self._serials else None

    def _at(self, block_id: str) -> int:
        return self._serials[block_id] - self.first

    def _take(self, block_id: str) -> View | None:
        """Take a block out; return its rows, if they are at hand."""
        at = self._at(block_id)
        view = self.written.pop(block_id, None) or self._views.get(block_id)
        del self._serials[block_id], self.blocks[at], self._exact[at]
        for later in self.blocks[at:]:
            self._serials[later.id] -= 1
        self.heights.remove(at)
        self._views.forget(block_id)
        return view

    # -- rows ----------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Forget all rows, after a change of width, look or folding. Estimates at once, rows when looked at."""
        self._views.clear()
        self.heights = Heights([self._estimate(block) for block in self.blocks])
        self._exact = bytearray(len(self.blocks))
        for name, view in self.written.items():
            self.show(name, view)

    def settle(self, row: int, height: int) -> int:
        """Make the blocks in `height` rows from `row` exact; return where the block that was at `row` now begins."""
        if not self.blocks or not self.width:
            return 0
        heights = self.heights
        at, inside = heights.find(max(0, min(row, heights.total - 1)))
        before = heights[at]
        after = self._make_exact(at)
        if after != before:
            inside = min(max(0, after - 1), inside * after // max(1, before))
        rows, later = after - inside, at + 1
        while rows < height and later < len(self.blocks):
            rows += self._make_exact(later)
            later += 1
        return heights.start(at) + inside if rows >= height else self.settle_end(height)

    def settle_end(self, height: int) -> int:
        """Make the last `height` rows exact; return the first of them."""
        at, rows = len(self.blocks) - 1, 0
        while self.width and at >= 0 and rows < height:
            rows += self._make_exact(at)
            at -= 1
        return max(0, self.heights.total - height)

    def strips(self, row: int, count: int) -> list[tuple[Place, Row | None, Strip]]:
        """Return `count` rows from `row` on, as places, rows and strips; past the end they are empty."""
        found: list[tuple[Place, Row | None, Strip]] = []
        at, inside = self.heights.find(row) if self.blocks else (0, 0)
        while len(found) < count and at < len(self.blocks):
            view = self.view(at)
            for line in range(inside, min(len(view), inside + count - len(found))):
                strip = view.strip(line, self.width, self.look)
                found.append((Place(self.first + at, line), view.row(line), strip))
            at, inside = at + 1, 0
        blank = Strip.blank(max(1, self.width), self.look.theme.text)
        end = Place(self.first + len(self.blocks), 0)
        return found + [(end, None, blank)] * (count - len(found))

    def view(self, at: int) -> View:
        """Return the rows of a block, rendered if they are not at hand."""
        block = self.blocks[at]
        view = self.written.get(block.id) or self._views.get(block.id)
        if view is None:
            progress = self._progress.get(block.call_id, "") if isinstance(block, ToolBlock) else ""
            folded = not self.is_open(block)
            view = Done(render_block(block, self.width, self.look, folded=folded, progress=progress))
            self.show(block.id, view)
        return view

    def _make_exact(self, at: int) -> int:
        if not self._exact[at]:
            self.view(at)
        return self.heights[at]

    def _estimate(self, block: Block) -> int:
        return estimate(block, self.width, folded=not self.is_open(block)) if self.width else 1

    def _changed(self, at: int, *, seen: bool) -> int:
        """Forget a block's rows, render them again if they had been `seen`; return by how many it grew."""
        block = self.blocks[at]
        before = self.heights[at]
        self._views.forget(block.id)
        self._exact[at] = 0
        if seen and self.width:
            self.view(at)
        else:
            self.heights.set(at, self._estimate(block))
        return self.heights[at] - before

    # -- folding and live output ---------------------------------------------------------------

    def is_open(self, block: Block) -> bool:
        """Whether a block is unfolded."""
        return (self.all_open or type(block) in self.open_kinds) != (block.id in self._toggled)

    def toggle(self, at: int) -> int:
        """Fold or unfold one block; return by how many rows it grew."""
        self._toggled ^= {self.blocks[at].id}
        return self._changed(at, seen=True)

    def toggle_all(self, *kinds: type[Block]) -> None:
        """Unfold all blocks (of these kinds), or fold them again."""
        self._toggled = {name for name in self._toggled if kinds and not isinstance(self._block(name), kinds)}
        if kinds:
            self.open_kinds ^= set(kinds)
        else:
            self.all_open, self.open_kinds = not self.all_open, frozenset()
        self.rebuild()

    def _block(self, name: str) -> Block | None:
        return self.blocks[self._at(name)] if name in self._serials else None

    def progress(self, call_id: str, text: str) -> tuple[int, int] | None:
        """Add live output of a call; return its block's index and growth, or None for a call not shown."""
        kept = self._progress.get(call_id, "") + text
        self._progress[call_id] = kept[-PROGRESS_CHARS:]
        at = self.index(f"call:{call_id}")
        return None if at is None else (at, self._changed(at, seen=True))
