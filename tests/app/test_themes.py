from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.app.stage import options
from tui.app import ClewApp
from tui.resources import theme_files, themes_folder
from tui.widgets.theme import ThemeError
from tui.widgets.themes import DEFAULT_NAME, TERMINAL_NAME, choose_theme, fallback_name, read_theme


@pytest.mark.parametrize("path", theme_files(), ids=lambda path: path.stem)
def test_every_shipped_theme_is_valid(path: Path) -> None:
    theme = read_theme(path)
    assert theme.about
    assert theme.textual(path.stem).name == path.stem


def test_the_four_themes_ship() -> None:
    assert {"clew-dark", "clew-light", "high-contrast", "terminal"} <= {path.stem for path in theme_files()}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("about = ", "cannot be used"),
        ("about = 'x'", "chrome"),
        ("\xff\xfe", "cannot be used"),
        ("about = 'x'\nodd = 1", "odd"),
    ],
)
def test_a_broken_theme_gives_one_notice_and_the_default(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "mine.toml").write_bytes(text.encode("latin-1"))
    name, _, notice = choose_theme("mine", (themes_folder(), tmp_path))
    assert name == DEFAULT_NAME
    assert "mine.toml" in notice
    assert says in notice
    assert "\n" not in notice.strip() or "toml" in notice


def test_wrong_colours_and_roles_are_named(tmp_path: Path) -> None:
    good = (themes_folder() / "clew-dark.toml").read_text()
    (tmp_path / "a.toml").write_text(good.replace("#101216", "#zz"))
    (tmp_path / "b.toml").write_text(good + "\n[transcript]\nnonsense = 'red'\n")
    for name, word in (("a", "#zz"), ("b", "nonsense")):
        with pytest.raises(ThemeError, match=word):
            read_theme(tmp_path / f"{name}.toml")


@pytest.mark.parametrize("name", ["nope", "../secret", "a/b", "[/red]", "x" * 500])
def test_an_unknown_name_gives_one_notice_with_the_names_there_are(name: str) -> None:
    chosen, _, notice = choose_theme(name, (themes_folder(),))
    assert chosen == DEFAULT_NAME
    assert "clew-light" in notice


def test_the_users_theme_wins_over_the_shipped_one(tmp_path: Path) -> None:
    text = (themes_folder() / "clew-dark.toml").read_text().replace("Calm and dark", "Mine")
    (tmp_path / "clew-dark.toml").write_text(text)
    assert choose_theme("", (themes_folder(), tmp_path))[1].about.startswith("Mine")


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"TERM": "xterm-256color"}, DEFAULT_NAME),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, DEFAULT_NAME),
        ({"TERM": "xterm"}, TERMINAL_NAME),
        ({"TERM": "linux"}, TERMINAL_NAME),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": ""}, TERMINAL_NAME),
    ],
)
def test_the_theme_follows_the_terminal(environ: dict[str, str], name: str) -> None:
    assert fallback_name(environ) == name


class Still(ClewApp):
    """Shows its first screen and opens no session."""

    def _start(self) -> None:
        return


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["clew-dark", "clew-light"])
async def test_the_first_theme_is_worn_as_one_that_is_chosen_later(name: str) -> None:
    first, later = Still(msgspec.structs.replace(options(), theme=name)), Still(options())
    async with first.run_test(), later.run_test() as pilot:
        other = "clew-dark" if name == "clew-light" else "clew-light"
        for each in (other, name):
            later.use_theme(each)
            await pilot.pause()
        assert first.theme == later.theme == name
        assert first.classes == later.classes
        assert first.screen.background_colors == later.screen.background_colors
        assert first.main.editor.styles.color == later.main.editor.styles.color
