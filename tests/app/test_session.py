"""The app with a real session in a folder of its own, answered by the rehearsal with a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from textual.pilot import Pilot

from tests.app.stage import ENVIRON
from tests.app.waiting import until
from tui.agent.session import SessionOptions
from tui.app import ClewApp
from tui.log.entries import Answer, Prompt, Result, Settled
from tui.messages import Usage
from tui.models.factory import ModelChoice
from tui.models.rehearsal import RehearsalModel
from tui.models.rehearsal.script import Script, ScriptedAnswer, ScriptedCall, ScriptedError
from tui.resources import themes_folder
from tui.runs.attach import attach_runs
from tui.screens.link import SessionLink
from tui.screens.options import AppOptions, PlanGiven
from tui.settings import Settings
from tui.widgets.approval import ApprovalPanel
from tui.widgets.banner import Banner
from tui.widgets.gate import PAUSE
from tui.widgets.queued import QueuedMessages
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Room:
    """One run of the app on a project."""

    def __init__(self, app: ClewApp, pilot: Pilot[int], clock: Clock) -> None:
        self.app, self.pilot, self.clock = app, pilot, clock

    @property
    def link(self) -> SessionLink:
        assert self.app.main.link is not None
        return self.app.main.link

    async def use(self, *answers: ScriptedAnswer) -> None:
        """Let the model give these answers."""
        model = RehearsalModel(pace=0, script=Script(answer=answers))
        self.link.do(lambda agent: agent.use_model(model))
        await until(self.pilot, lambda: self.link.agent.model is model)

    async def say(self, text: str, key: str = "enter") -> None:
        """Type a prompt and send it."""
        for char in text:
            self.clock.now += 0.1
            await self.pilot.press({" ": "space"}.get(char, char))
        self.clock.now += 0.1
        await self.pilot.press(key)
        self.clock.now += 1
        await until(self.pilot, lambda: not self.app.main.editor.text, "the sending")

    async def settled(self, times: int = 1) -> None:
        """Wait until so many exchanges are over."""
        await until(self.pilot, lambda: len(self.kind(Settled)) >= times and self.link.agent.idle, "the end")

    def kind(self, body: type[object]) -> list[object]:
        return [entry.body for entry in self.link.agent.branch if isinstance(entry.body, body)]

    @property
    def rows(self) -> list[str]:
        transcript = self.app.main.feed.transcript
        return [transcript.render_line(y).text.rstrip() for y in range(transcript.size.height)]


@asynccontextmanager
async def room(
    tmp_path: Path,
    *,
    newest: bool = False,
    prompt: str | None = None,
    local_ports: tuple[int, ...] = (),
    keymap: Mapping[str, str] | None = None,
    runs: bool = False,
    plan: PlanGiven | None = None,
    settings: Settings | None = None,
) -> AsyncGenerator[Room]:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    session = SessionOptions(
        home=tmp_path / "home",
        cwd=project,
        open="newest" if newest else "new",
        choice=None if newest else ModelChoice("rehearsal"),
        environ=dict(ENVIRON),
        settings=settings or Settings(),
    )
    if runs:
        session = msgspec.structs.replace(session, attach=attach_runs)
    clock = Clock()
    options = AppOptions(
        session=lambda: session,
        cwd=project,
        version="1.2.3",
        prompt=prompt,
        plan=plan,
        theme_folders=(themes_folder(),),
        history=lambda: tmp_path / "home" / "history.jsonl",
        local_ports=local_ports,
        environ=ENVIRON,
        key_clock=clock,
        keymap=keymap or {},
    )
    app = ClewApp(options)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: app.main.link is not None, "the session")
        yield Room(app, pilot, clock)
        if app.is_running:
            app.leave()
            await until(pilot, lambda: app.main.link is None, "the end of the session")


async def test_a_prompt_is_answered_and_kept_byte_for_byte(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.use(ScriptedAnswer(text="Use [/INST] to **close**.", usage=Usage(input=900, output=10)))
        await here.say(" what is [/red]?")
        await here.settled()
        prompt, answer = here.kind(Prompt)[0], here.kind(Answer)[0]
        assert isinstance(prompt, Prompt)
        assert isinstance(answer, Answer)
        assert prompt.message.authored == " what is [/red]?"
        assert any("Use [/INST] to close." in row for row in here.rows)


async def test_the_prompt_of_the_command_line_is_sent_at_once(tmp_path: Path) -> None:
    async with room(tmp_path, prompt="list the files") as here:
        await here.settled()
        prompt = here.kind(Prompt)[0]
        assert isinstance(prompt, Prompt)
        assert prompt.message.authored == "list the files"


async def test_an_edit_runs_only_after_a_deliberate_key(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        file = tmp_path / "project" / "new.txt"
        call = ScriptedCall(name="write", arguments={"path": "new.txt", "content": "hello\n"})
        await here.use(ScriptedAnswer(text="I write.", calls=(call,)), ScriptedAnswer(text="Done."))
        await here.say("write it")
        panel = here.app.main.query_one(ApprovalPanel)
        await until(here.pilot, lambda: panel.is_painted, "the question")
        assert not file.exists()
        here.clock.now += PAUSE + 0.1
        await here.pilot.press("y")
        await here.settled()
        assert file.read_text() == "hello\n"


async def test_no_with_a_reason_reaches_the_model(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        call = ScriptedCall(name="bash", arguments={"command": "touch x"})
        await here.use(ScriptedAnswer(text="I run.", calls=(call,)), ScriptedAnswer(text="As you wish."))
        await here.say("go")
        panel = here.app.main.query_one(ApprovalPanel)
        await until(here.pilot, lambda: panel.is_painted, "the question")
        here.clock.now += 1
        await here.pilot.press("n", *"later", "enter")
        await here.settled()
        result = here.kind(Result)[0]
        assert isinstance(result, Result)
        assert result.refused
        assert "later" in result.message.text
        assert not (tmp_path / "project" / "x").exists()


async def test_steer_and_follow_up_wait_in_sight_and_escape_gives_them_back(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.use(ScriptedAnswer(text="word " * 400, pace=20), ScriptedAnswer(text="next"))
        await here.say("talk")
        await until(here.pilot, lambda: here.app.main.busy)
        await here.say("more")
        await here.say("later", key="alt+enter")
        queue = here.app.main.query_one(QueuedMessages)
        await until(here.pilot, lambda: len(queue.items) == 2, "the queue")
        assert [item.mode for item in queue.items] == ["steer", "follow-up"]
        await here.pilot.press("escape")
        await here.settled()
        await until(here.pilot, lambda: here.app.main.editor.text == "more\nlater", "the texts")
        assert queue.items == ()


async def test_continuing_shows_the_same_rows(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        call = ScriptedCall(name="ls", arguments={"path": "."})
        text = "# Title\n\n- one\n- two\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        await here.use(ScriptedAnswer(thinking="hm", text="I look.", calls=(call,)), ScriptedAnswer(text=text))
        await here.say("show")
        await here.settled()
        await here.pilot.pause()
        before = here.rows
    async with room(tmp_path, newest=True) as here:
        await here.pilot.pause()
        assert here.rows == before


async def test_the_draft_is_there_again(tmp_path: Path) -> None:
    draft = "unsent [/red]\n" + "x" * 5_000
    async with room(tmp_path) as here:
        here.app.main.editor.show_draft(draft)
    async with room(tmp_path, newest=True) as here:
        await until(here.pilot, lambda: here.app.main.editor.text)
        assert here.app.main.editor.draft == draft


async def test_new_starts_a_session_and_keeps_the_old_one(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        first = here.link.agent.session_id
        await here.use(ScriptedAnswer(text="one"))
        await here.say("hi")
        await here.settled()
        await here.say("/new")
        await until(
            here.pilot,
            lambda: here.app.main.link is not None and here.app.main.link.agent.session_id != first,
            "the new session",
        )
        assert not here.app.main.has_class("-talking")


async def test_an_error_is_one_shown_line_and_the_session_goes_on(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        error = ScriptedError(type="auth", message="The key [/x] was refused.")
        await here.use(ScriptedAnswer(error=error), ScriptedAnswer(text="fine now"))
        await here.say("hi")
        await here.settled()
        shown = "The key [/x] was refused."
        await until(here.pilot, lambda: any(shown in row for row in here.rows), "the error")
        await here.say("again")
        await here.settled(2)
        await until(here.pilot, lambda: any("fine now" in row for row in here.rows), "the answer")


async def test_a_retry_counts_down_in_sight_and_escape_ends_it(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        error = ScriptedError(type="rate_limited", message="Slow down.", retry_after=30.0)
        await here.use(ScriptedAnswer(error=error), ScriptedAnswer(text="never"))
        await here.say("hi")
        line = here.app.main.query_one(StatusLine)
        await until(here.pilot, lambda: line.status.phase == "retrying", "the countdown")
        await here.pilot.press("escape")
        await here.settled()


async def test_a_folder_that_cannot_be_written_leaves_a_banner(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the data folder should be")
    project = tmp_path / "project"
    project.mkdir()
    session = SessionOptions(home=tmp_path / "home", cwd=project, environ=dict(ENVIRON))
    app = ClewApp(
        AppOptions(session=lambda: session, cwd=project, version="1", theme_folders=(themes_folder(),), environ=ENVIRON)
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.main.query_one(Banner).has_class("-error"), "the banner")
        await pilot.press(*"copy")
        assert app.main.editor.text == "copy"
        app.leave()
        with anyio.fail_after(30):
            await until(pilot, lambda: app.return_value == 1, "the exit")
