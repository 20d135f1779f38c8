"""Images by their first bytes: type and size in pixels, read from the header alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

__all__ = ["HEADER_BYTES", "MAX_ENCODED_BYTES", "Picture", "picture"]

HEADER_BYTES = 1 << 20
"""How much of a file `picture` wants to see: a JPEG's size may stand behind its metadata."""
MAX_ENCODED_BYTES = 5 * 1024 * 1024
"""Largest image that is sent, in base64."""

MediaType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class Picture(msgspec.Struct, frozen=True):
    """What an image's header says. Width and height are 0 where it is damaged."""

    media_type: MediaType
    width: int
    height: int


def picture(start: bytes) -> Picture | None:
    """Return what kind of image starts with these bytes, or None. Never raises."""
    readers: tuple[tuple[MediaType, Callable[[bytes], tuple[int, int] | None]], ...] = (
        ("image/png", _png),
        ("image/gif", _gif),
        ("image/jpeg", _jpeg),
        ("image/webp", _webp),
    )
    for media_type, read in readers:
        size = read(start)
        if size is not None:
            return Picture(media_type, *size)
    return None


def _png(start: bytes) -> tuple[int, int] | None:
    if not start.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    return struct.unpack(">II", start[16:24]) if start[12:16] == b"IHDR" and len(start) >= 24 else (0, 0)


def _gif(start: bytes) -> tuple[int, int] | None:
    if not start.startswith((b"GIF87a", b"GIF89a")):
        return None
    return struct.unpack("<HH", start[6:10]) if len(start) >= 10 else (0, 0)


def _jpeg(start: bytes) -> tuple[int, int] | None:
    if not start.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while at + 9 <= len(start) and start[at] == 0xFF:
        kind = start[at + 1]
        if kind == 0xFF:  # fill byte
            at += 1
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", start[at + 5 : at + 9])
            return width, height
        elif kind in (0x01, *range(0xD0, 0xD9)):
            at += 2
        else:
            at += 2 + int.from_bytes(start[at + 2 : at + 4], "big")
    return 0, 0


def _webp(start: bytes) -> tuple[int, int] | None:
    if start[:4] != b"RIFF" or start[8:12] != b"WEBP":
        return None
    if len(start) < 30:
        return 0, 0
    match start[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(start[24:27], "little"), 1 + int.from_bytes(start[27:30], "little")
        case b"VP8 ":
            width, height = struct.unpack("<HH", start[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(start[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case _:
            return 0, 0
