"""Feeds the transcript: entries become blocks, deltas stream into the last one.

The colour of the thread is derived from the entries alone, so that a session that is opened again
looks as it did while it ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.agent.events import (
    AgentEvent,
    AnswerDelta,
    AnswerStarted,
    EntryAdded,
    Said,
    ThinkingDeltaShown,
    ToolProgress,
    UsageChanged,
)
from tui.context.bar import tone_of
from tui.context.thresholds import Given, Thresholds, resolve
from tui.log.entries import Answer, Entry, ModelChosen
from tui.screens.look import Look
from tui.widgets.theme import Level, TranscriptTheme
from tui.widgets.transcript.blocks import (
    Block,
    BlockBuilder,
    Carried,
    CheckpointBlock,
    ForkBlock,
    NoticeBlock,
    Replaced,
)
from tui.widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.agent.agent import Agent

__all__ = ["Levels", "TranscriptFeed", "blocks_of", "with_words"]

_NO_FORKS: Mapping[int, int] = {}


class Levels:
    """The level of context at each entry of a path, in order: that of the newest answer with a usage.

    `limits` are those in force now, for the model chosen last (`chosen` is that entry's id); where another one
    answered whose window the log knows, its defaults are taken.
    """

    def __init__(self, limits: Thresholds | None, chosen: str = "") -> None:
        self._in_force = limits
        self._chosen = chosen
        self._limits = limits
        self.now: Level = "none"

    def use(self, limits: Thresholds | None) -> None:
        """Take these limits from the next entry on."""
        self._limits = limits

    def at(self, entry: Entry) -> Level:
        """Return the level at `entry`, the next one on the path."""
        body = entry.body
        if isinstance(body, ModelChosen):
            told = body.window > 0 and entry.id != self._chosen
            self._limits = _defaults(body.window) if told else self._in_force
        if isinstance(body, Answer) and body.message.usage is not None and self._limits is not None:
            tone = tone_of(body.message.usage.total, self._limits)
            self.now = "ok" if tone == "normal" else tone
        return self.now


def _defaults(window: int) -> Thresholds | None:
    limits = resolve(Given(), window)
    return limits if isinstance(limits, Thresholds) else None


def blocks_of(
    entries: Sequence[Entry], builder: BlockBuilder, levels: Levels, forks: Mapping[int, int] = _NO_FORKS
) -> list[Block]:
    """Return the blocks of entries in order, with a mark where other branches leave.

    `builder` and `levels` go on from there; `forks` is how many branches leave, by depth.
    """
    blocks: dict[str, Block] = {}
    for entry in entries:
        for change in builder.add(entry, levels.at(entry)):
            blocks[change.block.id] = change.block
        if entry.depth in forks:
            mark = ForkBlock(f"fork:{entry.id}", forks[entry.depth], levels.now)
            blocks[mark.id] = mark
    return list(blocks.values())


async def with_words(block: CheckpointBlock, agent: Agent, known: dict[str, str | None]) -> CheckpointBlock:
    """Return a checkpoint's block with the words it refers to; `known` ones, by entry, are not read again."""
    from tui.agent.wishes import words

    parts: list[Carried] = []
    for part in block.parts:
        reference = part.reference
        if reference is not None and reference.entry not in known:
            known[reference.entry] = await words(agent, reference)
        text = part.text if reference is None else known[reference.entry]
        parts.append(msgspec.structs.replace(part, text=text))
    return msgspec.structs.replace(block, parts=tuple(parts))


class TranscriptFeed:
    """The one way into the transcript."""

    def __init__(self, look: Look) -> None:
        self.transcript = Transcript(look.transcript, ascii_only=look.ascii)
        # The keyboard stays with the editor; a click selects text or folds, it does not take the keys away.
        self.transcript.can_focus = False
        self.oldest = 0
        """Depth of the oldest entry that is shown; 0 where all are."""
        self._ascii = look.ascii
        self._builder = BlockBuilder()
        self._levels = Levels(None)
        self._answer = ""
        self._kind: str = ""
        self._parts = 0
        self._said = 0
        self._unread: list[CheckpointBlock] = []
        """Checkpoints whose carried words stand elsewhere on the path and have not been looked up."""

    def load(self, branch: Sequence[Entry], limits: Thresholds | None, forks: Mapping[int, int] = _NO_FORKS) -> None:
        """Show a branch in place of what is there. `limits` colour the thread; `forks` are marked on it."""
        self._builder = BlockBuilder()
        chosen = [entry.id for entry in branch if isinstance(entry.body, ModelChosen)]
        self._levels = Levels(limits, chosen[-1] if chosen else "")
        self.oldest = branch[0].depth if branch else 0
        blocks = blocks_of(branch, self._builder, self._levels, forks)
        self._unread = [block for block in blocks if isinstance(block, CheckpointBlock)]
        self.transcript.load(blocks)

    async def show_older(self, agent: Agent) -> None:
        """Show an older page above."""
        entries = await agent.history_page(self.oldest)
        if entries:
            self.oldest = entries[0].depth
        forks = agent.journal.branch.forks
        blocks = blocks_of(entries, BlockBuilder(), Levels(agent.usage.thresholds), forks)
        self.transcript.prepend(blocks)
        self._unread += [block for block in blocks if isinstance(block, CheckpointBlock)]
        await self.read_words(agent)

    async def read_words(self, agent: Agent) -> None:
        """Look up what the checkpoints carry, so that they open to the very words."""
        known: dict[str, str | None] = {}
        while self._unread:
            self.transcript.apply([Replaced(await with_words(self._unread.pop(), agent, known))])

    def show(self, event: AgentEvent) -> None:
        """Show one event; those that are not for the transcript do nothing."""
        match event:
            case EntryAdded(entry=entry):
                self._entry(entry)
            case AnswerStarted(answer_id=answer_id):
                self._answer, self._kind = answer_id, ""
            case AnswerDelta(text=text):
                self._write("answer", text)
            case ThinkingDeltaShown(text=text):
                self._write("thinking", text)
            case ToolProgress(call_id=call_id, text=text):
                self.transcript.tool_progress(call_id, text)
            case UsageChanged(thresholds=limits):
                self._levels.use(limits)
            case Said(text=text):
                self._said += 1
                self.transcript.append(NoticeBlock(f"said:{self._said}", text, self._levels.now))
            case _:
                pass

    def _entry(self, entry: Entry) -> None:
        changes = self._builder.add(entry, self._levels.at(entry))
        self._unread += [change.block for change in changes if isinstance(change.block, CheckpointBlock)]
        if isinstance(entry.body, Answer):
            self._kind = ""
            self.transcript.stream_end(changes)
        elif changes:
            self.transcript.apply(changes)

    def _write(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self._kind = kind
            self._parts += 1
            name = f"live:{self._answer}:{self._parts}"
            self.transcript.stream_begin(name, "answer" if kind == "answer" else "thinking", self._levels.now)
        self.transcript.stream_write(text)

    def act(self, what: str) -> None:
        """Scroll by a page or to an end, or unfold."""
        match what:
            case "fold":
                self.transcript.action_toggle_all()
            case "page_up":
                self.transcript.action_page_up()
            case "page_down":
                self.transcript.action_page_down()
            case "home":
                self.transcript.action_scroll_home()
            case _:
                self.transcript.action_scroll_end()

    def restyle(self, theme: TranscriptTheme) -> None:
        """Paint everything in another theme."""
        self.transcript.set_look(theme, ascii_only=self._ascii)
