"""Foreign text made safe for a plain terminal or a pipe: no control character gets through.

For everything that is printed outside the full screen. Identifiers count as foreign too: model ids,
session titles and file names come from servers and strangers (llama.cpp#28969).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["needs_ascii", "plain_line", "plain_text"]

_REPLACEMENT = "\ufffd"
_C0_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)}
_C1 = dict.fromkeys(range(128, 160), _REPLACEMENT)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Overrides and isolates can show a name in another order than it has; in prose they are letters' business.
_BIDI = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT)
_CONTROLS = {**_C0_PICTURES, **_C1, 0x7F: "\u2421"}
_IN_TEXT = {code: shown for code, shown in _CONTROLS.items() if chr(code) not in "\n\t"}
_IN_LINE = {**_CONTROLS, **_BIDI, 0x2028: " ", 0x2029: " ", 0x09: " "}


def plain_text(text: str) -> str:
    """Return `text` with line feeds and tabs kept and every other control character shown as a picture.

    CR LF becomes LF; a lone CR is shown, since it could write over what stands on its line.
    """
    return _SURROGATES.sub(_REPLACEMENT, text.replace("\r\n", "\n").translate(_IN_TEXT))


def plain_line(text: str, limit: int = 400) -> str:
    """Return `text` as one line of at most `limit` characters, without controls or direction overrides."""
    line = _SURROGATES.sub(_REPLACEMENT, text[: limit + 1].translate(_IN_LINE))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def needs_ascii(environ: Mapping[str, str]) -> bool:
    """Return whether this terminal should get ASCII alone: asked for, or a locale that is not UTF-8."""
    if environ.get("CLEW_ASCII", "") not in ("", "0"):
        return True
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    # An empty locale says nothing (macOS over ssh); only one that names another encoding, or plain C, does.
    return locale in ("C", "POSIX") or ("." in locale and "utf" not in locale.lower())
