"""Reading back: a marked block, steps between blocks and prompts, and words that are looked for.

What is marked is a block's id, so that it stays marked while text streams in and older pages come.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from rich.segment import Segment
from textual.message import Message
from textual.strip import Strip

from tui.widgets.transcript.blocks import Block, CheckpointBlock, NoteBlock, PromptBlock, ThinkingBlock, ToolBlock
from tui.widgets.transcript.document import Place
from tui.widgets.transcript.find import Spans, hit_spans, holds, pattern_of
from tui.widgets.transcript.render import foldable
from tui.widgets.transcript.rows import Row
from tui.widgets.transcript.selection import highlight
from tui.widgets.transcript.view import DocumentView, Painted
from tui.widgets.transcript.views import View

__all__ = ["FoldKind", "ReadingView", "Step"]

Step: TypeAlias = Literal["older", "newer"]
FoldKind: TypeAlias = Literal["tools", "thinking", "checkpoints"]

_KINDS: dict[FoldKind, tuple[type[Block], ...]] = {
    "tools": (ToolBlock,),
    "thinking": (ThinkingBlock,),
    "checkpoints": (CheckpointBlock, NoteBlock),
}
_MARGIN = 2
"""Rows of what is before that stay in view above a block that is stepped to."""


class ReadingView(DocumentView):
    """A document one can step and search through."""

    class Found(Message):
        """How often the words that are looked for stand in what is loaded."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    _mark = ""
    """The id of the marked block."""
    _pattern: re.Pattern[str] | None = None
    _hit: tuple[str, int, tuple[int, int]] | None = None
    """The hit that was gone to: its block's id, row and span."""
    _spans: tuple[View, Spans] | None = None

    # -- blocks ----------------------------------------------------------------------------------

    @property
    def marked_block(self) -> Block | None:
        """The marked block."""
        at = self.document.index(self._mark)
        return None if at is None else self.document.blocks[at]

    def mark(self, block_id: str) -> None:
        """Mark this block; an empty id marks none."""
        self._mark = block_id
        self.refresh()

    def step(self, way: Step, *, prompts: bool = False) -> bool:
        """Mark the next block (the next prompt) that way and bring it into view; False where there is none."""
        blocks = self.document.blocks
        at = self._from(way)
        at += 1 if way == "newer" else -1
        while 0 <= at < len(blocks) and (prompts and not isinstance(blocks[at], PromptBlock)):
            at += 1 if way == "newer" else -1
        if not 0 <= at < len(blocks):
            return False
        self._mark = blocks[at].id
        self._show(at)
        return True

    def go_to(self, block_id: str) -> None:
        """Mark this block and bring it into view, if it is there."""
        at = self.document.index(block_id)
        if at is not None:
            self.following = False
            self._mark = block_id
            self._show(at)

    def _from(self, way: Step) -> int:
        """Return where stepping begins: at the mark, else at what is in view."""
        at = self.document.index(self._mark)
        if at is not None:
            return at
        if way == "older":
            return self.document.heights.find(int(self.scroll_y) + self.size.height)[0]
        return self.document.heights.find(int(self.scroll_y))[0]

    def _show(self, at: int, row: int = 0) -> None:
        """Bring a row of a block into view, if it is not there, with some of what is before it."""
        document = self.document
        document.view(at)
        start = document.heights.start(at) + row
        top, height = int(self.scroll_y), self.size.height
        if top <= start and start + min(document.heights[at] - row, height - _MARGIN) <= top + height:
            self.refresh()
            return
        self._move(max(0, start - _MARGIN))
        if not self.following and document.heights.start(at) + row > int(self.scroll_y) + height - 1:
            self._move(document.heights.start(at) + row - _MARGIN)  # estimates above became exact

    def toggle_marked(self) -> None:
        """Fold or unfold the marked block."""
        at = self.document.index(self._mark)
        if at is not None and foldable(self.document.blocks[at]):
            self.document.toggle(at)
            self.following = False
            self._show(at)
            self._move(int(self.scroll_y))

    def toggle_kind(self, kind: FoldKind) -> None:
        """Unfold all blocks of a kind, or fold them again."""
        self.document.toggle_all(*_KINDS[kind])
        self._relayout()

    # -- words -----------------------------------------------------------------------------------

    def look_for(self, query: str) -> int:
        """Mark every place that holds `query` (none for blanks); return how many there are in what is loaded."""
        self._pattern = pattern_of(query) if query.strip() else None
        self._hit = self._spans = None
        self.refresh()
        if self._pattern is None:
            return 0
        return sum(holds(block, self._pattern) for block in self.document.blocks)

    def next_hit(self, way: Step) -> bool:
        """Go to the next hit that way, and open what hides it; False where there is none."""
        if self._pattern is None:
            return False
        at, place = self._hit_from(way)
        blocks = self.document.blocks
        while 0 <= at < len(blocks):
            if holds(blocks[at], self._pattern) and self._go_to_hit(at, place, way):
                return True
            at += 1 if way == "newer" else -1
            place = None
        return False

    def _hit_from(self, way: Step) -> tuple[int, tuple[int, tuple[int, int]] | None]:
        hit = self._hit
        at = self.document.index(hit[0]) if hit is not None else None
        if at is not None and hit is not None:
            return at, hit[1:]
        row = int(self.scroll_y) + (self.size.height - 1 if way == "older" else 0)
        return min(self.document.heights.find(max(0, row))[0], len(self.document.blocks) - 1), None

    def _go_to_hit(self, at: int, after: tuple[int, tuple[int, int]] | None, way: Step) -> bool:
        document = self.document
        block = document.blocks[at]
        if foldable(block) and not document.is_open(block):
            document.toggle(at)
        found = sorted((row, span) for row, spans in self._hits(document.view(at)).items() for span in spans)
        if after is not None:
            found = [hit for hit in found if (hit > after if way == "newer" else hit < after)]
        if not found:
            return False
        row, span = found[0 if way == "newer" else -1]
        self._hit, self._mark = (block.id, row, span), block.id
        self.following = False
        self._show(at, row)
        return True

    def _hits(self, view: View) -> Spans:
        if self._pattern is None:
            return {}
        if self._spans is None or self._spans[0] is not view:
            self._spans = (view, hit_spans(view, self._pattern))
        return self._spans[1]

    # -- painting --------------------------------------------------------------------------------

    def marked(self, rows: Sequence[Painted], strips: list[Strip]) -> list[Strip]:
        """Return the strips with the mark in the margin and the hits in them."""
        if not self._mark and self._pattern is None:
            return strips
        at = self.document.index(self._mark)
        serial = None if at is None else self.document.first + at
        return [
            self._painted(place, row, strip, marked=place.serial == serial)
            for (place, row, _), strip in zip(rows, strips, strict=True)
        ]

    def _painted(self, place: Place, row: Row | None, strip: Strip, *, marked: bool) -> Strip:
        at = place.serial - self.document.first
        if row is None or not 0 <= at < len(self.document.blocks):
            return strip
        look = self.document.look
        spans = self._hits(self.document.view(at)).get(place.row, ()) if self._pattern is not None else ()
        for span in spans:
            here = self._hit == (self.document.blocks[at].id, place.row, span)
            strip = highlight(strip, row, span, look.theme.hit_here if here else look.theme.hit)
        if marked and (place.row or len(row.text) > row.lead):
            bar = Strip([Segment(">" if look.ascii else "▌", look.theme.prompt)], 1)
            strip = Strip.join([bar, strip.crop(1, strip.cell_length)])
        return strip
