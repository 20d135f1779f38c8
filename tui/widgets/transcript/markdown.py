"""Markdown to rows: CommonMark tokens with tables, rendered directly, without a widget per element.

How a block looks depends on that block alone, never on what follows it: that is what lets a stream
freeze its finished part (see `stream`). So list items are always set tight, and only link reference
definitions reach further. HTML is text. A link shows its target where that is http or https, and is a
hyperlink of our own making there: encoded ASCII, nothing else of foreign text (class SECTERM).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from rich.segment import Segment
from rich.style import Style

from tui.widgets.sanitise import one_line, sanitise
from tui.widgets.theme import TranscriptTheme
from tui.widgets.transcript.highlight import CodeColours
from tui.widgets.transcript.rows import Row, Run, cells, indent, plain_rows, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["MAX_MARKDOWN", "Look", "code_rows", "groups", "parse", "render_groups", "render_markdown", "table_rows"]

MAX_MARKDOWN = 1_000_000
"""Characters of one text that are read as Markdown; a longer one is shown plain (textual#4586)."""
_NARROW = 12
"""Cells that nesting must leave for text; deeper levels are not indented further."""
_ADDRESS = re.compile(r"https?://[!-~]{1,2000}", re.IGNORECASE)
_HTTP = re.compile(r"https?://", re.IGNORECASE)


class Look(msgspec.Struct, frozen=True):
    """How everything is drawn: the styles, and whether in ASCII alone."""

    theme: TranscriptTheme
    ascii: bool = False


class Cells(msgspec.Struct, frozen=True):
    """One row of a table: the runs of each cell, on one line."""

    runs: tuple[tuple[Run, ...], ...]
    head: bool


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Imported late: the first paint needs no parser.
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import fence

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # A fence wins over a table, as in GFM: "``` |" and "---" below it are code. A stream cannot know better.
    parser.block.ruler.before("table", "fence_first", fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def parse(source: str) -> list[Token]:
    """Return the tokens of a sanitised text."""
    if source.endswith(" ") and not source[source.rfind("\n") + 1 :].strip(" "):
        source += "\n"  # the parser leaves out a last line of blanks alone, also where it is code
    return _parser().parse(source)


def render_markdown(source: str, width: int, look: Look) -> list[Row]:
    """Return the rows of a sanitised Markdown text at `width` cells."""
    if len(source) > MAX_MARKDOWN:
        return wrap([(source, look.theme.text)], width)
    return render_groups(groups(parse(source)), width, look)


def groups(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split tokens into blocks of their outermost level."""
    found: list[list[Token]] = []
    depth = start = 0
    for at, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            found.append(list(tokens[start : at + 1]))
            start = at + 1
    return found


def render_groups(blocks: Sequence[Sequence[Token]], width: int, look: Look) -> list[Row]:
    """Return the rows of blocks, with an empty row between them."""
    rows: list[Row] = []
    for block in blocks:
        if rows:
            rows.append(Row(()))
        rows.extend(render_block(block, width, look))
    return rows


def render_block(block: Sequence[Token], width: int, look: Look) -> list[Row]:
    """Return the rows of one block."""
    first = block[0]
    theme = look.theme
    match first.type:
        case "paragraph_open":
            return wrap(inline_runs(block[1], theme.text, look), width)
        case "heading_open":
            return _heading(block, width, look)
        case "fence" | "code_block":
            language = first.info.split(" ", 1)[0] if first.type == "fence" else ""
            return code_rows(first.content, language, width, look)
        case "hr":
            return [Row((Segment(("-" if look.ascii else "─") * max(1, width), theme.rule),))]
        case "bullet_list_open" | "ordered_list_open":
            return list_rows(block, list_start(block), width, look)
        case "blockquote_open":
            return quote_rows(groups(block[1:-1]), width, look)
        case "table_open":
            return table_rows(table_cells(block, look), alignments(block), width, look)
        case _:
            return wrap([(sanitise("".join(token.content for token in block)), theme.text)], width)


def _heading(block: Sequence[Token], width: int, look: Look) -> list[Row]:
    style = look.theme.heading
    marks = "#" * int(block[0].tag[1:]) + " "
    return wrap([(marks, style), *inline_runs(block[1], style, look)], width)


def quote_rows(children: Sequence[Sequence[Token]], width: int, look: Look) -> list[Row]:
    """Return the rows of a quote's blocks with its bar before each."""
    bar = _quote_bar(width, look)
    rows = render_groups(children, width - 2 if bar else width, look)
    return [indent(row, bar) for row in rows]


def quote_gap(width: int, look: Look) -> Row:
    """Return the row between two blocks of a quote."""
    return indent(Row(()), _quote_bar(width, look))


def _quote_bar(width: int, look: Look) -> tuple[Segment, ...]:
    if width - 2 < _NARROW:
        return ()
    return (Segment("> " if look.ascii else "▌ ", look.theme.quote),)


def list_start(block: Sequence[Token]) -> int:
    """Return the number of a list's first item, or -1 for bullets."""
    return int(block[0].attrs.get("start", 1)) if block[0].type == "ordered_list_open" else -1


def list_rows(block: Sequence[Token], start: int, width: int, look: Look) -> list[Row]:
    """Return the rows of a list whose first item has the number `start` (-1: bullets)."""
    rows: list[Row] = []
    for at, item in enumerate(groups(block[1:-1])):
        rows.extend(_item_rows(item, start + at if start >= 0 else -1, width, look))
    return rows


def _item_rows(item: Sequence[Token], number: int, width: int, look: Look) -> list[Row]:
    theme = look.theme
    mark = f"{number}. " if number >= 0 else ("- " if look.ascii else "• ")
    gap = " " * len(mark)
    if width - len(mark) < _NARROW:
        gap = ""
    inner = width - len(mark)
    rows: list[Row] = []
    for child in groups(item[1:-1]):
        if rows and not child[0].type.endswith("list_open"):
            rows.append(Row(()))
        rows.extend(render_block(child, inner if gap else max(width, 1), look))
    if not gap:
        return [Row((Segment(mark.rstrip(), theme.bullet),)), *rows]
    first, *rest = rows or [Row(())]
    # A bullet is part of the words a person copies; the indent is not.
    head = indent(first, (Segment(mark, theme.bullet),))
    blank = (Segment(gap, theme.text),)
    return [head if first.lead else head._replace(lead=0), *[indent(row, blank) for row in rest]]


def code_rows(code: str, language: str, width: int, look: Look, *, plain: bool = False) -> list[Row]:
    """Return the rows of a code block, its lines cut hard; coloured when painted, unless it is to be `plain`."""
    style = look.theme.code_block
    code = sanitise(code.removesuffix("\n"))
    pad = (Segment(" ", style),)
    rows = plain_rows(code, max(1, width - 1), style, style)
    if language and not plain:
        colours = CodeColours(code, language, max(1, width - 1), look.theme)
        rows = [row._replace(late=(colours, at)) if row.segments else row for at, row in enumerate(rows)]
    return [indent(row, pad) for row in rows]


def inline_runs(token: Token, base: Style, look: Look) -> list[Run]:
    """Return the styled text of an inline token. A hard break is a line end."""
    theme = look.theme
    runs: list[Run] = []
    styles = [base]
    links: list[tuple[str, int]] = []
    for child in token.children or ():
        kind = child.type
        if kind == "text":
            # Entities are decoded by the parser: `&#x202e;` comes out here, after the sanitiser.
            runs.append((child.content if child.content.isprintable() else sanitise(child.content), styles[-1]))
        elif kind == "softbreak":
            runs.append((" ", styles[-1]))
        elif kind == "hardbreak":
            runs.append(("\n", styles[-1]))
        elif kind == "code_inline":
            runs.append((sanitise(child.content).replace("\n", " "), _over(styles[-1], theme.code)))
        elif kind == "image":
            runs.append((_image(child), _over(styles[-1], theme.link)))
        elif kind in _OPEN:
            styles.append(_over(styles[-1], _open_style(kind, theme)))
            if kind == "link_open":
                href = str(child.attrs.get("href", ""))
                styles[-1] = _linked(styles[-1], href)
                links.append((href, len(runs)))
        elif kind in _CLOSE:
            styles.pop()
            if kind == "link_close":
                href, at = links.pop()
                runs.extend(_target(href, runs[at:], styles[-1], theme))
        elif child.content:
            runs.append((sanitise(child.content), styles[-1]))
    return runs


_OPEN = frozenset({"strong_open", "em_open", "s_open", "link_open"})
_CLOSE = frozenset({"strong_close", "em_close", "s_close", "link_close"})


def _open_style(kind: str, theme: TranscriptTheme) -> Style:
    match kind:
        case "strong_open":
            return theme.strong
        case "em_open":
            return theme.emphasis
        case "s_open":
            return theme.strike
        case _:
            return theme.link


@lru_cache(maxsize=1024)
def _over(base: Style, style: Style) -> Style:
    return base + style


@lru_cache(maxsize=1024)
def _linked(style: Style, href: str) -> Style:
    """Return the style with a hyperlink of our own making, where the address is plain http(s), encoded."""
    return style + Style(link=href) if _ADDRESS.fullmatch(href) else style


def _image(token: Token) -> str:
    alt = sanitise(token.content) or "image"
    source = str(token.attrs.get("src", ""))
    return f"[image: {alt}]" + (f" ({one_line(source)})" if _HTTP.match(source) else "")


def _target(href: str, label: Sequence[Run], base: Style, theme: TranscriptTheme) -> list[Run]:
    """Show where a web link goes, unless its text is the address."""
    if not _HTTP.match(href) or "".join(text for text, _ in label) in (href, href.split("://", 1)[1]):
        return []
    return [(f" ({one_line(href)})", _over(base, theme.dim))]


def alignments(block: Sequence[Token]) -> tuple[str, ...]:
    """Return `left`, `right` or `center` for each column of a table."""
    heads = [token for token in block if token.type == "th_open"]
    return tuple(str(token.attrs.get("style", "")).removeprefix("text-align:") or "left" for token in heads)


def table_cells(block: Sequence[Token], look: Look) -> list[Cells]:
    """Return the rows of a table block."""
    rows: list[Cells] = []
    row: list[tuple[Run, ...]] = []
    head = False
    for token in block:
        if token.type in ("thead_open", "thead_close"):
            head = token.type == "thead_open"
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(tuple(inline_runs(token, look.theme.table_head if head else look.theme.text, look)))
        elif token.type == "tr_close":
            rows.append(Cells(tuple(row), head))
    return rows


def natural_widths(rows: Sequence[Cells], columns: int) -> list[int]:
    """Return the cells each column would like to have."""
    widths = [1] * columns
    for row in rows:
        for at, runs in enumerate(row.runs[:columns]):
            widths[at] = max(widths[at], sum([cells(text) for text, _ in runs]))
    return widths


def fit_widths(natural: Sequence[int], width: int) -> list[int] | None:
    """Share `width` cells among columns (3 between two); None where there is no room for a table."""
    room = width - 3 * (len(natural) - 1)
    if sum(natural) <= room:
        return list(natural)
    if room < 3 * len(natural):
        return None
    least = min(8, room // len(natural))
    base = [min(want, least) for want in natural]
    extra = room - sum(base)
    wanted = [want - got for want, got in zip(natural, base, strict=True)]
    total = sum(wanted)
    return [got + extra * want // total for got, want in zip(base, wanted, strict=True)]


def table_rows(rows: Sequence[Cells], align: Sequence[str], width: int, look: Look) -> list[Row]:
    """Return the rows of a whole table."""
    widths = fit_widths(natural_widths(rows, len(align)), width)
    return [line for row in rows for line in table_row(row, widths, align, width, look)]


def table_row(row: Cells, widths: Sequence[int] | None, align: Sequence[str], width: int, look: Look) -> list[Row]:
    """Return one table row with these column widths; without widths, its cells as running text."""
    theme = look.theme
    bar = " | " if look.ascii else " │ "
    if widths is None:
        runs = [run for at, cell in enumerate(row.runs) for run in ((bar if at else "", theme.rule), *cell)]
        return wrap(runs, width)
    columns = [wrap(row.runs[at], widths[at]) if at < len(row.runs) else [] for at in range(len(widths))]
    rows: list[Row] = []
    for line in range(max(map(len, columns), default=1) or 1):
        segments: list[Segment] = []
        for at, column in enumerate(columns):
            if at:
                segments.append(Segment(bar, theme.rule))
            part = column[line].segments if line < len(column) else ()
            segments.extend(_aligned(part, widths[at], align[at], theme.text))
        rows.append(Row(tuple(segments)))
    if row.head:
        dash, cross = ("-", "-+-") if look.ascii else ("─", "─┼─")
        rows.append(Row((Segment(cross.join(dash * size for size in widths), theme.rule),)))
    return rows


def _aligned(part: Sequence[Segment], width: int, align: str, base: Style) -> list[Segment]:
    free = width - sum([cells(segment.text) for segment in part])
    if free <= 0:
        return list(part)
    left = free if align == "right" else free // 2 if align == "center" else 0
    right = free - left
    return [
        *([Segment(" " * left, base)] if left else []),
        *part,
        *([Segment(" " * right, base)] if right else []),
    ]
