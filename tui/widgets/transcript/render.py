"""Blocks to rows: the thread in the left gutter, and what hangs on it. Pure.

Every row begins with the gutter (3 cells): a margin, the thread or a mark, a space. Separating rows
stand before a block, and depend on that block alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never, cast

from rich.segment import Segment
from rich.style import Style

from tui.messages import Json
from tui.widgets.sanitise import one_line, sanitise
from tui.widgets.theme import Level
from tui.widgets.transcript.blocks import (
    AnswerBlock,
    Block,
    BranchBlock,
    Carried,
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
from tui.widgets.transcript.diff import diff_rows
from tui.widgets.transcript.markdown import Look, render_markdown
from tui.widgets.transcript.rows import Row, Run, cells, crop, indent, plain_rows, wrap

__all__ = [
    "GUTTER",
    "answer_frame",
    "estimate",
    "foldable",
    "gutter",
    "header_row",
    "progress_rows",
    "render_block",
    "thinking_live",
]

GUTTER = 3
"""Cells of the gutter."""
BODY = 2
"""Further cells by which a tool's output is set in."""
TAIL = 10
"""Rows of output that a folded tool shows."""
MAX_ROWS = 4_000
"""Rows that an unfolded tool shows: the whole output is in the log."""
MAX_OUTPUT = 400_000
"""Characters of output that are looked at, from the end."""
THINKING_TAIL = 4
_TOLD_BY_HEAD = frozenset({"read", "write", "edit", "ls", "self_compact"})
"""Tools of which the first row says enough while they are folded and went well."""

_MARKS = {
    "thread": ("│", "|"),
    "prompt": ("●", "*"),
    "tool": ("├─", "+-"),
    "notice": ("·", "-"),
    "gap": ("┆", ":"),
    "end": ("╵", "'"),
    "knot": ("◆", "#"),
    "note": ("◇", "o"),
    "fork": ("├╮", "+."),
    "unknown": ("?", "?"),
}
"""Each mark, and the same in ASCII."""


def gutter(look: Look, level: Level, mark: str = "thread", style: Style | None = None) -> tuple[Segment, ...]:
    """Return the gutter of a row: margin, mark in `style` (default: the colour of the level), space."""
    sign = _MARKS[mark][look.ascii]
    return (Segment(f" {sign}".ljust(GUTTER), style or look.theme.level(level)),)


def foldable(block: Block) -> bool:
    """Whether a block has something to fold."""
    return isinstance(block, ToolBlock | ThinkingBlock | CheckpointBlock | NoteBlock | BranchBlock)


def header_row(block: Block) -> int:
    """Return the row of a foldable block that a click toggles."""
    return 1 if not isinstance(block, ToolBlock) or block.first else 0


def render_block(block: Block, width: int, look: Look, *, folded: bool = True, progress: str = "") -> list[Row]:
    """Return the rows of a block at `width` cells, gutter included. `progress`: live output of a running tool."""
    match block:
        case PromptBlock():
            return _prompt(block, width, look)
        case AnswerBlock():
            text = sanitise(block.text, cr="newline")
            return answer_frame(render_markdown(text, max(1, width - GUTTER), look), block.level, look)
        case ThinkingBlock():
            return _thinking(block, width, look, folded=folded)
        case ToolBlock():
            return _tool(block, width, look, folded=folded, progress=progress)
        case NoticeBlock():
            style = {"info": look.theme.info, "warning": look.theme.warning, "error": look.theme.error}[block.severity]
            return _line("notice", (sanitise(block.text), style), block.level, width, look)
        case EndBlock():
            return _end(block, width, look)
        case CheckpointBlock():
            return _checkpoint(block, width, look, folded=folded)
        case NoteBlock():
            return _note(block, width, look, folded=folded)
        case BranchBlock():
            return _branch(block, width, look, folded=folded)
        case ForkBlock():
            many = "another branch leaves" if block.others == 1 else f"{block.others:,} other branches leave"
            return _line("fork", (f"{many} the line here", look.theme.dim), block.level, width, look)
        case UnknownBlock():
            text = f"an entry of kind {one_line(block.kind, 60)} that this version cannot read; it is kept"
            return _line("unknown", (text, look.theme.warning), block.level, width, look)
        case _:
            assert_never(block)


def estimate(block: Block, width: int, *, folded: bool = True) -> int:
    """Return about how many rows a block will have, without reading it."""
    width = max(1, width - GUTTER)
    match block:
        case PromptBlock() | AnswerBlock():
            return 2 + block.text.count("\n") + len(block.text) // width
        case CheckpointBlock():
            text = "".join([block.summary, *(f"\n\n{part.text or ''}" for part in block.parts)])
            return 2 if folded else 3 + text.count("\n") + len(text) // width
        case BranchBlock():
            return 2 if folded else 3 + block.summary.count("\n") + len(block.summary) // width
        case ThinkingBlock() | NoteBlock():
            return 2 if folded else 2 + block.text.count("\n") + len(block.text) // width
        case ToolBlock():
            if block.diff:
                return 2 + block.diff.count("\n")
            rows = block.output.count("\n") + len(block.output) // width + 1
            return 2 + (min(rows, TAIL) if folded else rows)
        case NoticeBlock() | EndBlock() | ForkBlock() | UnknownBlock():
            return 1


def answer_frame(rows: Sequence[Row], level: Level, look: Look) -> list[Row]:
    """Return rows hung on the thread, with a separating row before them."""
    bar = gutter(look, level)
    return [indent(Row(()), bar), *[indent(row, bar) for row in rows]]


def progress_rows(text: str, width: int, look: Look, limit: int = TAIL) -> tuple[list[Row], int]:
    """Return the last rows of a program's output, and how many rows are above them."""
    # The cut comes before everything else: a command that prints for ever costs no more than its end.
    text = sanitise(text[-MAX_OUTPUT:]).strip("\n")
    if not text:
        return [], 0
    rows = plain_rows(text, width, look.theme.tool_text)
    return rows[-limit:], max(0, len(rows) - limit)


def _hang(rows: Sequence[Row], mark: str, style: Style, level: Level, look: Look) -> list[Row]:
    """Return rows on the thread, the mark before the first."""
    bar = gutter(look, level)
    return [indent(row, gutter(look, level, mark, style) if at == 0 else bar) for at, row in enumerate(rows)]


def _line(mark: str, run: Run, level: Level, width: int, look: Look) -> list[Row]:
    return _hang(wrap([run], width - GUTTER), mark, run[1], level, look)


def _prompt(block: PromptBlock, width: int, look: Look) -> list[Row]:
    theme = look.theme
    text = sanitise(block.text, cr="newline")
    runs: list[Run] = []
    if block.origin != "authored":
        runs.append((f"[{one_line(block.origin, 40)}] ", theme.dim))
    if block.steer:
        runs.append(("[steer] ", theme.dim))
    if block.excluded:
        runs.append(("[not sent] ", theme.dim))
    runs.append((text.rstrip("\n") or " ", theme.prompt_text if block.origin == "authored" else theme.dim))
    rows = wrap(runs, width - GUTTER)
    for extra in block.extras:
        rows.extend(wrap([(f"+ {one_line(extra, 200)}", theme.dim)], width - GUTTER))
    return [indent(Row(()), gutter(look, block.level)), *_hang(rows, "prompt", theme.prompt, block.level, look)]


def _thinking(block: ThinkingBlock, width: int, look: Look, *, folded: bool) -> list[Row]:
    theme = look.theme
    text = sanitise(block.text, cr="newline").strip("\n")
    lines = text.count("\n") + 1
    sign = _fold_sign(look, folded=folded)
    title = Row((Segment(f"{sign} thinking", theme.thinking), Segment(f"  {_counted(lines)}", theme.dim)))
    rows = [title] if folded else [title, *wrap([(text, theme.thinking)], width - GUTTER)]
    return answer_frame(rows, block.level, look)


def _checkpoint(block: CheckpointBlock, width: int, look: Look, *, folded: bool) -> list[Row]:
    theme = look.theme
    sign = _fold_sign(look, folded=folded)
    title = Row(
        (
            Segment(f"{sign} checkpoint", theme.strong),
            Segment(_fit(f"  {_about(block)}", width - GUTTER - 12, look), theme.dim),
        )
    )
    knot = gutter(look, block.level, "knot")
    rows = [indent(Row(()), gutter(look, block.level)), indent(title, knot)]
    if not folded:
        summary = render_markdown(sanitise(block.summary, cr="newline"), max(1, width - GUTTER), look)
        rows.extend(answer_frame(summary, block.level, look)[1:])
        for part in block.parts:
            rows.extend(_carried(part, block.level, width, look))
    return rows


def _about(block: CheckpointBlock) -> str:
    return ", ".join(filter(None, (one_line(block.origin, 40), one_line(block.figures, 120))))


def _carried(part: Carried, level: Level, width: int, look: Look) -> list[Row]:
    """Return one part of an open checkpoint, under its label."""
    theme = look.theme
    text = part.text
    if text is None and part.reference is not None:
        text = f"[{part.reference.size:,} bytes in entry {one_line(part.reference.entry, 60)}]"
    words = sanitise((text or "").rstrip("\n"), cr="newline")
    label = Row((Segment(_fit(one_line(part.label, 60), width - GUTTER, look), theme.strong),))
    return answer_frame([label, *wrap([(words or " ", theme.text)], width - GUTTER)], level, look)


def _branch(block: BranchBlock, width: int, look: Look, *, folded: bool) -> list[Row]:
    theme = look.theme
    head = _fit(f"{_fold_sign(look, folded=folded)} from the branch that was left", width - GUTTER, look)
    about = _fit(f"  {one_line(block.figures, 120)}", width - GUTTER - len(head), look)
    title = Row((Segment(head, theme.strong), Segment(about, theme.dim)))
    rows = [indent(Row(()), gutter(look, block.level)), indent(title, gutter(look, block.level, "note"))]
    if not folded:
        summary = render_markdown(sanitise(block.summary, cr="newline"), max(1, width - GUTTER), look)
        rows.extend(answer_frame(summary, block.level, look)[1:])
        if block.changed:
            rows.extend(_carried(_still_changed(block.changed), block.level, width, look))
    return rows


def _still_changed(files: Sequence[str]) -> Carried:
    return Carried("changed there, and not changed back", "\n".join(one_line(name, 400) for name in files))


def _note(block: NoteBlock, width: int, look: Look, *, folded: bool) -> list[Row]:
    theme = look.theme
    title = "goes on from the note" if block.delivered else "note to self"
    head = _fit(f"{_fold_sign(look, folded=folded)} {title}", width - GUTTER, look)
    room = width - GUTTER - len(head) - 2
    first = _fit(one_line(block.text.strip(), 4 * max(1, room)), room, look) if folded and room >= 4 else ""
    top = Row((Segment(head, theme.strong), Segment(f"  {first}" if first else "", theme.dim)))
    rows = [indent(Row(()), gutter(look, block.level)), indent(top, gutter(look, block.level, "note"))]
    if not folded:
        words = wrap([(sanitise(block.text, cr="newline").rstrip("\n") or " ", theme.text)], width - GUTTER)
        rows.extend(indent(row, gutter(look, block.level)) for row in words)
    return rows


def thinking_live(recent: str, lines: int, width: int, look: Look, level: Level) -> list[Row]:
    """Return the rows of reasoning that is being written: a title and the end of it."""
    theme = look.theme
    title = Row(
        (
            Segment(f"{_fold_sign(look, folded=False)} thinking", theme.thinking),
            Segment(f"  {_counted(lines)}", theme.dim),
        )
    )
    text = sanitise(recent, cr="newline").strip("\n")
    rows = wrap([(text, theme.thinking)], width - GUTTER)[-THINKING_TAIL:] if text else []
    return answer_frame([title, *rows], level, look)


def _counted(lines: int, which: str = "") -> str:
    """Return `1 line`, `2 more lines`."""
    return f"{lines:,} {which}line{'' if lines == 1 else 's'}"


def _fold_sign(look: Look, *, folded: bool) -> str:
    if look.ascii:
        return "+" if folded else "-"
    return "▸" if folded else "▾"


def _end(block: EndBlock, width: int, look: Look) -> list[Row]:
    theme = look.theme
    text = one_line(block.reason, 100) + (f": {sanitise(block.detail)}" if block.detail else "")
    if block.quiet:
        return _line("end", (text, theme.dim), block.level, width, look)
    gap = gutter(look, block.level, "gap", theme.gap)
    rows = [indent(row, gap) for row in wrap([(text, theme.gap)], width - GUTTER)]
    return [indent(Row(()), gap), *rows]


# -- tools -------------------------------------------------------------------------------------


def _tool(block: ToolBlock, width: int, look: Look, *, folded: bool, progress: str) -> list[Row]:
    inner = max(1, width - GUTTER - BODY)
    body, above = _tool_body(block, inner, look, folded=folded, progress=progress)
    bar = gutter(look, block.level)
    blank = (*bar, Segment(" " * BODY, look.theme.text))
    tail = not block.diff and _tail_first(block)
    more: list[Row] = []
    if above:
        dots = "..." if look.ascii else "…"
        more.append(Row((Segment(f"{dots} {_counted(above, 'earlier ' if tail else 'more ')}", look.theme.dim),)))
    rows = [*more, *body] if tail else [*body, *more]
    head = indent(_tool_head(block, width - GUTTER - 1, look), _tool_gutter(block, look))
    return [*([indent(Row(()), bar)] if block.first else []), head, *[indent(row, blank) for row in rows]]


def _tool_gutter(block: ToolBlock, look: Look) -> tuple[Segment, ...]:
    sign = _MARKS["tool"][look.ascii]
    return (Segment(f" {sign} ", look.theme.level(block.level)),)


def _tail_first(block: ToolBlock) -> bool:
    """Of a command's output the end matters, of all else the beginning."""
    return block.name in ("bash", "!", "!! not sent") or block.state in ("running", "waiting")


def _tool_body(block: ToolBlock, width: int, look: Look, *, folded: bool, progress: str) -> tuple[list[Row], int]:
    """Return the rows below a tool's header and how many are left out."""
    theme = look.theme
    if block.diff and block.state in ("ok", "waiting", "running"):
        rows = diff_rows(block.diff, width, look)
        limit = 4 * TAIL if folded else MAX_ROWS
        return rows[:limit], max(0, len(rows) - limit)
    output = progress if block.state in ("running", "waiting") else block.output
    if folded and block.state == "ok" and block.name in _TOLD_BY_HEAD:
        return [], 0
    if _tail_first(block):
        return progress_rows(output, width, look, TAIL if folded else MAX_ROWS)
    style = theme.error if block.state in ("error", "refused") else theme.tool_text
    text = sanitise(output[:MAX_OUTPUT]).strip("\n")
    if not text:
        return [], 0
    rows = plain_rows(text, width, style)
    limit = TAIL if folded else MAX_ROWS
    return rows[:limit], max(0, len(rows) - limit)


def _tool_head(block: ToolBlock, width: int, look: Look) -> Row:
    """Return `name argument … state`: what is not ours is cut and shown visibly."""
    theme = look.theme
    name = _fit(one_line(block.name, 40), max(8, width // 3), look)
    state, style = _tool_state(block, look)
    state = _fit(state, max(0, width - cells(name) - 2), look)
    room = width - cells(name) - cells(state) - 4
    argument = _fit(argument_line(block, 4 * room), room, look) if room >= 4 else ""
    segments = [Segment(name, theme.tool)]
    if argument:
        segments.append(Segment(f"  {argument}", theme.tool_text))
    if state:
        # The state follows the argument at once: nothing has to line up behind text of unsure width (rich#3897).
        segments.append(Segment(f"  {state}", style))
    return Row(tuple(segments))


def _fit(text: str, width: int, look: Look) -> str:
    """Return `text` in at most `width` cells; what is cut leaves dots."""
    if cells(text) <= width:
        return text
    dots = "..." if look.ascii else "…"
    if width <= len(dots):
        return ""
    return crop(text, width - len(dots))[0] + dots


def argument_line(block: ToolBlock, limit: int) -> str:
    """Return the argument that says most, on one line: the command, the path, the pattern."""
    arguments = block.arguments
    if block.name == "self_compact":
        return ""  # the note has a block of its own
    if not arguments:
        return one_line(block.raw, limit)
    for key in ("command", "pattern", "path", "query"):
        value = cast("object", arguments.get(key))
        if isinstance(value, str):
            rest = cast("object", arguments.get("path")) if key == "pattern" else None
            return one_line(f"{value}  {rest}" if isinstance(rest, str) and rest not in ("", ".") else value, limit)
    return one_line(", ".join(f"{key}={_value(value)}" for key, value in arguments.items()), limit)


def _value(value: Json) -> str:
    if isinstance(value, Mapping | list):
        return "…"
    return str(value)[:200]


def _tool_state(block: ToolBlock, look: Look) -> tuple[str, Style]:
    theme = look.theme
    took = f" {block.seconds:.1f}s" if block.seconds >= 0.05 else ""
    match block.state:
        case "waiting" | "running":
            return ("..." if look.ascii else "…"), theme.running
        case "ok":
            return _exit(block, "ok") + took, theme.ok
        case "error":
            return _exit(block, "error") + took, theme.error
        case "refused":
            return f"not run: {one_line(block.refused or 'refused', 60)}", theme.warning
        case "unknown":
            return "interrupted: effects unknown", theme.gap


def _exit(block: ToolBlock, word: str) -> str:
    return f"exit {block.exit_status}" if block.exit_status else word
