"""A unified diff as coloured rows, with the changed words marked where that is cheap.

Deceptive characters are shown visibly: in a diff they are the news. Long lines are never compared
word by word (pss-runtime#252).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style

from tui.widgets.sanitise import sanitise
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.rows import Row, Run, cells, hard_rows

__all__ = ["MAX_COMPARED", "MAX_DIFF", "SPLIT_AT", "diff_rows"]

MAX_DIFF = 200_000
"""Characters of a diff that are shown."""
MAX_COMPARED = 300
"""Characters of a line up to which two lines are compared word by word."""
SPLIT_AT = 140
"""Cells from which before and after stand side by side."""
_MAX_PAIRS = 200
_TOKEN = re.compile(r"\w+|\s+|.")


def diff_rows(diff: str, width: int, look: Look) -> list[Row]:
    """Return the rows of a unified diff; the file header is left out, as the tool's header names the file."""
    lines = sanitise(diff[:MAX_DIFF].rstrip("\n"), visible=True).split("\n")
    if width >= SPLIT_AT:
        return _split_rows(lines, width, look)
    rows: list[Row] = []
    at = pairs = 0
    while at < len(lines):
        end, added = _change(lines, at)
        if end > at and end - at == added - end and pairs < _MAX_PAIRS:
            pairs += end - at
            rows.extend(_pairs(lines[at:end], lines[end:added], width, look))
            at = added
            continue
        if not _is_header(lines, at):
            rows.extend(hard_rows([(lines[at], _style(lines[at], look))], width))
        at += 1
    return rows


def _split_rows(lines: Sequence[str], width: int, look: Look) -> list[Row]:
    """Return before on the left and after on the right; a line that was not changed stands on both sides."""
    half = (width - 3) // 2
    rows: list[Row] = []
    at = pairs = 0
    while at < len(lines):
        if _is_header(lines, at):
            at += 1
            continue
        if lines[at].startswith("@"):
            rows.extend(hard_rows([(lines[at], look.theme.hunk)], width))
            at += 1
            continue
        end, added = _change(lines, at)
        removed, new = lines[at:end], lines[end:added]
        if not removed and not new:
            removed = new = lines[at : at + 1]
            added = at + 1
        for old, fresh in zip_longest(removed, new):
            compared: tuple[list[Run], list[Run]] = ([], [])
            if old is not None and fresh is not None and old != fresh and pairs < _MAX_PAIRS:
                pairs += 1
                compared = _compare(old, fresh, look)
            left = compared[0] or [(old or "", _style(old or "", look))]
            right = compared[1] or [(fresh or "", _style(fresh or "", look))]
            rows.extend(_beside(left, right, half, look))
        at = added
    return rows


def _change(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return where the removed lines from `at` on end, and the added ones behind them."""
    end = at
    while end < len(lines) and lines[end].startswith("-") and not _is_header(lines, end):
        end += 1
    added = end
    while added < len(lines) and lines[added].startswith("+") and not _is_header(lines, added):
        added += 1
    return end, added


def _beside(left: Sequence[Run], right: Sequence[Run], half: int, look: Look) -> list[Row]:
    bar = Segment(" | " if look.ascii else " │ ", look.theme.rule)
    rows: list[Row] = []
    for one, two in zip_longest(hard_rows(left, half), hard_rows(right, half), fillvalue=Row(())):
        gap = half - sum(cells(segment.text) for segment in one.segments)
        rows.append(Row((*one.segments, Segment(" " * gap, look.theme.text), bar, *two.segments)))
    return rows


def _is_header(lines: Sequence[str], at: int) -> bool:
    """`--- a` directly before `+++ b`, or that line itself: anything else that looks so is a change."""
    line = lines[at]
    if line.startswith("--- "):
        return at + 1 < len(lines) and lines[at + 1].startswith("+++ ") and (at == 0 or lines[at - 1][:1] not in "-+ ")
    return line.startswith("+++ ") and at == 1 and lines[0].startswith("--- ")


def _style(line: str, look: Look) -> Style:
    match line[:1]:
        case "+":
            return look.theme.added
        case "-":
            return look.theme.removed
        case "@":
            return look.theme.hunk
        case _:
            return look.theme.tool_text


def _pairs(removed: Sequence[str], added: Sequence[str], width: int, look: Look) -> list[Row]:
    theme = look.theme
    before: list[Row] = []
    after: list[Row] = []
    for old, new in zip(removed, added, strict=True):
        old_runs, new_runs = _compare(old, new, look)
        before.extend(hard_rows(old_runs or [(old, theme.removed)], width))
        after.extend(hard_rows(new_runs or [(new, theme.added)], width))
    return [*before, *after]


def _compare(old: str, new: str, look: Look) -> tuple[list[Run], list[Run]]:
    """Return both lines with what differs marked, or nothing where they have little in common."""
    if max(len(old), len(new)) > MAX_COMPARED:
        return [], []
    theme = look.theme
    olds, news = _TOKEN.findall(old[1:]), _TOKEN.findall(new[1:])
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    if matcher.quick_ratio() < 0.4:
        return [], []
    old_runs: list[Run] = [("-", theme.removed)]
    new_runs: list[Run] = [("+", theme.added)]
    for kind, a, b, c, d in matcher.get_opcodes():
        same = kind == "equal"
        if b > a:
            old_runs.append(("".join(olds[a:b]), theme.removed if same else theme.removed_word))
        if d > c:
            new_runs.append(("".join(news[c:d]), theme.added if same else theme.added_word))
    return old_runs, new_runs
