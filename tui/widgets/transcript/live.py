"""What is being written at the end of a transcript, until its entry takes its place."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tui.widgets.sanitise import sanitise
from tui.widgets.theme import Level
from tui.widgets.transcript.blocks import AnswerBlock, Block, ThinkingBlock
from tui.widgets.transcript.document import Document
from tui.widgets.transcript.render import answer_frame
from tui.widgets.transcript.rows import Row
from tui.widgets.transcript.views import Done, LiveAnswer, LiveThinking

__all__ = ["LiveKind", "LiveTail"]

LiveKind: TypeAlias = Literal["answer", "thinking"]


class _Live(msgspec.Struct, frozen=True):
    id: str
    kind: LiveKind
    view: LiveAnswer | LiveThinking
    level: Level


class LiveTail:
    """One block is written at a time; those written before it wait at the end, until `end`."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._live: _Live | None = None
        self._done: dict[str, list[Row]] = {}
        """The rows of what was written, without its gutter: its colour is known with the entry."""

    @property
    def writing(self) -> bool:
        """Whether a block is being written."""
        return self._live is not None

    def begin(self, block_id: str, kind: LiveKind, level: Level) -> None:
        """Begin a block; the one that was being written is complete as far as it came."""
        self.pause()
        view = self._view(kind, level)
        self._live = _Live(block_id, kind, view, level)
        self._document.trailing.append(block_id)
        self._document.put(_placeholder(kind, block_id, "", level), view)

    def feed(self, text: str) -> int:
        """Add text; return by how many rows the block grew."""
        live = self._live
        if live is None:
            return 0
        live.view.feed(text)
        return self._document.show(live.id, live.view)

    def pause(self) -> None:
        """Nothing more comes for the block that is being written."""
        live, self._live = self._live, None
        if live is None:
            return
        view = None
        if isinstance(live.view, LiveAnswer) and self._document.width:
            rows = self._done[live.id] = live.view.doc.finish()
            view = Done(answer_frame(rows, live.level, self._document.look))
        block = _placeholder(live.kind, live.id, live.view.source, live.level)
        self._document.swap(live.id, block, view)

    def take_over(self, block: Block) -> bool:
        """Let a finished block take the place of what was written for it; False if there is nothing."""
        document = self._document
        for name in document.trailing:
            old = document.blocks[document.index(name) or 0]
            if type(old) is not type(block):
                continue
            document.trailing.remove(name)
            rows, view = self._done.pop(name, None), None
            if rows is not None and isinstance(block, AnswerBlock) and _same(old, block):
                view = Done(answer_frame(rows, block.level, document.look))
            document.swap(name, block, view)
            return True
        return False

    def end(self) -> None:
        """Take away what was written and not taken over."""
        self.pause()
        for name in self._document.trailing:
            self._document.remove(name)
        self._document.trailing.clear()
        self._done.clear()

    def reset(self) -> None:
        """Forget everything, without a trace in the document (it was loaded anew)."""
        self._live = None
        self._done.clear()

    def resize(self) -> None:
        """Write again, at the document's width, what there is so far."""
        self._done.clear()
        live = self._live
        if live is not None:
            view = self._view(live.kind, live.level)
            view.feed(live.view.source)
            self._live = msgspec.structs.replace(live, view=view)
            self._document.written[live.id] = view

    def _view(self, kind: LiveKind, level: Level) -> LiveAnswer | LiveThinking:
        width = self._document.width or 80
        look = self._document.look
        return LiveAnswer(width, look, level) if kind == "answer" else LiveThinking(width, look, level)


def _placeholder(kind: LiveKind, block_id: str, text: str, level: Level) -> Block:
    return AnswerBlock(block_id, text, level) if kind == "answer" else ThinkingBlock(block_id, text, level)


def _same(old: Block, new: Block) -> bool:
    """Whether the rows of what was written are those of the finished block, but for the gutter."""
    if not isinstance(old, AnswerBlock) or not isinstance(new, AnswerBlock):
        return False
    return old.text == sanitise(new.text, cr="newline")
