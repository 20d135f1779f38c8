"""Selecting and copying: offsets that stay valid while text streams in, and the words without decoration.

A place (block serial, row) is one number for Textual, which only compares them; so a selection survives
growth, older pages and eviction. What is copied has no gutter and no wrapping; of blocks selected whole
it is their source.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from tui.widgets.sanitise import sanitise
from tui.widgets.transcript.blocks import (
    AnswerBlock,
    Block,
    BranchBlock,
    CheckpointBlock,
    EndBlock,
    ForkBlock,
    NoteBlock,
    NoticeBlock,
    PromptBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
)
from tui.widgets.transcript.document import Document, Place
from tui.widgets.transcript.markdown import parse
from tui.widgets.transcript.render import argument_line
from tui.widgets.transcript.rows import Row

__all__ = ["code_of", "copied", "decode", "encode", "highlight", "source"]

_ROW_BITS = 20
_BIAS = 1 << 30  # older pages get serials below zero, Textual wants none


def encode(place: Place) -> int:
    """Return the y of a place."""
    return (place.serial + _BIAS) << _ROW_BITS | place.row


def decode(y: int) -> Place:
    """Return the place of a y; a small one (a point Textual made up) is before everything."""
    return Place((y >> _ROW_BITS) - _BIAS, y & ((1 << _ROW_BITS) - 1))


def highlight(strip: Strip, row: Row, span: tuple[int, int], style: Style) -> Strip:
    """Return the strip with the selected part of its words in the selection's background."""
    start, end = _clip(row, span)
    text = row.text
    left, right = cell_len(text[:start]), cell_len(text[:end])
    if right <= left:
        return strip
    cuts = [left, right, strip.cell_length] if left else [right, strip.cell_length]
    parts = list(strip.divide(cuts))
    at = 1 if left else 0
    parts[at] = Strip([Segment(part.text, (part.style or Style()) + style) for part in parts[at]])
    return Strip.join(parts)


def _clip(row: Row, span: tuple[int, int]) -> tuple[int, int]:
    size = len(row.text)
    start, end = span
    return max(start, row.lead), size if end < 0 else min(end, size)


def copied(document: Document, selection: Selection) -> str:
    """Return the selected words."""
    first = _start(document, selection.start)
    last = _end(document, selection.end)
    stop = min(last.serial - document.first + 1, len(document.blocks))
    parts = [_block_text(document, at, selection) for at in range(max(0, first.serial - document.first), stop)]
    return "\n".join(part for part in parts if part)


def _start(document: Document, offset: Offset | None) -> Place:
    return Place(document.first, 0) if offset is None else decode(offset.y)


def _end(document: Document, offset: Offset | None) -> Place:
    return Place(document.first + len(document.blocks), 0) if offset is None else decode(offset.y)


def _block_text(document: Document, at: int, selection: Selection) -> str:
    serial = document.first + at
    inner = all(offset is None or decode(offset.y).serial != serial for offset in (selection.start, selection.end))
    if inner and document.blocks[at].id not in document.written:
        return source(document.blocks[at])
    view = document.view(at)
    parts: list[str] = []
    for line in range(len(view)):
        span = selection.get_span(encode(Place(serial, line)))
        row = view.row(line)
        if span is None or (not parts and len(row.text) <= row.lead):
            continue
        start, end = _clip(row, span)
        parts.append(row.text[start:end] + row.join)
    return "".join(parts).rstrip("\n")


def source(block: Block) -> str:
    """Return the words of a whole block as they were written, fit for a terminal."""
    match block:
        case PromptBlock() | AnswerBlock() | ThinkingBlock() | NoteBlock():
            return sanitise(block.text, cr="newline").rstrip("\n")
        case ToolBlock():
            head = f"{block.name} {argument_line(block, 0)}".rstrip()
            return sanitise("\n".join(part for part in (head, block.diff or block.output) if part)).rstrip("\n")
        case NoticeBlock():
            return sanitise(block.text)
        case EndBlock():
            return sanitise(f"{block.reason}: {block.detail}" if block.detail else block.reason)
        case CheckpointBlock():
            parts = (f"{part.label}\n{part.text}" for part in block.parts if part.text)
            return sanitise("\n\n".join((block.summary, *parts)), cr="newline").rstrip("\n")
        case BranchBlock():
            return sanitise(block.summary, cr="newline").rstrip("\n")
        case ForkBlock() | UnknownBlock():
            return ""


def code_of(block: Block) -> str:
    """Return the code of a block: the fences of an answer or prompt, a command, a diff; empty where there is none."""
    match block:
        case AnswerBlock() | PromptBlock() | NoteBlock():
            tokens = parse(sanitise(block.text, cr="newline"))
            return "\n".join(token.content.rstrip("\n") for token in tokens if token.type in ("fence", "code_block"))
        case ToolBlock():
            command = block.arguments.get("command")
            return sanitise(command if isinstance(command, str) else block.diff)
        case ThinkingBlock() | NoticeBlock() | EndBlock() | CheckpointBlock():
            return ""
        case BranchBlock() | ForkBlock() | UnknownBlock():
            return ""
