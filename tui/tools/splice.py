r"""The arithmetic of an edit: exact, unique, disjoint replacements in bytes. Nothing else changes.

Line ends: where neither text holds a CR, a `\n` in the old text also matches `\r\n` in the file, and a
`\n` in the new text becomes the ending of the lines it replaces (of its own line where it replaces none).
What both texts have in common at their start and end keeps its bytes, so mixed endings stay as they are.
Where a text names a CR itself, both are taken literally.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import msgspec

from tui.tools.base import ToolError
from tui.tools.deception import visible
from tui.tools.text import is_binary

__all__ = ["Edit", "splice"]

_MANY = 1_000
_MOST = 100_000
_BOM = "\ufeff"


class Edit(msgspec.Struct, frozen=True):
    """Replace `old_text`, which must occur once (or, with `replace_all`, at least once)."""

    old_text: str
    new_text: str
    replace_all: bool = False


class _Change(msgspec.Struct, frozen=True):
    """Bytes `start` to `end` of the original become `new`; the match reached from `match_start` to `match_end`."""

    start: int
    end: int
    new: bytes
    match_start: int
    match_end: int
    number: int


def splice(raw: bytes, edits: Sequence[Edit], name: str) -> bytes:
    """Return `raw` with all edits made, each matched against the original. Raises `ToolError`; then none was made."""
    if not edits:
        raise ToolError(f"No edits were given for {name}. Nothing was changed.")
    if is_binary(raw):
        raise ToolError(f"{name} is binary (it holds NUL bytes). Nothing was changed; change it with bash.")
    bad = _first_undecodable(raw)
    changes: list[_Change] = []
    for number, edit in enumerate(edits, 1):
        changes += _changes(raw, _without_bom(raw, edit), f"edit {number} of {name}", number, bad)
    changes.sort(key=lambda change: (change.match_start, change.match_end))
    _check_disjoint(changes, name)
    new = _apply(raw, changes)
    if new == raw:
        raise ToolError(f"The edits leave {name} exactly as it is. Nothing was changed.")
    return new


def _first_undecodable(raw: bytes) -> int:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _without_bom(raw: bytes, edit: Edit) -> Edit:
    """Return the edit without a byte order mark: that is no part of the text and cannot be lost."""
    if not raw.startswith(_BOM.encode()):
        return edit
    return Edit(edit.old_text.removeprefix(_BOM), edit.new_text.removeprefix(_BOM), edit.replace_all)


def _changes(raw: bytes, edit: Edit, where: str, number: int, bad: int) -> list[_Change]:
    if not edit.old_text:
        raise ToolError(f"{where}: old_text is empty. Nothing was changed; name the text to replace.")
    if edit.old_text == edit.new_text:
        raise ToolError(f"{where}: old_text and new_text are the same. Nothing was changed.")
    if bad >= 0 and not (edit.old_text + edit.new_text).isascii():
        raise ToolError(
            f"{where}: the file is not valid UTF-8 (first at byte offset {bad}), so only ASCII text can be replaced "
            "by ASCII text in it. Nothing was changed; use bash with iconv for more."
        )
    old, new = edit.old_text.encode("utf-8", "replace"), edit.new_text.encode("utf-8", "replace")
    loose = b"\r" not in old and b"\r" not in new
    matches = _matches(raw, old, where, edit, loose)
    if bad >= 0:
        _check_borders(raw, matches, where)
    return [_change(raw, match, (old, new), number, loose=loose) for match in matches]


def _matches(raw: bytes, old: bytes, where: str, edit: Edit, loose: bool) -> list[re.Match[bytes]]:
    pattern = re.compile((rb"\r?\n" if loose else rb"\n").join(re.escape(part) for part in old.split(b"\n")))
    found: list[re.Match[bytes]] = []
    match = pattern.search(raw)
    while match is not None and len(found) <= _MANY:
        found.append(match)
        # One further, not behind it: `aa` in `aaa` is ambiguous (coder#23125). But \r\n is one line end.
        step = 2 if loose and raw.startswith(b"\r\n", match.start()) else 1
        match = pattern.search(raw, match.start() + step)
    if not found:
        raise ToolError(_not_found(raw, edit.old_text, where))
    if edit.replace_all:
        _check_overlaps(found, where)
        return _all(pattern, raw, where) if len(found) > _MANY else found
    if len(found) > 1:
        raise ToolError(_ambiguous(raw, found, where))
    return found


def _check_overlaps(found: list[re.Match[bytes]], where: str) -> None:
    if any(one.end() > two.start() for one, two in itertools.pairwise(found)):
        raise ToolError(f"{where}: places that match old_text overlap. Nothing was changed; give a longer old_text.")


def _all(pattern: re.Pattern[bytes], raw: bytes, where: str) -> list[re.Match[bytes]]:
    found = list(itertools.islice(pattern.finditer(raw), _MOST + 1))
    if len(found) > _MOST:
        raise ToolError(f"{where}: old_text occurs more than {_MOST:,} times. Nothing was changed; use bash with sed.")
    return found


def _line_of(raw: bytes, at: int) -> int:
    return raw.count(b"\n", 0, at) + 1


def _ambiguous(raw: bytes, found: list[re.Match[bytes]], where: str) -> str:
    many = f"more than {_MANY:,}" if len(found) > _MANY else f"{len(found):,}"
    lines = ", ".join(str(_line_of(raw, match.start())) for match in found[:10])
    more = ", …" if len(found) > 10 else ""
    return (
        f"{where}: old_text occurs {many} times (lines {lines}{more}). Nothing was changed; "
        "add surrounding lines to make it unique, or set replace_all."
    )


def _not_found(raw: bytes, old: str, where: str) -> str:
    """Say so, and name the place that differs in white space only, if there is one."""
    advice = "Nothing was changed; read the file and copy the text exactly."
    wanted = next((line.split() for line in old.split("\n") if line.strip()), None)
    if wanted is not None:
        for number, line in enumerate(raw.split(b"\n"), 1):
            text = line.decode("utf-8", "replace") if len(line) < 2_000 else ""
            if text.split() == wanted:
                shown = visible(repr(text.rstrip("\r")))
                return f"{where}: old_text was not found. Line {number} is alike but for white space: {shown}. {advice}"
    return f"{where}: old_text was not found. {advice}"


def _check_borders(raw: bytes, matches: list[re.Match[bytes]], where: str) -> None:
    """Refuse where an ASCII byte may be the second half of a character (Shift-JIS, GBK, Big5: from 0x30 on)."""
    for match in matches:
        before = raw[match.start() - 1] if match.start() else 0
        if before >= 0x80 and match[0][0] >= 0x30:
            raise ToolError(
                f"{where}: the file is not valid UTF-8, and the match at byte offset {match.start()} may begin inside "
                "a character. Nothing was changed; start old_text at a space or line start, or use bash with iconv."
            )


def _change(raw: bytes, match: re.Match[bytes], texts: tuple[bytes, bytes], number: int, *, loose: bool) -> _Change:
    old, new = texts
    start, end = match.span()
    if not loose:
        return _Change(start, end, new, start, end, number)
    prefix = _common(old, new)
    suffix = _common(old[prefix:][::-1], new[prefix:][::-1])
    middle = new[prefix : len(new) - suffix]
    inner_start = start + _raw_length(match[0], prefix)
    inner_end = end - _raw_length_back(match[0], suffix)
    if b"\n" in middle and _ending(raw, start, end) == b"\r\n":
        middle = middle.replace(b"\n", b"\r\n")
    return _Change(inner_start, inner_end, middle, start, end, number)


def _common(one: bytes, two: bytes) -> int:
    """Return the length of the common start, by halving: one comparison per step."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return low


def _raw_length(matched: bytes, length: int) -> int:
    """Return how many bytes of the match stand for the first `length` bytes of the old text."""
    rest = matched.replace(b"\r\n", b"\n")[:length]
    crlf = 0
    ends = rest.count(b"\n")
    at = -1
    for _ in range(ends):
        at = matched.index(b"\n", at + 1)
        crlf += matched[at - 1 : at] == b"\r" and at > 0
    return length + crlf


def _raw_length_back(matched: bytes, length: int) -> int:
    return len(matched) - _raw_length(matched, len(matched.replace(b"\r\n", b"\n")) - length)


def _ending(raw: bytes, start: int, end: int) -> bytes:
    """Return the line end that new lines get: the first in the match, else that of its line, else of the one before."""
    at = raw.find(b"\n", start)
    if at < 0:
        at = raw.rfind(b"\n", 0, end)
    return b"\r\n" if at > 0 and raw[at - 1 : at] == b"\r" else b"\n"


def _check_disjoint(changes: list[_Change], name: str) -> None:
    for one, two in itertools.pairwise(changes):
        if one.match_end > two.match_start:
            pair = f"edits {min(one.number, two.number)} and {max(one.number, two.number)}"
            raise ToolError(f"{pair} of {name} overlap. Nothing was changed; join them into one edit.")


def _apply(raw: bytes, changes: list[_Change]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for change in changes:
        pieces += [raw[at : change.start], change.new]
        at = change.end
    return b"".join([*pieces, raw[at:]])
