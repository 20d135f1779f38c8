"""Images by their first bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.pictures import Picture, picture

JPEG = b"\xff\xd8\xff\xe1\x00\x06Exif\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 480, 640) + b"\x03"


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 3, 2), Picture("image/png", 3, 2)),
        (b"\x89PNG\r\n\x1a\n", Picture("image/png", 0, 0)),
        (b"GIF89a" + struct.pack("<HH", 7, 5), Picture("image/gif", 7, 5)),
        (b"GIF87a\x01", Picture("image/gif", 0, 0)),
        (JPEG, Picture("image/jpeg", 640, 480)),
        (b"\xff\xd8\xff\xe0\0\x10", Picture("image/jpeg", 0, 0)),
        (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x04\0\0", Picture("image/webp", 10, 5)),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 20, 10), Picture("image/webp", 20, 10)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 9 | 4 << 14) + bytes(9), Picture("image/webp", 10, 5)),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"BM", None),
        (b"", None),
        (b"text", None),
    ],
)
def test_kinds(start: bytes, found: Picture | None) -> None:
    assert picture(start) == found


@given(
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X"]), st.binary(max_size=60)
)
def test_damage_never_raises(start: bytes, rest: bytes) -> None:
    assert picture(start + rest) is not None
    picture(rest)
