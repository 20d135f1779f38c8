"""A Markdown text that is still being written: its finished part is frozen, only the rest is read again.

What is frozen is decided on complete lines alone, where CommonMark's block structure is final; so the
rows at the end are those of `render_markdown` on the whole text, however it was cut. Each container
has its own rule, so that the cost of more text does not grow with what is above it:

    blocks   all but the last
    lists    all items but the last         quotes   all blocks but the last
    fences   line by line, plain; coloured once when they close
    tables   each row is read once; laid out again only when a column grows
    others   beyond `LONG` characters one block is shown raw until it ends
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tui.widgets.sanitise import StreamSanitiser
from tui.widgets.transcript.markdown import (
    MAX_MARKDOWN,
    Cells,
    Look,
    alignments,
    code_rows,
    fit_widths,
    groups,
    list_rows,
    list_start,
    natural_widths,
    parse,
    quote_gap,
    quote_rows,
    render_block,
    render_markdown,
    table_cells,
    table_row,
    table_rows,
)
from tui.widgets.transcript.rows import Row, wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["LONG", "StreamDoc"]

LONG = 3_000
"""Characters of one unfinished block beyond which it is no longer parsed at each flush."""
_STEADY_ROWS = 200
"""Rows of a table after which its columns keep their widths until it ends."""

_Block: TypeAlias = "list[Token]"


class _List(msgspec.Struct, frozen=True):
    """The rest of the text begins inside a list; `number` is that of the next item (-1: bullets)."""

    number: int


class _Quote(msgspec.Struct, frozen=True):
    """The rest of the text begins inside a quote, after at least one of its blocks."""


class _Fence:
    """An open fence at the beginning of the rest: lines done so far, and their rows."""

    def __init__(self, token: Token, line: str) -> None:
        mark = token.markup
        self.language = token.info.split(" ", 1)[0]
        self.indent = len(line) - len(line.lstrip(" "))
        self.close = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}} *")
        self.lines: list[str] = []

    def content(self, line: str) -> str:
        """Return a line of the source as a line of code."""
        return line[min(self.indent, len(line) - len(line.lstrip(" "))) :]


class _Table:
    """An open table at the beginning of the rest: rows done so far, and the head that reading more needs."""

    def __init__(self, head: str, block: _Block) -> None:
        self.head = head
        self.align = alignments(block)
        self.cells: list[Cells] = []
        self.widths: list[int] | None = None
        self.natural: list[int] = [1] * len(self.align)


class _Freezer:
    """Rows of a growing text: `frozen` never change, `open` grow until their block ends, `tail` is always new."""

    def __init__(self, width: int, look: Look) -> None:
        self.width = width
        self.look = look
        self.frozen: list[Row] = []
        self.open: list[Row] = []
        self.tail: list[Row] = []
        self._sanitiser = StreamSanitiser()
        self._parts: list[str] = []
        self._size = 0
        self._rest = ""
        self._seen = 0  # characters of the rest that were looked at for something to freeze
        self._inside: _List | _Quote | None = None
        self._mode: _Fence | _Table | None = None
        self._too_long = False
        self._raw_at = -1  # where the last row of a block shown raw begins

    def __len__(self) -> int:
        return len(self.frozen) + len(self.open) + len(self.tail)

    def row(self, index: int) -> Row:
        """Return one row."""
        for rows in (self.frozen, self.open):
            if index < len(rows):
                return rows[index]
            index -= len(rows)
        return self.tail[index]

    @property
    def source(self) -> str:
        """The sanitised text so far."""
        return "".join(self._parts)

    # -- freezing ------------------------------------------------------------------------------

    def _advance(self) -> bool:
        """Freeze what is final; return whether there may be more to freeze."""
        if isinstance(self._mode, _Fence):
            return self._advance_fence(self._mode)
        if isinstance(self._mode, _Table):
            return self._advance_table(self._mode)
        cut = self._rest.rfind("\n") + 1
        # One huge block is looked at again when it has grown by a quarter: the work stays linear.
        if cut <= self._seen or (self._seen > LONG and cut < self._seen * 5 // 4):
            return False
        self._seen = cut
        lines = self._rest[:cut]
        blocks = groups(parse(lines))
        if not blocks:
            return False
        last = blocks[-1]
        for block in blocks[:-1]:
            self._freeze(block)
        if len(blocks) > 1:
            self._drop_lines(_line(last))
        return self._enter(last, _line(last) if len(blocks) > 1 else 0)

    def _enter(self, last: _Block, dropped: int) -> bool:
        """Freeze what is final inside the last block; `dropped` lines are gone from the rest already."""
        kind = last[0].type
        if kind == "fence":
            return self._enter_fence(last[0], _line(last) - dropped)
        if kind == "table_open":
            return self._enter_table(last, _line(last) - dropped)
        if kind in ("bullet_list_open", "ordered_list_open"):
            self._split_list(last, dropped)
        elif kind == "blockquote_open":
            self._split_quote(last, dropped)
        return False

    def _freeze(self, block: _Block) -> None:
        rows, joined = self._rows(block)
        self._inside = None
        self._freeze_rows(rows, joined=joined)

    def _rows(self, block: _Block) -> tuple[list[Row], bool]:
        """Return the rows of a block, and whether it goes on with what is frozen."""
        match self._inside:
            case _List(number) if block[0].type.endswith("list_open"):
                return list_rows(block, number, self.width, self.look), True
            case _Quote() if block[0].type == "blockquote_open":
                return self._more_quote(groups(block[1:-1])), True
            case _:
                return render_block(block, self.width, self.look), False

    def _more_quote(self, children: Sequence[_Block]) -> list[Row]:
        return [quote_gap(self.width, self.look), *quote_rows(children, self.width, self.look)]

    def _freeze_rows(self, rows: list[Row], *, joined: bool = False) -> None:
        if self.frozen and not joined:
            self.frozen.append(Row(()))
        self.frozen.extend(rows)
        self.open = []

    def _drop_lines(self, count: int) -> None:
        at = 0
        for _ in range(count):
            at = self._rest.index("\n", at) + 1
        self._drop(at)

    def _drop(self, size: int) -> None:
        self._rest = self._rest[size:]
        self._seen = max(0, self._seen - size)
        self._raw_at = -1

    def _split_list(self, block: _Block, dropped: int) -> None:
        items = groups(block[1:-1])
        if len(items) < 2:
            return
        start = self._inside.number if isinstance(self._inside, _List) else list_start(block)
        done = [block[0], *(token for item in items[:-1] for token in item), block[-1]]
        self._freeze_rows(list_rows(done, start, self.width, self.look), joined=isinstance(self._inside, _List))
        self._inside = _List(start + len(items) - 1 if start >= 0 else -1)
        self._drop_lines(_line(items[-1]) - dropped)

    def _split_quote(self, block: _Block, dropped: int) -> None:
        children = groups(block[1:-1])
        if len(children) < 2:
            return
        if isinstance(self._inside, _Quote):
            self._freeze_rows(self._more_quote(children[:-1]), joined=True)
        else:
            self._freeze_rows(quote_rows(children[:-1], self.width, self.look))
        self._inside = _Quote()
        self._drop_lines(_line(children[-1]) - dropped)

    # -- fences --------------------------------------------------------------------------------

    def _enter_fence(self, token: Token, line: int) -> bool:
        self._drop_lines(line)
        opening, _, rest = self._rest.partition("\n")
        self._inside = None
        self._mode = _Fence(token, opening)
        self._rest, self._seen, self._raw_at, self.open = rest, 0, -1, []
        return True

    def _advance_fence(self, fence: _Fence) -> bool:
        *lines, rest = self._rest.split("\n")
        for at, line in enumerate(lines):
            if fence.close.fullmatch(line):
                code = "".join(f"{done}\n" for done in fence.lines)
                self._freeze_rows(code_rows(code, fence.language, self.width, self.look))
                self._rest = "\n".join([*lines[at + 1 :], rest])
                self._mode = None
                return True
            fence.lines.append(fence.content(line))
            if not self.open and self.frozen:
                self.open.append(Row(()))
            self.open.extend(code_rows(fence.lines[-1], "", self.width, self.look))
        self._rest = rest
        return False

    # -- tables --------------------------------------------------------------------------------

    def _enter_table(self, block: _Block, line: int) -> bool:
        self._drop_lines(line)
        head, delimiter, rest = self._rest.split("\n", 2)
        self._inside = None
        self._mode = table = _Table(f"{head}\n{delimiter}\n", block)
        self._rest, self._seen, self._raw_at, self.open = rest, 0, -1, []
        self._add_rows(table, [row for row in table_cells(block, self.look) if row.head])
        return True

    def _advance_table(self, table: _Table) -> bool:
        cut = self._rest.rfind("\n") + 1
        if not cut:
            return False
        lines = self._rest[:cut]
        block = groups(parse(table.head + lines))[0]
        self._add_rows(table, [row for row in table_cells(block, self.look) if not row.head])
        used = (block[0].map or [0, 2])[1] - 2
        self._drop_lines(used)
        if used == lines.count("\n"):
            return False
        self._end_table()
        return True

    def _add_rows(self, table: _Table, rows: list[Cells]) -> None:
        table.cells.extend(rows)
        if table.widths is None or len(table.cells) < _STEADY_ROWS:
            wanted = natural_widths(rows, len(table.align))
            table.natural = [max(pair) for pair in zip(table.natural, wanted, strict=True)]
            widths = fit_widths(table.natural, self.width)
            if widths != table.widths:
                table.widths = widths
                self.open = [Row(())] if self.frozen else []
                rows = table.cells
        for row in rows:
            self.open.extend(table_row(row, table.widths, table.align, self.width, self.look))

    def _end_table(self) -> None:
        assert isinstance(self._mode, _Table)
        rows = table_rows(self._mode.cells, self._mode.align, self.width, self.look)
        self._mode = None
        self._freeze_rows(rows)
        self._seen = 0


class StreamDoc(_Freezer):
    """A text that is still being written, as rows."""

    def feed(self, text: str) -> None:
        """Add text; any cutting of a text gives the same rows at the end."""
        text = self._sanitiser.feed(text)
        if not text:
            return
        self._parts.append(text)
        self._size += len(text)
        self._rest += text
        if self._size > MAX_MARKDOWN:
            self._show_all_raw()
            return
        while self._advance():
            pass
        self._show()

    def finish(self) -> list[Row]:
        """Return the rows of the whole text, as `render_markdown` gives them."""
        # A link reference definition may change what was frozen before it came.
        if self._too_long or "]:" in self.source:
            rows = render_markdown(self.source, self.width, self.look)
        else:
            rows = self._finished()
        self.frozen, self.open, self.tail = rows, [], []
        self._rest = ""
        self._mode = None
        return rows

    def _finished(self) -> list[Row]:
        if isinstance(self._mode, _Fence):
            lines = [*self._mode.lines, *([self._mode.content(self._rest)] if self._rest else [])]
            if self._rest and self._mode.close.fullmatch(self._rest):
                lines.pop()
            self._freeze_rows(
                code_rows("\n".join(lines) + "\n" * bool(lines), self._mode.language, self.width, self.look)
            )
        else:
            if isinstance(self._mode, _Table):
                self._rest += "\n"
                if not self._advance_table(self._mode):
                    self._end_table()
            for block in groups(parse(self._rest)):
                self._freeze(block)
        return self.frozen

    # -- the part that may still change ----------------------------------------------------------

    def _show(self) -> None:
        """Render the rest as it would look if the text ended here."""
        if isinstance(self._mode, _Fence):
            self._show_fence(self._mode)
        elif isinstance(self._mode, _Table):
            self._show_table(self._mode)
        elif len(self._rest) > LONG:
            self._show_raw()
        else:
            self._show_blocks(groups(parse(self._rest)))

    def _show_blocks(self, blocks: Sequence[_Block]) -> None:
        self.tail = []
        for at, block in enumerate(blocks):
            rows, joined = self._rows(block) if at == 0 else (render_block(block, self.width, self.look), False)
            if not joined and (self.frozen or self.tail or self.open):
                self.tail.append(Row(()))
            self.tail.extend(rows)

    def _show_fence(self, fence: _Fence) -> None:
        self.tail = []
        if fence.close.fullmatch(self._rest):
            return
        if self._rest or not fence.lines:
            gap = [Row(())] if self.frozen and not self.open else []
            self.tail = [*gap, *code_rows(fence.content(self._rest), "", self.width, self.look)]

    def _show_table(self, table: _Table) -> None:
        self.tail = []
        if not self._rest.strip():
            return
        first, *others = groups(parse(table.head + self._rest))
        for row in table_cells(first, self.look):
            if not row.head:
                self.tail.extend(table_row(row, table.widths, table.align, self.width, self.look))
        for block in others:
            self.tail.extend([Row(()), *render_block(block, self.width, self.look)])

    def _show_all_raw(self) -> None:
        """Beyond the limit the whole text is shown as it is."""
        if not self._too_long:
            self._too_long = True
            self.frozen, self._rest, self._raw_at, self._mode = [], self.source, -1, None
        self._show_raw()

    def _show_raw(self) -> None:
        """Wrap a long block without reading it; all rows but the last stay."""
        style = self.look.theme.text
        if self._raw_at < 0:
            self._raw_at = 0
            self.open = [Row(())] if self.frozen else []
        fresh = wrap([(self._rest[self._raw_at :], style)], self.width)
        *done, last = fresh
        self.open.extend(done)
        self.tail = [last]
        self._raw_at += sum(len(row.text) + len(row.join) for row in done)


def _line(block: _Block) -> int:
    return (block[0].map or [0, 0])[0]
