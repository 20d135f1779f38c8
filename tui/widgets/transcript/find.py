"""Where words stand in the conversation. Pure: which blocks hold them, and which cells of a rendered one."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

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
from tui.widgets.transcript.views import View

__all__ = ["Spans", "hit_spans", "holds", "pattern_of"]

Spans = dict[int, list[tuple[int, int]]]
"""For each row of a block the hits in it, as first and last-plus-one character of the row."""


def pattern_of(query: str) -> re.Pattern[str]:
    """Return what finds `query`: letters of any case, unless one of its own is a capital."""
    flags = re.NOFLAG if any(char.isupper() for char in query) else re.IGNORECASE
    # A blank also finds the line end that wrapping made of it.
    return re.compile(r"\s+".join(map(re.escape, query.split())), flags)


def holds(block: Block, pattern: re.Pattern[str]) -> int:
    """Return how often a block's words hold it, folded ones too."""
    return sum(1 for text in _texts(block) for _ in pattern.finditer(text))


def _texts(block: Block) -> Iterator[str]:
    match block:
        case PromptBlock() | AnswerBlock() | ThinkingBlock() | NoteBlock() | NoticeBlock():
            yield block.text
        case ToolBlock():
            yield block.name
            yield block.raw or json.dumps(dict(block.arguments), ensure_ascii=False)
            yield block.diff or block.output
        case CheckpointBlock():
            yield block.summary
            yield from (part.text or "" for part in block.parts)
        case BranchBlock():
            yield block.summary
        case EndBlock():
            yield f"{block.reason}: {block.detail}"
        case ForkBlock() | UnknownBlock():
            return


def hit_spans(view: View, pattern: re.Pattern[str]) -> Spans:
    """Return where a rendered block shows it, also across the rows that wrapping made."""
    starts: list[int] = []
    parts: list[str] = []
    size = 0
    for at in range(len(view)):
        row = view.row(at)
        starts.append(size)
        words = row.text[row.lead :]
        parts += [words, row.join]
        size += len(words) + len(row.join)
    spans: Spans = {}
    for found in pattern.finditer("".join(parts)):
        for at, span in _rows_of(found.span(), starts, view):
            spans.setdefault(at, []).append(span)
    return spans


def _rows_of(span: tuple[int, int], starts: Sequence[int], view: View) -> Iterator[tuple[int, tuple[int, int]]]:
    """Cut a range of the joined words into the rows it touches."""
    first, last = span
    at = max(0, bisect_right(starts, first) - 1)
    while at < len(starts) and (start := starts[at]) < last:
        row = view.row(at)
        size = len(row.text) - row.lead
        low, high = max(first - start, 0), min(last - start, size)
        if low < high:
            yield at, (row.lead + low, row.lead + high)
        at += 1
