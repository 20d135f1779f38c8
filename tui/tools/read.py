"""read: a bounded part of a text file, or an image."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.messages import Image, Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.files import Stop, chunks, in_thread
from tui.tools.paths import Place, locate, outside
from tui.tools.pictures import HEADER_BYTES, MAX_ENCODED_BYTES, Picture, picture
from tui.tools.schema import arguments
from tui.tools.text import LINE_CHARACTERS, MAX_BYTES, MAX_LINES, Bounds, count, decode, is_binary

__all__ = ["READ"]

_WINDOW = 256 * 1024
_BOM = b"\xef\xbb\xbf"

SPEC = ToolSpec(
    name="read",
    description=(
        "Read a text file or an image (png, jpeg, gif, webp). Text comes without line numbers, at most "
        f"{MAX_LINES} lines or {MAX_BYTES // 1024} KiB at a time; use offset and limit for the rest. Read a file "
        "before you overwrite it. CRLF line ends are shown as plain line ends; edit keeps them."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the working directory or absolute."},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, counted from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "Most lines to return."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    short="Read a text file or image: path, offset (line, from 1), limit.",
)


class _Args(msgspec.Struct, frozen=True):
    path: str
    offset: int = 1
    limit: int = MAX_LINES


class _Scan:
    """Hashes a file as it streams by, counts its lines and keeps the window that was asked for."""

    def __init__(self, first: int) -> None:
        self.hash = hashlib.sha256()
        self.size = 0
        self.ends = 0
        self.window = bytearray()
        self.start = b""
        self.last = b""
        self.bad = -1
        self._first = first

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the file."""
        if len(self.start) < HEADER_BYTES:
            self.start += piece[: HEADER_BYTES - len(self.start)]
        self.hash.update(piece)
        self.size += len(piece)
        self.last = piece[-1:]
        ends = piece.count(b"\n")
        if len(self.window) < _WINDOW and self.ends + ends >= self._first - 1:
            self._keep(piece)
        self.ends += ends

    def _keep(self, piece: bytes) -> None:
        at = 0
        for _ in range(self._first - 1 - self.ends):
            at = piece.index(b"\n", at) + 1
        self.window += piece[at : at + _WINDOW - len(self.window)]

    @property
    def lines(self) -> int:
        """Lines of the whole file; the last may lack its end."""
        return self.ends + (1 if self.last not in (b"", b"\n") else 0)


async def _preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    place = locate(ctx, arguments(args, _Args).path)
    return Preview(place.name, Effect.READ, paths=(str(place.real),), outside=outside(place))


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    scan = await in_thread(lambda stop: _scan(place.real, place.name, asked.offset, stop))
    sha = scan.hash.hexdigest()
    details: dict[str, Json] = {"type": "read", "path": str(place.real), "sha256": sha, "size": scan.size}
    found = picture(scan.start)
    if found is not None:
        outcome = await _image(ctx, place, scan, found, details)
    elif is_binary(scan.start) or is_binary(bytes(scan.window)):
        raise ToolError(_binary(place.name, scan))
    else:
        outcome = _text(place.name, scan, asked, details, ctx.bounds)
    ctx.states.note(str(place.real), sha)
    return outcome


def _scan(path: Path, name: str, first: int, stop: Stop) -> _Scan:
    scan = _Scan(first)
    for piece in chunks(path, name, stop):
        scan.feed(piece)
        if is_binary(scan.start) and picture(scan.start) is None:
            # Its kind is known, and it will be refused: the rest may be gigabytes.
            scan.size = path.stat().st_size
            break
    return scan


_SIGNATURES = (
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"%PDF", "PDF document"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


def _binary(name: str, scan: _Scan) -> str:
    kind = next((word for start, word in _SIGNATURES if scan.start.startswith(start)), "binary data")
    advice = "convert it with iconv in bash" if kind == "UTF-16 text" else "look at it with bash (file, xxd, strings)"
    return f"{name} is no UTF-8 text: {kind}, {count(scan.size, 'byte')}. Nothing is shown; {advice}."


async def _image(ctx: ToolContext, place: Place, scan: _Scan, found: Picture, details: dict[str, Json]) -> Outcome:
    what = f"{found.media_type}, {found.width}x{found.height} pixels, {count(scan.size, 'byte')}"
    details |= {"media_type": found.media_type, "width": found.width, "height": found.height}
    if not ctx.images:
        return Outcome(f"[image {place.name}: {what}; this model cannot see images]", details=details)
    if (scan.size + 2) // 3 * 4 > MAX_ENCODED_BYTES:
        limit = MAX_ENCODED_BYTES >> 20
        raise ToolError(f"{place.name} ({what}) is over the limit of {limit} MiB in base64. Scale it down with bash.")
    raw = await in_thread(lambda stop: b"".join(chunks(place.real, place.name, stop)))
    if hashlib.sha256(raw).hexdigest() != scan.hash.hexdigest() or len(base64.b64encode(raw)) > MAX_ENCODED_BYTES:
        raise ToolError(f"{place.name} changed while it was read. Nothing is shown; read it again.")
    image = Image(scan.hash.hexdigest(), found.media_type, found.width, found.height, scan.size)
    return Outcome(f"[image {place.name}: {what}]", images=((image, raw),), details=details)


def _text(name: str, scan: _Scan, asked: _Args, details: dict[str, Json], bounds: Bounds) -> Outcome:
    if scan.size == 0:
        return Outcome(f"({name} is empty)", details={**details, "lines": 0})
    if asked.offset > scan.lines:
        end = count(scan.lines, "line")
        raise ToolError(f"offset {asked.offset} is past the end: {name} has {end}. Nothing is shown.")
    lines = bytes(scan.window).removeprefix(_BOM if asked.offset == 1 else b"").split(b"\n")
    if len(scan.window) == _WINDOW and len(lines) > 1:
        # The window ends somewhere in a line: a part must not pass for the whole.
        lines.pop()
    lines = lines[: scan.lines - asked.offset + 1]
    body, taken = _fit(lines[: min(asked.limit, bounds.lines)], bounds.bytes)
    last = asked.offset + taken - 1
    notes = _notes(scan, lines[:taken], asked.offset)
    if asked.offset > 1 or last < scan.lines:
        more = f"; continue with offset={last + 1}" if last < scan.lines else ""
        notes.insert(0, f"lines {asked.offset:,}-{last:,} of {scan.lines:,}{more}")
    details |= {"lines": scan.lines, "first": asked.offset, "last": last}
    return Outcome("\n".join([body, *(f"[{note}]" for note in notes)]) or "(empty line)", details=details)


def _fit(lines: list[bytes], room: int) -> tuple[str, int]:
    """Return as many whole lines as `room` bytes hold, at least one, and how many."""
    out: list[str] = []
    for raw in lines:
        line = _line(decode(raw.removesuffix(b"\r")))
        room -= len(line.encode()) + 1
        if room < 0 and out:
            break
        out.append(line)
    return "\n".join(out), len(out)


def _line(line: str) -> str:
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]} […line cut at {LINE_CHARACTERS:,} characters; see the rest with bash: cut -c…]"


def _notes(scan: _Scan, lines: list[bytes], first: int) -> list[str]:
    notes: list[str] = []
    ends = sum(line.endswith(b"\r") for line in lines)
    if ends:
        notes.append("line ends: CRLF" if ends >= len(lines) - 1 else "line ends: mixed CRLF and LF")
    if first == 1 and scan.start.startswith(_BOM):
        notes.append("starts with a UTF-8 byte order mark; edit keeps it")
    try:
        b"\n".join(lines).decode()
    except UnicodeDecodeError as error:
        if len(scan.window) < _WINDOW or error.start < len(scan.window) - 4:
            notes.append("not valid UTF-8: undecodable bytes are shown as \ufffd; edit can change only ASCII parts")
    return notes


READ = Tool(SPEC, Effect.READ, _preview, _run)
