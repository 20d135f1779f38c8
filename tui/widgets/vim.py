"""Vim's keys for the editor: insert and normal mode, the usual motions, d, c and y with them, counts, put and undo.

Pure: a key, the text and the place of the cursor give the text and the place after it. Not all of Vim: no
visual mode, no registers by name, no macros, no ex commands.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

__all__ = ["VimDoes", "VimMode", "VimState", "VimStep", "press"]

VimMode: TypeAlias = Literal["insert", "normal"]
VimDoes: TypeAlias = Literal["", "undo", "redo", "search"]

_MOST = 999
_COMMAND = re.compile(r"([1-9][0-9]*)?([dcy])?([1-9][0-9]*)?(.*)", re.DOTALL)


class VimState(msgspec.Struct, frozen=True):
    """What is remembered between keys."""

    mode: VimMode = "insert"
    pending: str = ""
    """A count, an operator, or both, whose motion is still to come."""
    kept: str = ""
    """What was deleted or yanked last."""
    lines: bool = False
    """It was whole lines."""


class VimStep(msgspec.Struct, frozen=True):
    """What a key came to. `taken`: it was a key of normal mode; else it is handled as in any editor."""

    state: VimState
    text: str
    at: int
    taken: bool = True
    does: VimDoes = ""


class _Command(msgspec.Struct, frozen=True):
    """An operator with its motion. `counted`: a count was given."""

    operator: str
    motion: str
    count: int = 1
    counted: bool = False


_SHORT = {"x": ("d", "l"), "X": ("d", "h"), "s": ("c", "l"), "D": ("d", "$"), "C": ("c", "$"), "S": ("c", "c")}
"""Keys that stand for an operator with a motion."""


class _Range(msgspec.Struct, frozen=True):
    """Where a motion leads, and what an operator before it covers."""

    to: int
    start: int
    end: int
    lines: bool = False


def press(state: VimState, key: str, text: str, at: int) -> VimStep:
    """Return what `key` (a character, `escape` or `ctrl+r`) does with `text` and the cursor before character `at`."""
    if state.mode == "insert":
        if key != "escape":
            return VimStep(state, text, at, taken=False)
        left = at - 1 if at > _line_start(text, at) else at
        return VimStep(msgspec.structs.replace(state, mode="normal", pending=""), text, left)
    if key == "escape":
        taken = bool(state.pending)
        return VimStep(msgspec.structs.replace(state, pending=""), text, at, taken=taken)
    if key == "ctrl+r":
        return VimStep(state, text, at, does="redo")
    if len(key) != 1:
        return VimStep(state, text, at, taken=False)
    return _normal(state, key, text, at)


def _normal(state: VimState, key: str, text: str, at: int) -> VimStep:
    typed = state.pending + key
    found = _COMMAND.fullmatch(typed)
    first, operator, second, rest = found.groups() if found else (None, None, None, "")
    if rest in ("", "g"):
        return VimStep(msgspec.structs.replace(state, pending=typed), text, at)
    state = msgspec.structs.replace(state, pending="")
    count = min(int(first or 1) * int(second or 1), _MOST)
    counted = bool(first or second)
    if operator or rest in _SHORT:
        does, motion = (operator, rest) if operator else _SHORT[rest]
        return _operate(state, _Command(does, motion, count, counted), text, at)
    reach = _motion(rest, text, at, count, counted=counted)
    if reach is not None:
        return VimStep(state, text, _inside(text, reach.to))
    return _simple(state, rest, count, text, at)


def _operate(state: VimState, command: _Command, text: str, at: int) -> VimStep:
    operator, motion = command.operator, command.motion
    if operator == "c" and motion == "w" and at < len(text) and not text[at].isspace():
        motion = "e"  # cw changes a word, not the blank behind it
    if motion == operator:
        reach: _Range | None = _whole_lines(text, at, command.count)
    else:
        reach = _motion(motion, text, at, command.count, counted=command.counted)
    if reach is None:
        return VimStep(state, text, at)
    taken = text[reach.start : reach.end]
    kept = msgspec.structs.replace(state, kept=taken.removesuffix("\n"), lines=reach.lines)
    if operator == "y":
        return VimStep(kept, text, reach.start if not reach.lines else at)
    if operator == "c":
        end = reach.end - 1 if reach.lines and taken.endswith("\n") else reach.end
        return VimStep(msgspec.structs.replace(kept, mode="insert"), text[: reach.start] + text[end:], reach.start)
    return _deleted(kept, reach, text)


def _deleted(state: VimState, reach: _Range, text: str) -> VimStep:
    start = reach.start
    if reach.lines and reach.end == len(text) and not text.endswith("\n") and start:
        start -= 1  # the last lines go with the line end before them
    left = text[:start] + text[reach.end :]
    return VimStep(state, left, _inside(left, _line_start(left, min(start, len(left))) if reach.lines else start))


def _simple(state: VimState, key: str, count: int, text: str, at: int) -> VimStep:
    if key in ("p", "P"):
        return _put(state, count, text, at, before=key == "P")
    does: dict[str, VimDoes] = {"u": "undo", "/": "search"}
    if key not in "iaIAoO":
        # A key that means nothing is no text either.
        return VimStep(state, text, at, does=does.get(key, ""))
    start, end = _line_start(text, at), _line_end(text, at)
    if key == "o":
        text, place = f"{text[:end]}\n{text[end:]}", end + 1
    elif key == "O":
        text, place = f"{text[:start]}\n{text[start:]}", start
    else:
        place = {"i": at, "a": min(at + 1, end), "I": _first_word(text, start), "A": end}[key]
    return VimStep(msgspec.structs.replace(state, mode="insert"), text, place)


def _put(state: VimState, count: int, text: str, at: int, *, before: bool) -> VimStep:
    if not state.kept:
        return VimStep(state, text, at)
    if not state.lines:
        place = at if before else min(at + 1, _line_end(text, at))
        words = state.kept * count
        return VimStep(state, text[:place] + words + text[place:], place + len(words) - 1)
    words = "\n".join([state.kept] * count)
    if before:
        start = _line_start(text, at)
        return VimStep(state, f"{text[:start]}{words}\n{text[start:]}", start)
    end = _line_end(text, at)
    return VimStep(state, f"{text[:end]}\n{words}{text[end:]}", end + 1)


def _motion(key: str, text: str, at: int, count: int, *, counted: bool) -> _Range | None:
    start, end = _line_start(text, at), _line_end(text, at)
    match key:
        case "h":
            to = max(start, at - count)
            return _Range(to, to, at)
        case "l" | " ":
            to = min(end, at + count)
            return _Range(to, at, to)
        case "0":
            return _Range(start, start, at)
        case "^":
            to = _first_word(text, start)
            return _Range(to, min(to, at), max(to, at))
        case "$":
            to = _line_end(text, _lines_away(text, at, count - 1))
            return _Range(to, at, to)
        case "w" | "b" | "e":
            return _words(key, text, at, count)
        case "j" | "k":
            to = _lines_away(text, at, count if key == "j" else -count)
            return _Range(to, _line_start(text, min(at, to)), _after_line(text, max(at, to)), lines=True)
        case "G" | "gg":
            last = text.count("\n")
            row = min(count - 1, last) if counted else last if key == "G" else 0
            to = _first_word(text, _lines_away(text, 0, row))
            return _Range(to, _line_start(text, min(at, to)), _after_line(text, max(at, to)), lines=True)
        case _:
            return None


def _words(key: str, text: str, at: int, count: int) -> _Range:
    to = at
    for _ in range(count):
        to = {"w": _next_word, "b": _word_before, "e": _word_end}[key](text, to)
    match key:
        case "b":
            return _Range(to, to, at)
        case "e":
            return _Range(to, at, min(to + 1, len(text)))
        case _:
            stop = to
            if "\n" in text[at:to]:  # `dw` on the last word of a line leaves the line end
                stop = max(_line_end(text, at), at)
            return _Range(to, at, stop)


def _kind(char: str) -> int:
    return 0 if char.isspace() else 1 if char.isalnum() or char == "_" else 2


def _next_word(text: str, at: int) -> int:
    if at >= len(text):
        return at
    kind = _kind(text[at])
    while at < len(text) and kind and _kind(text[at]) == kind:
        at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    return at


def _word_before(text: str, at: int) -> int:
    at -= 1
    while at > 0 and not _kind(text[at]):
        at -= 1
    while at > 0 and _kind(text[at - 1]) == _kind(text[at]):
        at -= 1
    return max(0, at)


def _word_end(text: str, at: int) -> int:
    at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    while at + 1 < len(text) and _kind(text[at + 1]) == _kind(text[at]):
        at += 1
    return min(at, max(0, len(text) - 1))


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _after_line(text: str, at: int) -> int:
    return min(_line_end(text, at) + 1, len(text))


def _first_word(text: str, start: int) -> int:
    end = _line_end(text, start)
    return next((at for at in range(start, end) if not text[at].isspace()), end)


def _lines_away(text: str, at: int, rows: int) -> int:
    """Return the place `rows` lines further (or back), in the same column where there is one."""
    column = at - _line_start(text, at)
    for _ in range(abs(rows)):
        edge = _line_end(text, at) if rows > 0 else _line_start(text, at) - 1
        if not 0 <= edge < len(text):
            break
        at = edge + 1 if rows > 0 else edge
    start = _line_start(text, at)
    return min(start + column, _line_end(text, at))


def _whole_lines(text: str, at: int, count: int) -> _Range:
    last = _lines_away(text, at, count - 1)
    return _Range(at, _line_start(text, at), _after_line(text, last), lines=True)


def _inside(text: str, at: int) -> int:
    """Return the place itself, or the last character of its line: normal mode stands on characters."""
    at = max(0, min(at, len(text)))
    end = _line_end(text, at)
    return at - 1 if at == end and at > _line_start(text, at) else at
