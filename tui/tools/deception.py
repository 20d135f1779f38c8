"""Characters that make a text look like another one: found, named, and shown as escapes.

What a person approves must be what is run (deepagents#1694).
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["deceptive", "visible"]

_KINDS: tuple[tuple[str, str], ...] = (
    ("text direction controls", "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"),
    ("zero-width characters", "\u00ad\u034f\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff"),
    ("tag characters", "\U000e0000-\U000e0fff"),
    ("blank letters", "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"),
    ("unusual spaces or line ends", "\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"),
    ("control characters", "\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f"),
    ("undecodable bytes", "\ud800-\udfff"),
    ("annotation characters", "\ufff9-\ufffb"),
)
_FINDERS = tuple((name, re.compile(f"[{characters}]")) for name, characters in _KINDS)
_ANY = re.compile("[" + "".join(characters for _, characters in _KINDS) + "]")
# A joiner inside an emoji is what it is for: two pictures around it.
_EMOJI_JOINER = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_HOST = re.compile(r"(?:://(?:[^/\s'\"@]*@)?|@)([^\s/'\":?#)]+)|([^\W_]+(?:[.-][^\W_]+)+)")
_WORD = re.compile(r"[^\W\d_]+")
_LOOKALIKE = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})


def _script(character: str) -> str:
    name = unicodedata.name(character, "")
    if name.startswith(("FULLWIDTH", "MATHEMATICAL")):
        return "STYLED"
    return name.split(" ", 1)[0]


def _foreign(text: str) -> set[int]:
    """Return the offsets of letters that look Latin, stand in a word or host with Latin letters, and are not."""
    if text.isascii():
        return set()
    found: set[int] = set()
    for finder in (_HOST, _WORD):
        for match in finder.finditer(text):
            scripts = {at: _script(text[at]) for at in range(match.start(), match.end()) if text[at].isalpha()}
            if "LATIN" in scripts.values() or finder is _HOST:
                found |= {at for at, script in scripts.items() if script == "STYLED"}
            if "LATIN" in scripts.values():
                found |= {at for at, script in scripts.items() if script in _LOOKALIKE}
    return found


def deceptive(text: str) -> str:
    """Return one line that names what in `text` is not what it looks like; "" where nothing is."""
    checked = _EMOJI_JOINER.sub("", text)
    kinds = [name for name, finder in _FINDERS if finder.search(checked)]
    if _foreign(text):
        kinds.append("letters of another script that look like Latin ones")
    return f"Look twice: it holds {', '.join(kinds)} (shown as escapes)." if kinds else ""


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if short:
        return short
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, one_line: bool = False) -> str:
    """Return `text` with every deceptive character as an escape; with `one_line`, newlines and tabs too."""
    if text.isascii() and text.isprintable():
        return text
    joiners = {match.start() for match in _EMOJI_JOINER.finditer(text)}
    foreign = _foreign(text)

    def escaped(at: int, character: str) -> bool:
        if character in "\n\t":
            return one_line
        return at in foreign or (at not in joiners and _ANY.match(character) is not None)

    return "".join(_escape(c) if escaped(at, c) else c for at, c in enumerate(text))
