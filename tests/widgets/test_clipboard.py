from __future__ import annotations

import base64

import pytest

from tui.widgets.clipboard import MOST, native_commands, osc52

TEXT = "a [/red]\nä 日\x1b[31m"


def encoded(text: str) -> str:
    return f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"


def test_the_terminal_gets_one_sequence_whatever_is_in_the_text() -> None:
    assert osc52(TEXT, {}) == encoded(TEXT)


def test_tmux_passes_it_on_and_may_take_it_itself() -> None:
    assert osc52("x", {"TMUX": "/tmp/t,1,0"}) == f"\x1bPtmux;\x1b{encoded('x')}\x1b\\{encoded('x')}"


def test_screen_gets_it_in_pieces_it_can_hold() -> None:
    sent = osc52("x" * 2_000, {"STY": "1.pts"})
    pieces = sent.split("\x1b\\")
    assert all(len(piece) <= 768 for piece in pieces)
    assert "".join(piece.removeprefix("\x1bP") for piece in pieces) == encoded("x" * 2_000)


def test_too_much_is_not_sent_at_all() -> None:
    assert osc52("x" * (MOST + 1), {}) == ""


@pytest.mark.parametrize(
    ("environ", "platform", "first"),
    [
        ({}, "linux", ()),
        ({}, "darwin", ("pbcopy",)),
        ({"SSH_CONNECTION": "1 2 3 4"}, "darwin", ()),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", ("wl-copy",)),
        ({"SSH_CONNECTION": "1 2 3 4", "DISPLAY": "localhost:10"}, "linux", ("xclip", "-selection", "clipboard")),
        ({"TMUX": "x", "DISPLAY": ":0"}, "linux", ("tmux", "load-buffer", "-w", "-")),
        ({"WSL_DISTRO_NAME": "Ubuntu"}, "linux", ("clip.exe",)),
    ],
)
def test_programs_that_reach_this_persons_clipboard(
    environ: dict[str, str], platform: str, first: tuple[str, ...]
) -> None:
    assert next(iter(native_commands(environ, platform)), ()) == first
