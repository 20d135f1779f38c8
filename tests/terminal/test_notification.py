"""A person who looks elsewhere is called, in a real terminal; one who is there is not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.terminal.emulator import CLEW, Emulator

_CALLS = re.compile(rb"\x1b\](?:9|99|777);[^\x07]*\x07\x07?")
BEHIND, FRONT = "\x1b[O", "\x1b[I"


def start(tmp_path: Path, **environ: str) -> Emulator:
    plain = {name: value for name, value in os.environ.items() if name not in ("TMUX", "STY", "KITTY_WINDOW_ID")}
    given = {**plain, "TERM": "xterm-256color", "TERM_PROGRAM": "", "CLEW_NOTIFY_AFTER": "0", **environ}
    app = Emulator(*CLEW, "--no-session", cwd=tmp_path, environ=given)
    app.until("ready")
    app.until(lambda: b"\x1b[?2004h" in app.output)
    return app


def talk(app: Emulator, *before: str) -> None:
    for keys in before:
        app.send(keys)
    app.send("what is this\r")
    app.until("answered")
    app.until("● ready")


def leave(app: Emulator) -> bytes:
    app.send("\x04")
    assert app.end() == 0
    return bytes(app.output)


def test_a_window_behind_is_called_and_its_title_comes_back_with_the_focus(tmp_path: Path) -> None:
    with start(tmp_path) as app:
        talk(app, BEHIND)
        app.until(lambda: b"\x1b]2;clew: the answer is there\x07" in app.output)
        assert _CALLS.findall(bytes(app.output)) == [b"\x1b]9;clew: the answer is there\x07\x07"]
        assert b"\x1b[23;2t" not in app.output
        app.send(FRONT)
        app.until(lambda: b"\x1b[23;2t" in app.output)
        output = leave(app)
        assert len(_CALLS.findall(output)) == 1
        assert output.count(b"\x1b[22;2t") == output.count(b"\x1b[23;2t") == 1


def test_leaving_gives_the_title_back(tmp_path: Path) -> None:
    with start(tmp_path, CLEW_NOTIFY="bell") as app:
        talk(app, BEHIND)
        app.until(lambda: b"\x1b[22;2t" in app.output)
        output = leave(app)
        assert not _CALLS.findall(output)
        assert output.count(b"\x1b[23;2t") == 1
        assert output.index(b"\x1b[23;2t") < output.rindex(b"\x1b[?1049l")


def test_a_window_in_front_is_left_alone(tmp_path: Path) -> None:
    with start(tmp_path) as app:
        talk(app, BEHIND, FRONT)
        output = leave(app)
        assert not _CALLS.findall(output)
        assert b"\x1b[22;2t" not in output


@pytest.mark.parametrize("quiet", [{"CLEW_NOTIFY": "off"}, {"CLEW_NOTIFY_AFTER": "3600"}])
def test_nothing_is_sent_where_nothing_is_wanted(tmp_path: Path, quiet: dict[str, str]) -> None:
    with start(tmp_path, **quiet) as app:
        talk(app, BEHIND)
        output = leave(app)
        assert not _CALLS.findall(output)
        assert b"\x1b[22;2t" not in output
