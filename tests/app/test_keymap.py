"""A person's own keys: from the settings to what a key does, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.test_session import room
from tests.app.waiting import page_ready, until
from tui.screens.bindings import judged
from tui.screens.filter_page import FilterPage
from tui.settings import SettingsError, file_layer, merge
from tui.widgets.hints import KeyHints

pytestmark = pytest.mark.anyio


def test_ids_are_read_with_and_without_quotes() -> None:
    text = b'[keys]\n"editor.undo" = "f9"\neditor.redo = "f10"\napp.help = "ctrl+h,f1"\n'
    assert merge((file_layer(text, "s"),)).keys == {"editor.undo": "f9", "editor.redo": "f10", "app.help": "ctrl+h,f1"}
    with pytest.raises(SettingsError, match="it must be a text"):
        file_layer(b"[keys]\napp.help = 1\n", "s")


@pytest.mark.parametrize(
    ("name", "keys", "said"),
    [
        ("editor.zap", "f9", "no binding"),
        ("editor.undo", "hyper+x", "no key"),
        ("editor.undo", "ctrl+y", "editor.redo would both be on ctrl+y"),
        ("editor.undo", "f1", "app.help would both"),
        ("app.help", "ctrl+z", "editor.undo would both"),
    ],
)
def test_what_cannot_be_used_is_said_and_stays_as_it_was(name: str, keys: str, said: str) -> None:
    used, notices = judged({name: keys})
    assert used == {}
    assert len(notices) == 1
    assert said in notices[0]


def test_keys_may_be_exchanged_and_used_again_elsewhere() -> None:
    wanted = {"editor.undo": "ctrl+y", "editor.redo": "ctrl+z", "browse.copy": "ctrl+x"}
    assert judged(wanted) == (wanted, [])


async def test_a_key_does_what_the_settings_say(tmp_path: Path) -> None:
    wanted = {"editor.undo": "f9", "app.help": "f8", "editor.zap": "f7"}
    async with room(tmp_path, keymap=wanted) as here:
        editor = here.app.main.editor
        editor.show_draft("words")
        editor.history.checkpoint()
        editor.show_draft("words more")
        await here.pilot.press("ctrl+z")
        assert editor.text == "words more"
        await here.pilot.press("f9")
        assert editor.text == "words"
        assert "F8 help" in here.app.main.query_one(KeyHints).render().plain
        await here.pilot.press("f8")
        await page_ready(here.pilot, FilterPage)
        await here.pilot.press("escape")
        await until(here.pilot, lambda: here.app.screen is here.app.main)
