"""Putting text on the clipboard: what the terminal is told, and which programs of the system can do it.

A terminal never says whether it obeyed OSC 52; a program's exit status does. So only the latter lets
anybody say "copied".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

__all__ = ["MOST", "native_commands", "osc52"]

MOST = 74_000
"""Bytes a terminal is given at most: with more, several drop all of it."""


def osc52(text: str, environ: Mapping[str, str]) -> str:
    """Return the sequence that asks the terminal to copy, wrapped for tmux or screen; empty for too much text."""
    data = text.encode("utf-8", "replace")
    if len(data) > MOST:
        return ""
    plain = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if environ.get("TMUX"):
        # Doubled escapes are tmux's pass-through; the plain form is for `set-clipboard on`.
        return f"\x1bPtmux;\x1b{plain}\x1b\\{plain}"
    if environ.get("STY"):
        # screen takes 768 bytes of a pass-through at a time.
        pieces = (plain[at : at + 700] for at in range(0, len(plain), 700))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def native_commands(environ: Mapping[str, str], platform: str) -> Sequence[tuple[str, ...]]:
    """Return the commands that may put their input on this person's clipboard, best first.

    Over SSH the programs of the far machine have another clipboard, but for those that speak X.
    """
    far = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    commands: list[tuple[str, ...]] = []
    if environ.get("TMUX"):
        commands.append(("tmux", "load-buffer", "-w", "-"))
    if platform == "darwin" and not far:
        commands.append(("pbcopy",))
    if environ.get("WAYLAND_DISPLAY") and not far:
        commands.append(("wl-copy",))
    if environ.get("DISPLAY"):
        commands += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if environ.get("WSL_DISTRO_NAME") and not far:
        commands.append(("clip.exe",))
    return commands
