"""Lines of JSON as values: what `clew export` wrote, or the listing of `clew log`, read without believing any of it.

A line that cannot be used becomes a named fault with its number; the next ones are read all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Literal, TypeAlias

import msgspec

from tui.log.exporting import FORMAT
from tui.log.jsonl import raw_body, text_of
from tui.messages import Json

__all__ = ["BlobLine", "EndLine", "EntryLine", "Fault", "HeaderLine", "Line", "LineFault", "read_lines"]

Fault: TypeAlias = Literal[
    "not-json",
    "foreign",
    "newer-format",
    "too-long",
    "bad-blob",
    "duplicate-id",
    "id-taken",
    "parent-lost",
    "leaf-lost",
    "second-header",
    "cut-short",
]
LONGEST = 2**29
"""Bytes of one line: SQLite holds no more of one entry."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SESSION = re.compile(r"[0-9a-f]{32}")


class LineFault(msgspec.Struct, frozen=True):
    """A line that was not taken as it is, counted from 1, and what was made of it."""

    line: int
    fault: Fault
    text: str


class HeaderLine(msgspec.Struct, frozen=True):
    """What stands in the session's row. Texts are bytes: they may be no UTF-8."""

    id: str
    title: bytes
    cwd: bytes
    created: int
    updated: int
    leaf: str | None
    forked_from: str | None
    forked_at: str | None


class EntryLine(msgspec.Struct, frozen=True):
    """An entry as it was stored. `ref` is None where it follows from the body."""

    id: str
    parent: str | None
    depth: int
    """As it was; -1 where it is not said."""
    time: int
    kind: str
    ref: str | None
    body: bytes


class BlobLine(msgspec.Struct, frozen=True):
    """Stored bytes by their hash."""

    sha256: str
    data: bytes


class EndLine(msgspec.Struct, frozen=True):
    """The file is complete, with this many entries."""

    entries: int


Line: TypeAlias = HeaderLine | EntryLine | BlobLine | EndLine | LineFault


class _Raw(msgspec.Struct):
    """Every key of any line."""

    clew: str = ""
    format: int = 0
    id: str = ""
    title: Json = ""
    cwd: Json = ""
    created: int = 0
    updated: int = 0
    leaf: str | None = None
    forked_from: str | None = None
    forked_at: str | None = None
    parent: str | None = None
    depth: int = -1
    time: int | None = None
    kind: str | None = None
    ref: str | None = None
    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    blob: str = ""
    base64: bytes = b""
    lost: str = ""
    entries: int = 0


_decoder = msgspec.json.Decoder(_Raw)


def read_lines(file: BinaryIO) -> Iterator[tuple[int, Line]]:
    """Yield each line with its number; blank ones are passed over. Raises `OSError`.

    Lines end at LF alone: U+2028 and its like may stand inside (copilot-cli#2649).
    """
    number = 0
    while raw := file.readline(LONGEST + 1):
        number += 1
        if len(raw) > LONGEST and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(LONGEST)
            yield number, LineFault(number, "too-long", f"It has more than {LONGEST:,} bytes. It was left out.")
            continue
        raw = raw.strip(b" \t\r\n")
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if raw:
            yield number, _line(number, raw)


def _line(number: int, raw: bytes) -> Line:
    try:
        found = _decoder.decode(raw)
    except (msgspec.ValidationError, RecursionError):
        return LineFault(number, "foreign", "It is JSON, but no line of ours. It was left out.")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        nul = not raw.strip(b"\0")
        what = "It holds nothing but NUL bytes" if nul else "It is cut or damaged: no JSON object"
        return LineFault(number, "not-json", f"{what}. It was left out.")
    return _meaning(number, found)


def _meaning(number: int, found: _Raw) -> Line:
    if found.format > FORMAT:
        what = f"It has format {found.format}, and this version of clew reads up to {FORMAT}."
        return LineFault(number, "newer-format", what)
    if found.clew == "session":
        return _header(number, found)
    if found.clew == "end":
        return EndLine(found.entries)
    if found.blob:
        if found.lost:
            return LineFault(number, "bad-blob", f"A blob was left out of the file ({found.lost}).")
        return BlobLine(found.blob, found.base64)
    return _entry(number, found)


def _header(number: int, found: _Raw) -> Line:
    title, cwd = text_of(found.title), text_of(found.cwd)
    if not _SESSION.fullmatch(found.id) or title is None or cwd is None:  # an id becomes a folder's name
        return LineFault(number, "foreign", "It begins like a session, but it is none of ours.")
    stamps = (found.created, found.updated)
    return HeaderLine(found.id, title, cwd, *stamps, found.leaf, found.forked_from, found.forked_at)


def _entry(number: int, found: _Raw) -> Line:
    body = found.body
    whole = found.time is not None and abs(found.time) < 2**62 and found.kind
    if not whole or isinstance(body, msgspec.UnsetType) or not _ID.fullmatch(found.id):
        return LineFault(number, "foreign", "It is JSON, but no line of ours. It was left out.")
    assert found.time is not None
    return EntryLine(
        found.id, found.parent, found.depth, found.time, found.kind or "", found.ref, raw_body(bytes(body))
    )
