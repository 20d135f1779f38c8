"""Lines of JSON for scripts: one object a line, UTF-8, safe to look at in a terminal."""

from __future__ import annotations

import base64
import re

import msgspec

from tui.log.entries import Body, Entry, UnknownBody, encode_body
from tui.messages import Json

__all__ = ["as_line", "entry_object", "exact_text", "raw_body", "shown_body", "text_of"]

# JSON may hold these as they are, but a terminal obeys C1 controls and many readers take NEL and the
# separators for line ends. Outside strings JSON has none of them, so they can be escaped in the bytes.
_ESCAPED = re.compile(b"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]")
_ESCAPES = re.compile(rb"((?<!\\)(?:\\\\)*)\\u(007f|00[89][0-9a-f]|2028|2029)")
_encoder = msgspec.json.Encoder()


class _Line(msgspec.Struct):
    """A line as far as its body goes."""

    body: msgspec.Raw


class _Base64(msgspec.Struct, forbid_unknown_fields=True):
    """Bytes that are no text that could stand in a line as they are."""

    base64: bytes


_line_decoder = msgspec.json.Decoder(_Line)
_base64_decoder = msgspec.json.Decoder(_Base64)


def as_line(value: Json) -> bytes:
    """Return `value` as one line of JSON, with its line feed."""
    return _ESCAPED.sub(_escape, _encoder.encode(value)) + b"\n"


def _escape(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def _unescape(match: re.Match[bytes]) -> bytes:
    return match[1] + chr(int(match[2], 16)).encode()


def entry_object(entry: Entry) -> dict[str, Json]:
    """Return an entry as `clew log` and the JSON events show it; a body of an unknown kind as it was stored."""
    return {
        "id": entry.id,
        "parent": entry.parent,
        "depth": entry.depth,
        "time": entry.time,
        "kind": entry.kind,
        "body": shown_body(encode_body(entry.body)[1]) if isinstance(entry.body, UnknownBody) else _known(entry.body),
    }


def _known(body: Body) -> Json:
    return msgspec.Raw(encode_body(body)[1])


def shown_body(raw: bytes) -> Json:
    """Return stored bytes as they stand in a line: the JSON itself where `raw_body` gets it back, else base64."""
    try:
        line = as_line({"body": msgspec.Raw(raw)})
        msgspec.json.decode(raw)
        exact = line.count(b"\n") == 1 and raw_body(bytes(_line_decoder.decode(line).body)) == raw
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        exact = False
    return msgspec.Raw(raw) if exact else {"base64": base64.b64encode(raw).decode()}


def raw_body(shown: bytes) -> bytes:
    """Return the stored bytes of which `shown` is the form in a line."""
    if shown.startswith(b'{"base64":'):
        try:
            return _base64_decoder.decode(shown).base64
        except msgspec.MsgspecError:
            return shown
    return _ESCAPES.sub(_unescape, shown)


def exact_text(raw: bytes) -> Json:
    """Return bytes that should be UTF-8 as a string, else as base64: a folder's name may be any bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def text_of(value: Json) -> bytes | None:
    """Return the bytes `exact_text` was made from; None where it was not made by it."""
    try:
        return msgspec.convert(value, _Base64).base64 if isinstance(value, dict) else str(value).encode()
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None
