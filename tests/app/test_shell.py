"""`!command` and `!!command` in a whole session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.painted import painted
from tests.app.test_session import room
from tests.app.waiting import until
from tui.context.view import messages_of
from tui.log.entries import Prompt
from tui.messages import UserMessage
from tui.models.rehearsal.script import ScriptedAnswer

pytestmark = pytest.mark.anyio


async def test_a_command_runs_and_its_output_is_in_the_context_but_no_exchange_begins(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.use(ScriptedAnswer(text="I see it."))
        await here.say("!echo one; echo two")
        await until(here.pilot, lambda: here.kind(Prompt) and here.link.agent.idle, "the output")
        prompt = here.kind(Prompt)[0]
        assert isinstance(prompt, Prompt)
        assert (prompt.origin, prompt.excluded) == ("shell", False)
        await until(here.pilot, lambda: any("two" in row for row in painted(here.app.screen)), "the output on screen")
        await here.say("what did it say")
        await here.settled(2)
        sent = [message for message in messages_of(here.link.agent.branch) if isinstance(message, UserMessage)]
        assert "one\\ntwo" in str(sent[0].content[1])


async def test_two_marks_keep_it_from_the_model(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.say("!!echo secret")
        await until(here.pilot, lambda: here.kind(Prompt) and here.link.agent.idle, "the output")
        await until(here.pilot, lambda: any("secret" in row for row in painted(here.app.screen)), "the output")
        assert list(messages_of(here.link.agent.branch)) == []


async def test_escape_stops_it_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.say("!echo begun; sleep 300")
        await until(here.pilot, lambda: here.app.main.busy, "the start")
        await here.pilot.press("escape")
        await until(here.pilot, lambda: here.kind(Prompt) and here.link.agent.idle, "the end")
        prompt = here.kind(Prompt)[0]
        assert isinstance(prompt, Prompt)
        assert "[stopped]" in str(prompt.message.content[1])
