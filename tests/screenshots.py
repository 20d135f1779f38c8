"""Make the pictures of the README: `python -m tests.screenshots`. They show the rehearsal at work, so they never lie.

A small project is made in a folder of its own; the real app opens a real session on it, and what it shows
is written to `screenshots/`.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot
from textual.screen import Screen

from tests.app.waiting import until
from tui import __version__
from tui.agent.session import SessionOptions
from tui.app import ClewApp
from tui.context.bar import tone_of
from tui.log.entries import Checkpoint, Settled
from tui.models.factory import ModelChoice
from tui.resources import themes_folder
from tui.runs.attach import attach_runs
from tui.screens.main import MainScreen
from tui.screens.options import AppOptions
from tui.screens.pages import PickPage, TextPage
from tui.screens.tree_page import TreePage
from tui.widgets.approval import ApprovalPanel
from tui.widgets.context_bar import ContextBar
from tui.widgets.run_strip import RunStrip

FOLDER = Path(__file__).resolve().parent.parent / "screenshots"
SIZE = (110, 34)
SMALL = 8_000
"""Tokens of a context that is soon full."""
FILLING = ("What is in this project?", "Where is total defined?", "Where is price defined?", "Where is Decimal used?")
FILES = {
    "README.md": "# shop\n\nPrices, discounts and receipts for a small shop.\n",
    "shop/prices.py": (
        "from decimal import Decimal\n\n\ndef price(text: str) -> Decimal:\n"
        '    """Return the price in `text`."""\n    return Decimal(text)\n\n\n'
        "def total(prices: list[str]) -> Decimal:\n    return sum(map(price, prices), Decimal(0))\n"
    ),
    "tests/test_prices.py": (
        "from shop.prices import price, total\n\n\ndef test_price():\n    assert price('3.50') + 1 == 4.5\n"
    ),
    "pyproject.toml": '[project]\nname = "shop"\nversion = "0.3.0"\n',
}
ENVIRON = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor", "PATH": os.environ.get("PATH", "")}


class Camera:
    """Drives the app and takes the pictures."""

    def __init__(self, app: ClewApp, pilot: Pilot[int]) -> None:
        self._app, self._pilot = app, pilot

    def take(self, name: str) -> None:
        """Write what the screen shows to `name`.svg."""
        svg = self._app.export_screenshot(title="clew")
        # The ids Rich makes are random; a picture changes only when the screen does.
        svg = re.sub(r"terminal-\d+", "clew", svg)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8", newline="\n")

    async def say(self, text: str) -> None:
        """Send a prompt."""
        self._app.main.editor.show_draft(text)
        self._app.main.editor.action_submit()
        await until(self._pilot, lambda: self._app.main.busy, "the exchange")

    async def question(self) -> None:
        """Wait for a question that can be answered."""
        panel = self._app.main.query_one(ApprovalPanel)
        await until(self._pilot, lambda: panel.is_painted and panel.ready, "the question")
        await self._pilot.pause()

    async def settled(self, times: int) -> None:
        """Wait until so many exchanges are over."""

        def over() -> bool:
            link = self._app.main.link
            done = [e for e in link.agent.branch if isinstance(e.body, Settled)] if link is not None else []
            return len(done) >= times and not self._app.main.busy

        await until(self._pilot, over, "the end of the exchange")
        await self._pilot.pause()

    @property
    def tone(self) -> str:
        """The level the bar shows."""
        state = self._app.main.query_one(ContextBar).state
        return tone_of(state.tokens, state.thresholds)

    @property
    def handed_over(self) -> bool:
        """Whether the session has handed over to itself."""
        link = self._app.main.link
        return link is not None and any(isinstance(e.body, Checkpoint) for e in link.agent.branch)

    async def rest(self) -> None:
        """Wait until nothing runs any more."""
        await until(self._pilot, lambda: not self._app.main.busy, "the rest")
        await self._pilot.pause()

    async def command(self, text: str, then: Callable[[], bool]) -> None:
        """Give a command and wait for what it does."""
        self._app.main.editor.show_draft(text)
        self._app.main.editor.action_submit()
        await self.until(then)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds, and is painted."""
        await until(self._pilot, condition)
        await self._pilot.pause(0.1)

    @property
    def page(self) -> type[Screen[Any]]:
        """The kind of page on top."""
        return type(self._app.screen)

    @property
    def drafting(self) -> bool:
        """Whether something stands in the editor; it is replaced by what is said next."""
        return bool(self._app.main.editor.text)

    @property
    def run(self) -> str:
        """How the run stands."""
        run = self._app.main.query_one(RunStrip).run
        return run.status if run is not None else ""

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self._pilot.press(*keys)
        await self._pilot.pause()


def options(base: Path, *, theme: str = "", window: int | None = None) -> AppOptions:
    """Make the project and return the options to open it with. `window`: tokens of the rehearsal's context."""
    project = base / "shop"
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environ = {**ENVIRON, "HOME": str(base)}
    choice = ModelChoice("rehearsal", window=window)
    session = SessionOptions(home=base / "data", cwd=project, choice=choice, environ=environ)
    return AppOptions(
        session=lambda: session,
        cwd=project,
        version=__version__,
        theme=theme,
        theme_folders=(themes_folder(),),
        environ=environ,
    )


@asynccontextmanager
async def opened(made: AppOptions) -> AsyncGenerator[Camera]:
    """Open the app and leave it again."""
    app = ClewApp(made)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.main.link is not None)
        await pilot.pause()
        yield Camera(app, pilot)
        app.leave()
        await until(pilot, lambda: app.main.link is None)


async def shoot_session(base: Path) -> None:
    """The first screens: a start, an answer, a question, the change, help."""
    async with opened(options(base)) as camera:
        camera.take("start")
        await camera.say("What is in this project?")
        await camera.settled(1)
        camera.take("session")
        await camera.say("replace `Decimal(text)` by `Decimal(text.replace(',', '.'))` in shop/prices.py")
        await camera.question()
        camera.take("approval")
        await camera.press("y")
        await camera.settled(2)
        camera.take("edit")
        await camera.press("f1")
        camera.take("help")
        await camera.press("escape")


PLAN = """
title = "Tidy up"
[[item]]
text = "Where is total defined?"
checks = [["test", "-f", "shop/prices.py"]]
[[item]]
text = "What is in this project?"
checks = [["test", "-f", "docs/index.md"]]
"""


async def shoot_tree(base: Path) -> None:
    """A session with a branch: an earlier prompt asked in other words."""
    async with opened(options(base)) as camera:
        for times, prompt in enumerate(("What is in this project?", "Where is total defined?"), 1):
            await camera.say(prompt)
            await camera.settled(times)
        await camera.command("/label before the rewrite", lambda: True)
        await camera.command("/rewind", lambda: camera.page is PickPage)
        await camera.press("enter")
        await camera.until(lambda: camera.page is MainScreen and camera.drafting)
        await camera.say("Where is price defined?")
        await camera.rest()
        await camera.command("/tree", lambda: camera.page is TreePage)
        camera.take("tree")
        await camera.press("escape")


async def shoot_run(base: Path) -> None:
    """A run of two items: one is accepted, one blocks with a question; the strip and the board."""
    made = options(base)
    (base / "plan.toml").write_text(PLAN)
    allowed = msgspec.structs.replace(made.session(), approve="all", attach=attach_runs)
    async with opened(msgspec.structs.replace(made, session=lambda: allowed)) as camera:
        await camera.command("/run start ../plan.toml", lambda: camera.run == "blocked")
        await camera.rest()
        camera.take("run")
        await camera.command("/run", lambda: camera.page is TextPage)
        camera.take("run-board")
        await camera.press("escape")


async def shoot_levels(base: Path) -> None:
    """A small window that fills: the bar and the thread at each level, and the session handing over to itself."""
    async with opened(options(base, window=SMALL)) as camera:
        seen = {"normal"}
        for prompt in FILLING * 5:
            await camera.say(prompt)
            await camera.rest()
            if camera.handed_over:
                await camera.press("pageup")
                camera.take("handoff")
                return
            if camera.tone not in seen:
                seen.add(camera.tone)
                camera.take(f"level-{camera.tone}")
        raise AssertionError(f"the context was never full: {sorted(seen)}")


async def shoot_themes(base: Path) -> None:
    """One answer in each theme."""
    for theme in sorted(path.stem for path in themes_folder().glob("*.toml")):
        async with opened(options(base, theme=theme)) as camera:
            await camera.say("Where is total defined?")
            await camera.rest()
            camera.take(f"theme-{theme}")


def main() -> None:
    """Take all pictures, each session in a folder that is thrown away."""
    for shoot in (shoot_session, shoot_tree, shoot_run, shoot_levels, shoot_themes):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(shoot(Path(folder)))


if __name__ == "__main__":
    main()
