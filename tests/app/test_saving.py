"""Leaving a long conversation saves a summary for next time, in sight; any key skips it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.app.test_handing_over import LONG, SUMMARY, command, everything, note_of, path, use
from tests.app.test_session import Room, room
from tests.app.waiting import until
from tui.log import Store
from tui.log.entries import Body, Checkpoint, Receipt, ResumedFrom, UnknownBody
from tui.models.rehearsal.model import RehearsalModel
from tui.models.rehearsal.script import Script, ScriptedAnswer
from tui.screens.saving import LINE
from tui.settings import Settings

pytestmark = pytest.mark.anyio
SMALL = Settings(followup_budget=5_000)


async def talked(here: Room, *answers: ScriptedAnswer) -> None:
    await use(here, LONG, *answers)
    await here.say("fix the parser")
    await here.settled()


async def bodies(tmp_path: Path) -> list[Body | UnknownBody]:
    """Return the newest session as the log has it."""
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        log = await store.session((await store.sessions())[0].id)
        return [entry.body async for page in log.entries() for entry in page]


async def left(here: Room) -> None:
    await until(here.pilot, lambda: here.app.main.link is None, "the end of the session")


async def slow(here: Room) -> None:
    """Let the next answer take for ever."""
    model = RehearsalModel(pace=1, window=32_000, script=Script(answer=(ScriptedAnswer(text="word ", times=500),)))
    here.link.do(lambda agent: agent.use_model(model))
    await until(here.pilot, lambda: here.link.agent.model is model, "the model")


async def test_quitting_saves_a_summary_and_the_next_start_begins_from_it(tmp_path: Path) -> None:
    async with room(tmp_path, settings=SMALL) as here:
        await talked(here, SUMMARY)
        here.app.leave()
        await left(here)
    saved = [body for body in await bodies(tmp_path) if isinstance(body, Checkpoint)]
    assert [(body.origin, body.summary) for body in saved] == [("resume", "SUMMARY: what was done so far.")]
    async with room(tmp_path, newest=True, settings=SMALL) as here:
        await use(here, ScriptedAnswer(text="On we go."))
        await here.say("go on")
        await until(here.pilot, lambda: "On we go." in everything(here) and here.link.agent.idle, "the answer")
        assert [entry.body.checkpoint != "" for entry in await path(here) if isinstance(entry.body, ResumedFrom)] == [
            True
        ]


async def test_any_key_skips_it_and_a_receipt_says_so(tmp_path: Path) -> None:
    async with room(tmp_path, settings=SMALL) as here:
        await talked(here)
        await slow(here)
        here.app.leave()
        await until(here.pilot, lambda: note_of(here) == LINE and here.link.agent.saver.running, "the line")
        await here.pilot.press("x")
        await left(here)
    found = await bodies(tmp_path)
    assert not [body for body in found if isinstance(body, Checkpoint)]
    assert [body.reason for body in found if isinstance(body, Receipt)] == ["cancelled"]


async def test_a_second_request_to_leave_goes_at_once(tmp_path: Path) -> None:
    async with room(tmp_path, settings=SMALL) as here:
        await talked(here)
        await slow(here)
        here.app.leave()
        await until(here.pilot, lambda: note_of(here) == LINE and here.link.agent.saver.running, "the line")
        here.app.leave()
        await left(here)
    assert not [body for body in await bodies(tmp_path) if isinstance(body, Checkpoint)]


async def test_a_short_conversation_is_left_at_once(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, SUMMARY)
        here.app.leave()
        await left(here)
    assert not [body for body in await bodies(tmp_path) if isinstance(body, Checkpoint | Receipt)]


async def test_another_session_is_opened_after_it(tmp_path: Path) -> None:
    async with room(tmp_path, settings=SMALL) as here:
        await talked(here, SUMMARY)
        before = here.link.agent.session_id
        await command(here, "/new")
        await until(
            here.pilot,
            lambda: here.app.main.link is not None and here.app.main.link.agent.session_id != before,
            "another session",
        )
        async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
            newest = await (await store.session(before)).newest("checkpoint")
        assert newest is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_starts_none(tmp_path: Path, number: signal.Signals) -> None:
    async with room(tmp_path, settings=SMALL) as here:
        await talked(here, SUMMARY)
        os.kill(os.getpid(), number)
        await left(here)
    assert not [body for body in await bodies(tmp_path) if isinstance(body, Checkpoint | Receipt)]
