"""Unified diffs of real bytes, for people: bounded in size and in time.

Lines are compared as whole values, and only small stretches go through difflib; a stretch without
common lines that is too large is shown as replaced (pss-runtime#252: no quadratic matrix, ever).
"""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from tui.tools.deception import visible

__all__ = ["Diff", "diff"]

CONTEXT = 3
MAX_DIFF_LINES = 400
LINE_WINDOW = 300
"""Characters shown of a long line."""
_SMALL = 250_000
"""Largest product of line counts that difflib is given."""

_Lines: TypeAlias = Sequence[bytes]
_Block: TypeAlias = tuple[int, int, int, int]
"""Lines a1..a2 of the old text became lines b1..b2 of the new."""


class Diff(msgspec.Struct, frozen=True):
    """A unified diff and its figures in lines."""

    text: str
    added: int
    removed: int


def diff(old: bytes, new: bytes, name: str) -> Diff:
    """Return how `old` became `new`. A missing file is empty bytes; binary content is only named."""
    if old == new:
        return Diff("", 0, 0)
    if b"\0" in old or b"\0" in new:
        return Diff(f"Binary content of {name} changes: {len(old):,} to {len(new):,} bytes.", 0, 0)
    before, after = _lines(old), _lines(new)
    blocks = [block for block in _blocks(before, after, (0, len(before), 0, len(after))) if block]
    blocks = _joined(blocks)
    text = "\n".join(_bounded(_render(before, after, blocks, name)))
    return Diff(text, sum(b2 - b1 for _, _, b1, b2 in blocks), sum(a2 - a1 for a1, a2, _, _ in blocks))


def _lines(raw: bytes) -> list[bytes]:
    """Split at line feeds only: a bare CR is data."""
    parts = raw.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _trim(a: _Lines, b: _Lines, block: _Block) -> _Block:
    a1, a2, b1, b2 = block
    while a1 < a2 and b1 < b2 and a[a1] == b[b1]:
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and a[a2 - 1] == b[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
    return a1, a2, b1, b2


def _blocks(a: _Lines, b: _Lines, block: _Block) -> Iterator[_Block]:
    """Yield the changed blocks of `block`, in order."""
    a1, a2, b1, b2 = _trim(a, b, block)
    if a1 == a2 and b1 == b2:
        return
    if (a2 - a1) * (b2 - b1) <= _SMALL:
        matcher = difflib.SequenceMatcher(None, a[a1:a2], b[b1:b2], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag != "equal":
                yield a1 + i1, a1 + i2, b1 + j1, b1 + j2
        return
    anchors = _anchors(a, b, (a1, a2, b1, b2))
    if not anchors:
        yield a1, a2, b1, b2
        return
    for at, bt in [*anchors, (a2, b2)]:
        yield from _blocks(a, b, (a1, at, b1, bt))
        a1, b1 = at + 1, bt + 1


def _anchors(a: _Lines, b: _Lines, block: _Block) -> list[tuple[int, int]]:
    """Return pairs of equal lines that occur once on each side, increasing on both (patience)."""
    a1, a2, b1, b2 = block
    once_a, once_b = Counter(a[a1:a2]), Counter(b[b1:b2])
    places = {line: at for at, line in enumerate(b[b1:b2], b1) if once_b[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(a[a1:a2], a1) if once_a[line] == 1 and line in places]
    tops: list[int] = []
    chains: list[int] = []
    previous: list[int] = []
    for index, (_, bt) in enumerate(pairs):
        height = bisect.bisect_left(tops, bt)
        previous.append(chains[height - 1] if height else -1)
        tops[height : height + 1] = [bt]
        chains[height : height + 1] = [index]
    return _chain(pairs, previous, chains[-1] if chains else -1)


def _chain(pairs: list[tuple[int, int]], previous: list[int], index: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while index >= 0:
        found.append(pairs[index])
        index = previous[index]
    return found[::-1]


def _joined(blocks: list[_Block]) -> list[_Block]:
    """Join blocks that touch."""
    out: list[_Block] = []
    for block in blocks:
        if out and out[-1][1] == block[0] and out[-1][3] == block[2]:
            out[-1] = (out[-1][0], block[1], out[-1][2], block[3])
        else:
            out.append(block)
    return out


def _hunks(blocks: list[_Block]) -> Iterator[list[_Block]]:
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and block[0] - hunk[-1][1] > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _render(a: _Lines, b: _Lines, blocks: list[_Block], name: str) -> Iterator[str]:
    yield f"--- {name}" if a else "--- /dev/null"
    yield f"+++ {name}"
    # One kind of line end on all changed lines is no news; a change of it is, and is shown as \r.
    touched = [line for a1, a2, b1, b2 in blocks for line in (*a[a1:a2], *b[b1:b2])]
    quiet = all(line.endswith(b"\r\n") for line in touched if line.endswith(b"\n"))
    for hunk in _hunks(blocks):
        yield from _hunk(a, b, hunk, quiet)


def _range(start: int, length: int) -> str:
    return f"{start + 1 if length else start}" if length == 1 else f"{start + 1 if length else start},{length}"


def _hunk(a: _Lines, b: _Lines, hunk: list[_Block], quiet: bool) -> Iterator[str]:
    a1, b1 = max(0, hunk[0][0] - CONTEXT), max(0, hunk[0][2] - CONTEXT)
    shift = min(hunk[0][0] - a1, hunk[0][2] - b1)
    a1, b1 = hunk[0][0] - shift, hunk[0][2] - shift
    tail = min(CONTEXT, len(a) - hunk[-1][1])
    a2, b2 = hunk[-1][1] + tail, hunk[-1][3] + tail
    yield f"@@ -{_range(a1, a2 - a1)} +{_range(b1, b2 - b1)} @@"
    at = a1
    for o1, o2, n1, n2 in hunk:
        yield from (_line(" ", line, quiet) for line in a[at:o1])
        yield from _change(a[o1:o2], b[n1:n2], quiet)
        at = o2
    yield from (_line(" ", line, quiet) for line in a[at:a2])


def _change(removed: _Lines, added: _Lines, quiet: bool) -> Iterator[str]:
    starts = [_first_difference(x, y) for x, y in zip(removed[:MAX_DIFF_LINES], added, strict=False)]
    starts += [0] * max(len(removed), len(added))
    yield from (_line("-", line, quiet, start) for line, start in zip(removed, starts, strict=False))
    yield from (_line("+", line, quiet, start) for line, start in zip(added, starts, strict=False))


def _first_difference(x: bytes, y: bytes) -> int:
    if max(len(x), len(y)) <= LINE_WINDOW:
        return 0
    low, high = 0, min(len(x), len(y))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if x[:middle] == y[:middle] else (low, middle - 1)
    return low


def _line(mark: str, raw: bytes, quiet: bool, start: int = 0) -> str:
    body = raw.removesuffix(b"\n")
    if quiet or mark == " ":
        body = body.removesuffix(b"\r")
    text = mark + _window(body, start)
    return text if raw.endswith(b"\n") else f"{text}\n\\ No newline at end of file"


def _window(body: bytes, start: int) -> str:
    """Return the part of a long line around its first changed byte."""
    if len(body) <= LINE_WINDOW:
        return visible(body.decode("utf-8", "surrogateescape"))
    first = max(0, min(start - LINE_WINDOW // 3, len(body) - LINE_WINDOW))
    part = body[first : first + LINE_WINDOW]
    left = f"[…{first:,} bytes…] " if first else ""
    right = len(body) - first - len(part)
    return left + visible(part.decode("utf-8", "replace")) + (f" […{right:,} bytes…]" if right else "")


def _bounded(lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number >= MAX_DIFF_LINES:
            yield f"[… {1 + sum(1 for _ in lines):,} more lines of this diff are not shown …]"
            return
        yield line
