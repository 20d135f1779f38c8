r"""The one sanitiser: every string that is not our own passes here on its way to the screen.

Two readings. The plain one removes: whole escape sequences (nothing like `[1;1H` remains), controls,
bidirectional overrides; it is for text to be read. The visible one (`visible=True`) removes nothing and
shows every character that does not print as `\x1b` or `\u202e`; it is for commands, paths and titles,
where what is shown must be what is run. Neither ever looks at markup: `[/red]` is text.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from rich.cells import get_character_cell_size

__all__ = ["TAB", "CarriageReturn", "StreamSanitiser", "one_line", "sanitise"]

TAB = 4
"""Cells between tab stops."""

CarriageReturn: TypeAlias = Literal["overwrite", "newline"]
"""What a lone CR means: `overwrite` for output of programs (the last state of a progress line wins),
`newline` for words of a person or a model."""

# A string sequence (OSC, DCS, APC, PM, SOS) ends at BEL, ST, CAN or SUB; an unterminated one ends with its
# line, so that a forgotten terminator cannot swallow an answer. Controls inside a CSI belong to it.
_SEQUENCE = re.compile(
    r"(?P<string>\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\x18\x1a\n]*(?P<st>\x07|\x1b\\|[\x9c\x18\x1a])?"
    r"|(?P<csi>\x1b\[|\x9b)[0-?\x00-\x09\x0b-\x17\x19\x1c-\x1f]*[ -/\x00-\x09\x0b-\x17\x19\x1c-\x1f]*(?P<final>[@-~])?"
    r"|\x1b[ -/]*(?P<escape>[0-~])?"
)
_INTRODUCER = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
_SUSPECT = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200d\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_JOINER = "\u200d"
_LINE_END = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_DROPPED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A joiner binds emoji; elsewhere Rich counts it and what follows as nothing, and no terminal does.
_LOOSE_JOINER = re.compile(
    "(?<![\u00a9\u00ae\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d|\u200d(?![\u2190-\u2bff\U0001f000-\U0001faff])"
)
_OVERSTRIKE = re.compile("[^\n\b]\b")
_CRLF = re.compile("\r+\n")
# Letters and marks that print as nothing: isprintable() says yes to them, the eye says no.
_BLANK_LETTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def sanitise(text: str | bytes, *, cr: CarriageReturn = "overwrite", visible: bool = False) -> str:
    """Return `text` fit for the screen: line ends are LF, tabs are spaces, no control is left.

    Bytes are read as UTF-8; a byte of the C1 range that is no UTF-8 counts as the control it is.
    With `visible`, what does not print is shown by its number and `cr` has no meaning.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if visible:
        return _visible(text)
    if _is_clean(text):
        return text
    plain = _strip_sequences(_plain_surrogates(text))
    plain = _overwrite(plain) if cr == "overwrite" else plain.replace("\r\n", "\n").replace("\r", "\n")
    plain = _bound(_DROPPED.sub("", _LINE_END.sub("\n", plain)))
    return _expand(plain, 0)[0] if "\t" in plain else plain


def one_line(text: str, limit: int = 0) -> str:
    """Return `text` on one line, everything odd made visible; longer than `limit` characters is cut with `…`.

    For titles, paths and commands in a header. The cut comes first: a line of 1 MB costs nothing.
    """
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"
    shown = _visible(text.replace("\r\n", "\n"))
    return shown.replace("\n", "↵") if "\n" in shown else shown


class StreamSanitiser:
    """`sanitise(…, cr="newline")` for text that comes in pieces: any cutting gives the same text.

    What could be the start of a sequence is held back, in bounded space, until it is decided.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._after_cr = False
        self._column = 0
        self._last = ""
        self._held = ""
        """A joiner at the end, which waits for what it joins."""

    def feed(self, text: str) -> str:
        """Return what of `text` (and of what was held back) can be shown now."""
        if not self._pending and not self._after_cr and _is_clean(text):
            return self._joined(text)
        text = _plain_surrogates(self._pending + text)
        text, self._pending = _split_pending(text)
        plain = _strip_sequences(text)
        if not plain:
            return ""
        if self._after_cr and plain[0] == "\n":
            plain = plain[1:]
            self._after_cr = False
            if not plain:
                return ""
        self._after_cr = plain[-1] == "\r"
        plain = plain.replace("\r\n", "\n").replace("\r", "\n")
        return self._joined(_DROPPED.sub("", _LINE_END.sub("\n", plain)))

    def _joined(self, text: str) -> str:
        """Return `text` without loose joiners and tabs; a joiner at its end waits for what it joins."""
        whole = self._last + self._held + text
        self._held = _JOINER if whole.endswith(_JOINER) else ""
        whole = whole.removesuffix(_JOINER)
        shown = _bound(whole)[self._last not in ("", _JOINER) :]
        self._last = whole[-1:]
        shown, self._column = _expand(shown, self._column)
        return shown


def _is_clean(text: str) -> bool:
    if text.isascii() and text.replace("\n", "").isprintable():
        return True
    return _SUSPECT.search(text) is None


def _plain_surrogates(text: str) -> str:
    """Turn a byte that was no UTF-8 into the C1 control it would be to a terminal, or into U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return _SURROGATE.sub(lambda m: chr(ord(m[0]) - 0xDC00) if 0xDC80 <= ord(m[0]) < 0xDCA0 else "\ufffd", text)


def _bound(text: str) -> str:
    return _LOOSE_JOINER.sub("", text) if _JOINER in text else text


def _strip_sequences(text: str) -> str:
    return _SEQUENCE.sub("", text) if _INTRODUCER.search(text) else text


def _split_pending(text: str) -> tuple[str, str]:
    """Cut off an undecided sequence at the end; its body is dropped at once, so that what is held stays short."""
    if _INTRODUCER.search(text) is None:
        return text, ""
    *_, last = _SEQUENCE.finditer(text)
    start, end = last.span()
    head = last["string"]
    if head is not None and not last["st"]:
        if end == len(text):
            return text[:start], head
        # A lone ESC at the very end of a string may be the first half of its terminator.
        return text, ""
    if last["csi"] is not None and last["final"] is None and end == len(text):
        tail = text[end - 1] if " " <= text[end - 1] <= "/" else ""
        return text[:start], last["csi"] + tail
    if (
        last[0].startswith("\x1b")
        and last["csi"] is None
        and head is None
        and last["escape"] is None
        and end == len(text)
    ):
        return _hold_escape(text, start)
    return text, ""


def _hold_escape(text: str, start: int) -> tuple[str, str]:
    for before in _SEQUENCE.finditer(text, 0, start):
        if before.end() == start and before["string"] is not None and not before["st"]:
            return text[: before.start()], before["string"] + text[start:]
    return text[:start], text[start:][:2]


def _overwrite(text: str) -> str:
    """Backspaces rub out, and of the states of a progress line the last non-empty one stays."""
    while "\b" in text:
        rubbed = _OVERSTRIKE.sub("", text)
        if rubbed == text:
            break
        text = rubbed
    if "\r" not in text:
        return text
    lines = _CRLF.sub("\n", text).split("\n")
    return "\n".join(_last_state(line) if "\r" in line else line for line in lines)


def _last_state(line: str) -> str:
    for state in reversed(line.split("\r")):
        if state:
            return state
    return ""


def _cells(text: str) -> int:
    """Cells as a plain sum over characters: additive, so that it does not matter where a stream is cut."""
    return len(text) if text.isascii() else sum(map(get_character_cell_size, text))


def _expand(text: str, column: int) -> tuple[str, int]:
    """Return `text` with tabs as spaces, and the column after it; `column` is where it begins."""
    if "\t" not in text:
        at = text.rfind("\n")
        return text, _cells(text[at + 1 :]) + (column if at < 0 else 0)
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        column = column if number == 0 else 0
        parts: list[str] = []
        first, *rest = line.split("\t")
        parts.append(first)
        column += _cells(first)
        for part in rest:
            gap = TAB - column % TAB
            parts.append(" " * gap + part)
            column += gap + _cells(part)
        lines.append("".join(parts))
    return "\n".join(lines), column


def _visible(text: str) -> str:
    if text.isprintable() and (text.isascii() or _BLANK_LETTERS.search(text) is None):
        return text
    text = text.replace("\r\n", "\n")
    shown = "".join(
        c if c in "\n\t" or (c.isprintable() and (c.isascii() or not _BLANK_LETTERS.match(c))) else _number(c)
        for c in text
    )
    return _expand(shown, 0)[0] if "\t" in shown else shown


def _number(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
