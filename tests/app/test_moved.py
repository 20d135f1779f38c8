"""A first start in a directory that was renamed: it asks, and does nothing by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import ENVIRON
from tests.app.waiting import page_ready, until
from tests.log.kit import prompt
from tui.agent.session import SessionOptions
from tui.agent.shelf import Shelf
from tui.app import ClewApp
from tui.log import Store
from tui.models.factory import ModelChoice
from tui.resources import themes_folder
from tui.screens.options import AppOptions
from tui.screens.pages import PickPage
from tui.widgets.recall import history_file, remember

pytestmark = pytest.mark.anyio


async def renamed(tmp_path: Path) -> str:
    """Leave a session in a directory and rename that."""
    (tmp_path / "old").mkdir()
    async with await Store.open(tmp_path / "home", tmp_path / "old") as store:
        session = await store.create(cwd=tmp_path, first=[prompt("the blue heron")])
        await session.close()
    remember(history_file(tmp_path / "home", tmp_path / "old"), "the blue heron")
    (tmp_path / "old").rename(tmp_path / "project")
    return session.id


def app_of(tmp_path: Path) -> ClewApp:
    project = tmp_path / "project"
    options = SessionOptions(
        home=tmp_path / "home", cwd=project, choice=ModelChoice("rehearsal"), environ=dict(ENVIRON)
    )
    return ClewApp(
        AppOptions(
            session=lambda: options,
            cwd=project,
            version="1",
            theme_folders=(themes_folder(),),
            environ=ENVIRON,
            history=lambda: history_file(tmp_path / "home", project),
        )
    )


@pytest.mark.parametrize("answer", ["enter", "escape", "yes"])
async def test_the_sessions_follow_when_told_and_only_then(tmp_path: Path, answer: str) -> None:
    session = await renamed(tmp_path)
    app = app_of(tmp_path)
    async with app.run_test(size=(100, 40)) as pilot:
        await page_ready(pilot, PickPage)
        assert app.main.link is None, "nothing is opened before the answer"
        await pilot.press(*(["down", "enter"] if answer == "yes" else [answer]))
        await until(pilot, lambda: app.main.link is not None, "the session")
        assert app.main.editor.recall.items == (("the blue heron",) if answer == "yes" else ())
        here, _ = await Shelf(tmp_path / "home", tmp_path / "project").page()
        assert [info.id for info in here] == ([session] if answer == "yes" else [])
        app.leave()
        await until(pilot, lambda: app.main.link is None, "the end")
    async with await Store.open(tmp_path / "home", tmp_path / "old", read_only=True) as store:
        assert bool(await store.sessions()) is (answer != "yes")
