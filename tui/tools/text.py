"""Text for the model: decoded, cleaned of terminal codes, bounded in bytes, lines and line length.

What a terminal would show is what the model gets: an overwritten progress line appears once, with its
last content. Every cut is at a character border and says what is missing and where the whole is.
"""

from __future__ import annotations

import re

import msgspec

from tui.messages import clean

__all__ = [
    "LINE_CHARACTERS",
    "MAX_BYTES",
    "MAX_LINES",
    "Bounded",
    "Bounds",
    "bound_ends",
    "bound_line",
    "bound_start",
    "clip",
    "count",
    "decode",
    "is_binary",
    "plain",
]

MAX_LINES = 2_000
"""Lines of any one result."""
MAX_BYTES = 50 * 1024
"""Bytes (UTF-8) of any one result, markers not counted."""
LINE_CHARACTERS = 10_000
"""Characters of any one line."""
SNIFF_BYTES = 8_192

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)(?P<csi>[0-?]*[ -/]*[@-~]?)"
    # Strings (OSC, DCS, SOS, PM, APC): whole where their end is seen, else to the end of the line. Each
    # scan stops at the next start of one, so that a flood of unfinished ones stays linear.
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x1b\x07\x90\x98\x9c-\x9f]*(?:\x07|\x9c|\x1b\\)|[^\x1b\x07\n]*)"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NEEDS_WORK = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ERASE_REST, _ERASE_LINE, _HOME = "\x00", "\x01", "\r"
_STEPS = re.compile("([\x00\x01\r\x08])")


class Bounds(msgspec.Struct, frozen=True):
    """How much of a text is kept."""

    lines: int = MAX_LINES
    bytes: int = MAX_BYTES
    characters: int = LINE_CHARACTERS
    """Of one line."""


class Bounded(msgspec.Struct, frozen=True):
    """A text within its bounds, and whether anything was cut."""

    text: str
    cut: bool


def count(number: int, word: str) -> str:
    """Return `1 line`, `2,000 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def is_binary(start: bytes) -> bool:
    """Whether the start of a file or output holds a NUL, as git judges it."""
    return b"\0" in start[:SNIFF_BYTES]


def decode(raw: bytes) -> str:
    """Return `raw` as UTF-8 text; each undecodable byte sequence becomes U+FFFD. Never raises."""
    return raw.decode("utf-8", errors="replace")


def clip(raw: bytes, limit: int) -> bytes:
    """Return at most `limit` first bytes of valid UTF-8 `raw`, never half a character."""
    if len(raw) <= limit:
        return raw
    while limit > 0 and raw[limit] & 0xC0 == 0x80:
        limit -= 1
    return raw[:limit]


def _clip_end(raw: bytes, limit: int) -> bytes:
    start = len(raw) - limit
    if start <= 0:
        return raw
    while start < len(raw) and raw[start] & 0xC0 == 0x80:
        start += 1
    return raw[start:]


def _step(match: re.Match[str]) -> str:
    """Keep of an escape sequence only what moves within the line, as one character."""
    match match["csi"]:
        case "K" | "0K":
            return _ERASE_REST
        case "2K":
            return _ERASE_LINE
        case "G" | "1G" | "0G":
            return _HOME
        case _:
            return ""


def _overwrite(line: str) -> str:
    """Return what a terminal row shows after carriage returns, backspaces and erasures; linear in its length."""
    cells: list[str] = []
    at = 0
    for piece in _STEPS.split(line):
        match piece:
            case "\r":
                at = 0
            case "\x08":
                at = max(0, at - 1)
            case "\x00":
                del cells[at:]
            case "\x01":
                cells.clear()
            case _:
                cells.extend(" " * (at - len(cells)))
                cells[at : at + len(piece)] = piece
                at += len(piece)
    return "".join(cells)


def _plain_line(line: str) -> str:
    if _NEEDS_WORK.search(line) is None:
        return line
    line = line.rstrip("\r").replace("\x00", "").replace("\x01", "")
    shown = _overwrite(_ESCAPES.sub(_step, line))
    return _CONTROLS.sub("", shown)


def plain(text: str) -> str:
    """Return what terminal output leaves on a terminal as plain text: tab and line feed are its only controls.

    Carriage returns overwrite within their line (crush#3354); cursor moves to other lines are dropped, and
    no rest of a sequence stays behind (claude-code#14479).
    """
    if _NEEDS_WORK.search(text) is None:
        return clean(text)
    # Strings may span lines; they go first, then each line is played back on its own.
    joined = _ESCAPES.sub(lambda match: match[0] if match["csi"] is not None else "", text)
    return clean("\n".join(_plain_line(line) for line in joined.split("\n")))


def bound_line(line: str, characters: int = LINE_CHARACTERS) -> str:
    """Return `line` with its middle cut where it is longer than `characters`."""
    if len(line) <= characters:
        return line
    head = characters * 3 // 4
    tail = characters - head
    return f"{line[:head]} […{count(len(line) - characters, 'character')} of this line cut…] {line[-tail:]}"


def bound_start(lines: list[str], advice: str, bounds: Bounds | None = None) -> Bounded:
    """Return as many first lines as `bounds` allows; `advice` says how to see the rest."""
    limits = bounds or Bounds()
    taken = _take(lines, limits.lines, limits.bytes)
    if taken == len(lines):
        return Bounded("\n".join(lines), cut=False)
    marker = f"[… {count(len(lines) - taken, 'line')} cut here; {advice}]"
    return Bounded("\n".join([*lines[:taken], marker]), cut=True)


def _take(lines: list[str], limit: int, room: int) -> int:
    """Return how many first lines fit into `limit` lines and `room` bytes."""
    taken = 0
    for line in lines[:limit]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        taken += 1
    return taken


def bound_ends(text: str, whole: str, bounds: Bounds | None = None, dropped: int = 0) -> Bounded:
    """Return the first fifth and the last four fifths of what `bounds` allows, with a marker between.

    `whole` says where all of it is. `dropped` bytes are missing at the marker already (see `Sink`):
    then `text` is head + NUL + tail.
    """
    limits = bounds or Bounds()
    text = clean(text)
    head_text, _, tail_text = text.partition("\0") if dropped else (text, "", "")
    parts = [[bound_line(line, limits.characters) for line in part.split("\n")] for part in (head_text, tail_text)]
    lines = parts[0] + parts[1] if dropped else parts[0]
    size = sum(len(line.encode()) + 1 for line in lines) - 1
    long_lines = "\n".join(lines) != text and not dropped
    if not dropped and len(lines) <= limits.lines and size <= limits.bytes:
        note = f"\n[long lines were cut; {whole}]" if long_lines and whole else ""
        return Bounded("\n".join(lines) + note, long_lines)
    return _join_ends(lines, len(parts[0]) if dropped else len(lines), dropped, limits, whole)


def _join_ends(lines: list[str], head_end: int, dropped: int, limits: Bounds, whole: str) -> Bounded:
    first = _take(lines[:head_end], limits.lines // 5, limits.bytes // 5)
    tail_start = head_end if dropped else first
    rest = lines[tail_start:][::-1]
    last = _take(rest, limits.lines - limits.lines // 5, limits.bytes - limits.bytes // 5)
    if last == 0 and rest:
        lines[-1] = _clip_end(rest[0].encode(), limits.bytes // 2).decode()
        last = 1
    missing = lines[first : len(lines) - last]
    size = sum(len(line.encode()) + 1 for line in missing) + dropped
    what = count(size, "byte") if dropped else f"{count(len(missing), 'line')} ({count(size, 'byte')})"
    marker = f"[… {what} cut here; {whole} …]" if whole else f"[… {what} cut here …]"
    return Bounded("\n".join([*lines[:first], marker, *lines[len(lines) - last :]]), True)
