"""Large or odd pastes stand in the editor as a chip; what is sent is always the whole text.

A chip is one word of the editor's text, `⟦pasted 10,000 lines · 1⟧`. It is inserted, deleted and
undone as one; the bytes behind it never pass through the editor, which can hold neither a carriage
return nor a control character without changing it (mistral-vibe#174, fish-shell#6603).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tui.messages import Attachment, Text

__all__ = ["LIMIT_CHARACTERS", "LIMIT_LINES", "covering", "is_odd", "label", "must_fold", "parts", "pasted", "whole"]

LIMIT_LINES = 12
LIMIT_CHARACTERS = 2_000

_CHIP = re.compile(r"⟦pasted [0-9,]+ (?:lines?|characters) · [0-9]+⟧")
# Everything str.splitlines breaks at besides \n, and all other control characters but tab: the
# editor would change them, or the terminal would obey them.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def pasted(text: str) -> str:
    """Return pasted text with the terminal's line ends undone.

    Terminals and tmux send each newline of the clipboard as CR. Text that still holds an LF came
    through as it was, and stays byte for byte.
    """
    return text if "\n" in text else text.replace("\r", "\n")


def is_odd(text: str) -> bool:
    """Return whether the editor cannot hold `text` as it is, however short."""
    return _ODD.search(text) is not None


def must_fold(text: str) -> bool:
    """Return whether `text` cannot, or should not, stand in the editor as it is."""
    return (
        len(text) > LIMIT_CHARACTERS
        or text.count("\n") >= LIMIT_LINES
        or _ODD.search(text) is not None
        or _CHIP.search(text) is not None
    )


def label(text: str, number: int) -> str:
    """Return the word that stands for `text`."""
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > 1:
        return f"⟦pasted {lines:,} lines · {number}⟧"
    return f"⟦pasted {len(text):,} characters · {number}⟧"


def covering(line: str, column: int, chips: Mapping[str, str], *, inside: bool = True) -> tuple[int, int] | None:
    """Return the columns of the chip of this line that `column` is in, or None. At its start is not `inside`."""
    for match in _CHIP.finditer(line):
        if match.group() in chips and match.start() + inside <= column < match.end():
            return match.span()
    return None


def whole(text: str, chips: Mapping[str, str]) -> str:
    """Return the editor's text with each chip replaced by what it stands for."""
    return _CHIP.sub(lambda match: chips.get(match.group(), match.group()), text)


def parts(text: str, chips: Mapping[str, str]) -> tuple[Text | Attachment, ...]:
    """Return the editor's text as message parts: authored words, and each chip as matter beside them."""
    found: list[Text | Attachment] = []
    at = 0
    for match in _CHIP.finditer(text):
        behind = chips.get(match.group())
        if behind is None:
            continue
        if match.start() > at:
            found.append(Text(text[at : match.start()]))
        found.append(Attachment(name=match.group().strip("⟦⟧"), text=behind))
        at = match.end()
    if at < len(text) or not found:
        found.append(Text(text[at:]))
    return tuple(found)
