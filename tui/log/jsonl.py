"""Lines of JSON for scripts: one object a line, UTF-8, safe to look at in a terminal."""

from __future__ import annotations

import base64
import re

import msgspec

from tui.log.entries import Entry, UnknownBody, encode_body
from tui.messages import Json

__all__ = ["as_line", "entry_object"]

# JSON may hold these as they are, but a terminal obeys C1 controls and many readers take NEL and the
# separators for line ends. Outside strings JSON has none of them, so they can be escaped in the bytes.
_ESCAPED = re.compile(b"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]")
_encoder = msgspec.json.Encoder()


def as_line(value: Json) -> bytes:
    """Return `value` as one line of JSON, with its line feed."""
    return _ESCAPED.sub(_escape, _encoder.encode(value)) + b"\n"


def _escape(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def entry_object(entry: Entry) -> dict[str, Json]:
    """Return an entry as `clew log` and the JSON events show it; a body of an unknown kind as it was stored."""
    return {
        "id": entry.id,
        "parent": entry.parent,
        "depth": entry.depth,
        "time": entry.time,
        "kind": entry.kind,
        "body": _body(entry),
    }


def _body(entry: Entry) -> Json:
    _, raw = encode_body(entry.body)
    if not isinstance(entry.body, UnknownBody):
        return msgspec.Raw(raw)
    try:
        msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {"base64": base64.b64encode(raw).decode()}
    return msgspec.Raw(raw.replace(b"\n", b" ").replace(b"\r", b" "))
