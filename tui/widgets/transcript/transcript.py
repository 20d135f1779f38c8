"""The transcript: the whole conversation in one line-API widget, however long.

Text streams in at 30 frames a second: what comes between two frames is joined. Nothing here knows a
log, an agent or a model; what is shown comes in through these methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.timer import Timer

from tui.widgets.theme import Level, TranscriptTheme, default_theme
from tui.widgets.transcript.blocks import Added, AnswerBlock, Block, Change, ThinkingBlock
from tui.widgets.transcript.live import LiveKind, LiveTail
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.reading import ReadingView

__all__ = ["Transcript"]

FRAME = 1 / 30
"""Seconds between two flushes of a stream."""
FLUSH_CHARS = 10_000
"""Characters one flush reads at most (some 25 ms): a backlog is taken in portions, one for each frame."""


class Transcript(ReadingView):
    """Shows blocks, and text that is being written. Holds no session state."""

    def __init__(
        self,
        theme: TranscriptTheme | None = None,
        *,
        ascii_only: bool = False,
        dom_id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(Look(theme or default_theme(), ascii_only), dom_id=dom_id, classes=classes)
        self._live = LiveTail(self.document)
        self._pending: list[str] = []
        self._progress: dict[str, str] = {}
        self._timer: Timer | None = None

    # -- what is shown ---------------------------------------------------------------------------

    def set_look(self, theme: TranscriptTheme, *, ascii_only: bool = False) -> None:
        """Paint everything in another theme."""
        self.document.look = Look(theme, ascii_only)
        self._relayout()

    def load(self, blocks: Iterable[Block]) -> None:
        """Show these blocks and no others, from their end."""
        self._pending.clear()
        self._progress.clear()
        self._live.reset()
        self.document.load(blocks)
        self._asked_older = False
        self.follow()

    def prepend(self, blocks: Iterable[Block]) -> None:
        """Add an older page above; what is in view stays where it is."""
        rows = self.document.prepend(blocks)
        self._asked_older = rows == 0
        self._grow(0, int(self.scroll_y) + rows)

    def append(self, block: Block) -> None:
        """Add a block at the end (before one that is still being written); one with a known id is replaced."""
        before = self.document.heights.total
        self.document.append(block)
        self._grow(self.document.heights.total - before)

    def replace(self, block: Block) -> None:
        """Change a block that is shown; an unknown one is added."""
        if self.document.index(block.id) is None:
            self.append(block)
            return
        self._changed(*self.document.replace(block))

    def discard(self, block_id: str) -> None:
        """Take a block out."""
        self.document.remove(block_id)
        self._grow(0)

    def apply(self, changes: Sequence[Change]) -> None:
        """Show what an entry changed. A finished answer takes the place of what was streamed for it."""
        for change in changes:
            block = change.block
            if isinstance(change, Added) and isinstance(block, AnswerBlock | ThinkingBlock):
                self._drain()
                self._live.pause()
                if self._live.take_over(block):
                    continue
            if isinstance(change, Added):
                self.append(block)
            else:
                self.replace(block)
        self._grow(0)

    # -- what is being written -------------------------------------------------------------------

    def stream_begin(self, block_id: str, kind: LiveKind, level: Level = "none") -> None:
        """Begin a block at the end. One that was being written is complete as far as it came."""
        self._drain()
        self._live.begin(block_id, kind, level)
        self._grow(1)

    def stream_write(self, text: str) -> None:
        """Add text to the block that is being written; shown with the next frame."""
        self._pending.append(text)
        self._wake()

    def stream_end(self, changes: Sequence[Change] = ()) -> None:
        """End the answer. `changes` are those of its entry; what they do not take over goes away."""
        self._drain()
        self.apply(changes)
        self._live.end()
        self._grow(0)

    def tool_progress(self, call_id: str, text: str) -> None:
        """Add live output of a running call; only its end is kept."""
        self._progress[call_id] = self._progress.get(call_id, "")[-20_000:] + text
        self._wake()

    @property
    def backlog(self) -> int:
        """Characters that came and are not shown yet."""
        return sum(map(len, self._pending))

    def flush(self) -> None:
        """Show what came since the last frame, as much as a frame can take."""
        self._stop()
        text = "".join(self._pending)
        self._pending = [text[FLUSH_CHARS:]] if len(text) > FLUSH_CHARS else []
        grown = self._live.feed(text[:FLUSH_CHARS]) if text else 0
        progress, self._progress = self._progress, {}
        for call_id, output in progress.items():
            changed = self.document.progress(call_id, output)
            if changed is not None:
                self._changed(*changed)
        if text:
            self._grow(grown, at=len(self.document.blocks) - 1)
        if self._pending:
            self._wake()

    def _drain(self) -> None:
        """Take in all that waits, before the stream ends or another begins."""
        self._stop()
        text = "".join(self._pending)
        self._pending.clear()
        if text:
            self._live.feed(text)

    def _wake(self) -> None:
        if self._timer is None and self.is_attached:
            self._timer = self.set_timer(FRAME, self.flush)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _relayout(self) -> None:
        self._live.resize()
        super()._relayout()
