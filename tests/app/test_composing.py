"""The editor's helpers in the app: files, earlier prompts, Vim's keys, arguments, images."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.app.painted import assert_sound, painted
from tests.app.stage import Stage
from tests.app.test_session import room
from tests.app.waiting import page_ready, until
from tui.log.entries import Prompt
from tui.messages import Image
from tui.models.rehearsal.script import ScriptedAnswer
from tui.screens.filter_page import FilterPage
from tui.widgets.recall import PromptHistory
from tui.widgets.vim import VimState

pytestmark = pytest.mark.anyio


async def test_a_file_is_found_and_put_in_and_enter_does_not_send(tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "parser.py").write_text("")
    async with room(tmp_path) as here:
        await here.pilot.press(*"see", "space", "at", *"par")
        await until(here.pilot, lambda: any("src/parser.py" in row for row in painted(here.app.screen)), "the file")
        await here.pilot.press("enter")
        await until(here.pilot, lambda: here.app.main.editor.text == "see @src/parser.py ", "the name")
        assert here.kind(Prompt) == []


async def test_ctrl_r_finds_an_earlier_prompt(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        here.app.main.editor.recall = PromptHistory.of(("fix the parser", "run tests [/red]", "write docs"))
        await here.pilot.press("ctrl+r")
        await page_ready(here.pilot, FilterPage)
        await here.pilot.press(*"tes")
        await until(here.pilot, lambda: not any("write docs" in row for row in painted(here.app.screen)))
        assert_sound(here.app.screen)
        await here.pilot.press("enter")
        await until(here.pilot, lambda: here.app.main.editor.text == "run tests [/red]", "the prompt")


def test_up_walks_what_begins_like_the_draft() -> None:
    history = PromptHistory.of(("fix a", "run", "fix b", "end"))
    history, first = history.older("fix")
    history, second = history.older("ignored")
    assert (first, second) == ("fix b", "fix a")
    assert history.older("x")[1] is None
    history, _ = history.newer()
    assert history.newer()[1] == "fix"


async def test_vim_keys_edit_and_send() -> None:
    app = Stage()
    async with app.run_test(size=(60, 20)) as pilot:
        app.main.editor.vim = VimState()
        await pilot.press(*"one two three", "escape")
        assert any(row.startswith(" ❮") for row in painted(app.screen))
        await pilot.press("0", "d", "w")
        assert app.main.editor.text == "two three"
        await pilot.press("u")
        assert app.main.editor.text == "one two three"
        await pilot.press("A", *"!", "escape", "x", "p")
        assert app.main.editor.text == "one two three!"
        await pilot.press("enter")
        await until(pilot, lambda: app.sent, "the sending")


async def test_an_image_goes_with_the_words_that_name_it(tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 4, 3) + b"rest"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.png").write_bytes(png)
    (tmp_path / "project" / "b.png").write_text("no image")
    async with room(tmp_path) as here:
        await here.use(ScriptedAnswer(text="seen"))
        here.app.main.editor.show_draft("look @a.png @b.png ")
        here.clock.now += 1
        await here.pilot.press("enter")
        here.clock.now += 1
        await here.settled()
        prompt = here.kind(Prompt)[0]
        assert isinstance(prompt, Prompt)
        (image,) = [part for part in prompt.message.content if isinstance(part, Image)]
        assert (image.width, image.height, image.size) == (4, 3, len(png))
        assert await here.link.agent.journal.log.blob(image.sha256) == png
        assert prompt.message.authored == "look @a.png @b.png "
