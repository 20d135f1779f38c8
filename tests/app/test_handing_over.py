"""The commands about the context, in the app: real sessions, a rehearsal that hands over by its script."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Static, TextArea

from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.agent.wishes import PIN_LIMIT, info_facts, pinned
from tui.context.bar import tone_of
from tui.context.continuation import continuation_text
from tui.log.entries import Checkpoint, Entry, Pinned, Prompt, TaskSet
from tui.models.rehearsal import RehearsalModel
from tui.models.rehearsal.script import Script, ScriptedAnswer, ScriptedCall, ScriptedError
from tui.screens.pages import EditPage, PickPage, TextPage
from tui.widgets.context_bar import ContextBar
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio

NOTE = "NOTE: the parser is done [/red];\r\nnext: the tests."
LONG = ScriptedAnswer(text="The work goes on and is told about at length. ", times=240)
HAND_OVER = ScriptedAnswer(calls=(ScriptedCall(name="self_compact", arguments={"note_to_self": NOTE}),))
SUMMARY = ScriptedAnswer(text="SUMMARY: what was done so far.")
NO_SUMMARY = ScriptedAnswer(error=ScriptedError(type="auth", message="No such key."))
DONE = ScriptedAnswer(text="All of it is done.")


async def use(here: Room, *answers: ScriptedAnswer) -> None:
    """Let a model with a small window give these answers."""
    model = RehearsalModel(pace=0, window=32_000, script=Script(answer=answers))
    here.link.do(lambda agent: agent.use_model(model))
    await until(here.pilot, lambda: here.link.agent.model is model, "the model")


async def command(here: Room, text: str) -> None:
    """Type a command and run it."""
    editor = here.app.main.editor
    editor.show_draft(text)
    await until(here.pilot, lambda: editor.text == text and here.app.focused is editor, "the command in the editor")
    here.clock.now += 1
    await here.pilot.press("enter")
    here.clock.now += 1


async def talked(here: Room, *answers: ScriptedAnswer) -> None:
    """Have a conversation behind that is worth a checkpoint, and these answers before."""
    await use(here, LONG, LONG, LONG, *answers)
    for number, words in enumerate(("fix the parser", "more", "still more"), 1):
        await here.say(words)
        await here.settled(number)


def phase(here: Room) -> str:
    return here.link.agent.compaction.state.phase


async def rests(here: Room, wanted: str) -> None:
    await until(here.pilot, lambda: phase(here) == wanted and here.link.agent.idle, f"the phase {wanted}")


def note_of(here: Room) -> str:
    return here.app.main.query_one(StatusLine).status.note


async def path(here: Room) -> list[Entry]:
    return await here.link.agent.history_page(1 << 30, 10_000)


def everything(here: Room) -> str:
    """Return all that the transcript shows."""
    transcript = here.app.main.feed.transcript
    document = transcript.document
    return "\n".join(
        document.view(at).row(line).text for at in range(len(document.blocks)) for line in range(len(document.view(at)))
    )


async def test_a_handoff_is_shown_calmly(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "answered")
        shown = everything(here)
        assert "note to self" in shown
        assert "goes on from the note" in shown
        assert "checkpoint" in shown
        assert "tokens" in shown
        assert "<continuation>" not in shown
        assert "[continuation]" not in shown
        assert "All of it is done." in shown
        prompts = [entry.body for entry in await path(here) if isinstance(entry.body, Prompt)]
        assert continuation_text(NOTE) in [prompt.message.authored for prompt in prompts]


async def test_undo_asks_first_and_shows_the_conversation_as_before(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "answered")
        await command(here, "/compact undo")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("down", "enter")
        await until(here.pilot, lambda: phase(here) == "none", "the undoing")
        await until(here.pilot, lambda: "All of it is done." not in everything(here), "the branch as it is now")
        assert "still more" in everything(here)
        assert "checkpoint is undone" in note_of(here)
        await command(here, "/compact undo")
        await until(here.pilot, lambda: "no checkpoint" in note_of(here), "the refusal")


async def test_a_checkpoint_opens_to_its_parts(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "answered")
        await here.pilot.press("ctrl+o")
        await until(here.pilot, lambda: "fix the parser" in everything(here).partition("checkpoint")[2], "the task")
        opened = everything(here).partition("checkpoint")[2]
        assert "SUMMARY: what was done so far." in opened
        assert "current request" in opened
        assert "and the tests" in opened


async def test_a_session_that_is_opened_again_shows_the_same(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "answered")
        await here.pilot.press("ctrl+o")
        await until(here.pilot, lambda: "fix the parser" in everything(here).partition("checkpoint")[2], "the task")
        before = everything(here)
    async with room(tmp_path, newest=True) as here:
        await here.pilot.press("ctrl+o")
        await until(here.pilot, lambda: "fix the parser" in everything(here).partition("checkpoint")[2], "the task")
        again = everything(here)
        assert (
            again.partition("note to self")[2].splitlines()[:12]
            == before.partition("note to self")[2].splitlines()[:12]
        )


async def test_compact_makes_a_checkpoint_and_usage_is_unknown_until_the_next_answer(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, SUMMARY, DONE)
        bar = here.app.main.query_one(ContextBar)
        assert bar.state.tokens is not None
        await command(here, "/compact keep the names")
        await until(here.pilot, lambda: here.kind(Checkpoint), "the checkpoint")
        (checkpoint,) = here.kind(Checkpoint)
        assert isinstance(checkpoint, Checkpoint)
        assert checkpoint.origin == "manual"
        await until(here.pilot, lambda: bar.state.tokens is None, "an unknown usage")
        assert tone_of(bar.state.tokens, bar.state.thresholds) == "unknown"
        await here.say("go on")
        await until(here.pilot, lambda: bar.state.tokens is not None, "a known usage")


async def test_compact_says_where_there_is_nothing_to_do(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await use(here, DONE)
        await here.say("hi")
        await here.settled()
        await command(here, "/compact")
        await until(here.pilot, lambda: "Nothing to compact" in everything(here), "the word")
        await command(here, "/compact undo")
        await until(here.pilot, lambda: "no checkpoint" in note_of(here), "the word")
        assert not here.kind(Checkpoint)


async def test_now_asks_the_agent_in_words_that_are_no_request(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, SUMMARY, DONE)
        await command(here, "/self-compact-now the names")
        await rests(here, "answered")
        prompts = [entry.body for entry in await path(here) if isinstance(entry.body, Prompt)]
        assert [prompt.origin for prompt in prompts] == [*["authored"] * 3, "command", "continuation"]
        assert "the names" in prompts[3].message.authored
        checkpoints = [entry.body for entry in await path(here) if isinstance(entry.body, Checkpoint)]
        assert [checkpoint.origin for checkpoint in checkpoints] == ["self"]
        requests = [checkpoints[0].current, checkpoints[0].task, *(later.words for later in checkpoints[0].later)]
        origins = {entry.id: entry.body.origin for entry in await path(here) if isinstance(entry.body, Prompt)}
        assert {origins[reference.entry] for reference in requests if reference is not None} == {"authored"}


async def test_a_failed_handoff_is_red_and_the_same_note_goes_on(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, NO_SUMMARY, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "failed")
        bar = here.app.main.query_one(ContextBar)
        await until(here.pilot, lambda: bar.state.failed, "the red bar")
        assert "The handoff failed" in everything(here)
        await command(here, "/self-compact-now")
        await rests(here, "answered")
        assert not bar.state.failed
        assert "All of it is done." in everything(here)


async def test_the_note_can_be_changed(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, NO_SUMMARY, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "failed")
        await command(here, "/self-compact-edit")
        await page_ready(here.pilot, EditPage)
        here.app.screen.query_one(TextArea).load_text("MINE: begin with the tests.")
        await here.pilot.press("ctrl+s")
        await until(here.pilot, lambda: phase(here) == "saved" or phase(here) == "answered", "the change")
        await command(here, "/continue")
        await rests(here, "answered")
        prompts = [entry.body for entry in await path(here) if isinstance(entry.body, Prompt)]
        assert prompts[-1].message.authored == continuation_text("MINE: begin with the tests.")


async def test_a_note_that_was_only_looked_at_stays_byte_for_byte(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, NO_SUMMARY, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "failed")
        before = here.link.agent.compaction.state
        await command(here, "/self-compact-edit")
        await page_ready(here.pilot, EditPage)
        await here.pilot.press("ctrl+s")
        await until(here.pilot, lambda: here.app.screen is here.app.main, "the end of the page")
        await until(here.pilot, lambda: "as it was" in note_of(here), "the word")
        assert here.link.agent.compaction.state == before


async def test_the_summary_of_the_newest_checkpoint_can_be_changed(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await command(here, "/checkpoint")
        await until(here.pilot, lambda: "no checkpoint yet" in note_of(here), "the refusal")
        await talked(here, HAND_OVER, SUMMARY, DONE)
        await here.say("and the tests")
        await rests(here, "answered")
        await command(here, "/checkpoint")
        await page_ready(here.pilot, EditPage)
        page = here.app.screen
        assert page.query_one(TextArea).text == "SUMMARY: what was done so far."
        parts = str(page.query_one(".page-below", Static).content)
        assert parts.split("\n\n", maxsplit=1)[0] == "task\nfix the parser"
        assert "current request, open\nand the tests" in parts
        page.query_one(TextArea).text = "MINE: [/red] it is done."
        await here.pilot.press("ctrl+s")
        await until(here.pilot, lambda: len(here.kind(Checkpoint)) == 2, "the new checkpoint")
        await until(here.pilot, lambda: "summary was changed" in note_of(here), "the word")
        await here.pilot.press("ctrl+o")
        await until(here.pilot, lambda: "MINE: [/red] it is done." in everything(here), "the new divider")


async def test_dropping_asks_once(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, NO_SUMMARY)
        await here.say("and the tests")
        await rests(here, "failed")
        for keys, wanted in ((("enter",), "failed"), (("down", "enter"), "none")):
            await command(here, "/self-compact-drop")
            await page_ready(here.pilot, PickPage)
            await here.pilot.press(*keys)
            await rests(here, wanted)
        assert not here.app.main.query_one(ContextBar).state.failed


async def test_continue_goes_on_with_what_broke_off(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await use(here, ScriptedAnswer(error=ScriptedError(type="auth", message="No such key.")), DONE)
        await command(here, "/continue")
        await until(here.pilot, lambda: "nothing to go on with" in note_of(here), "the word")
        await here.say("hi")
        await here.settled()
        await command(here, "/continue")
        await here.settled(2)
        prompts = [prompt for prompt in here.kind(Prompt) if isinstance(prompt, Prompt)]
        assert [prompt.origin for prompt in prompts] == ["authored", "command"]


async def test_the_task_is_set(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await command(here, "/task Write  the [/red] parser")
        await until(here.pilot, lambda: here.kind(TaskSet), "the task")
        assert here.kind(TaskSet) == [TaskSet("Write  the [/red] parser")]
        await command(here, "/task")
        await until(here.pilot, lambda: "/task TEXT" in note_of(here), "how it is used")


async def test_pins_have_a_bound_and_can_be_taken_away(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        agent = here.link.agent
        here.app.main.editor.show_draft("/pin ")
        here.app.main.editor.post_message(events.Paste("ü" * 3_999))  # it stands as a chip
        await until(here.pilot, lambda: len(here.app.main.editor.draft) > 3_999, "the paste")
        here.clock.now += 1
        await here.pilot.press("enter")
        here.clock.now += 1
        await until(here.pilot, lambda: len(pinned(agent)) == 1, "the pin")
        await command(here, "/pin x")
        await until(here.pilot, lambda: "Not pinned" in note_of(here), "the refusal")
        assert f"{PIN_LIMIT:,}" in note_of(here)
        assert "8,001" in note_of(here)
        assert len(here.kind(Pinned)) == 1
        await command(here, "/pin")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("enter")
        await until(here.pilot, lambda: not pinned(agent), "the end of the pin")
        await command(here, "/pin")
        await until(here.pilot, lambda: "Nothing is pinned" in note_of(here), "the word")


async def test_the_info_page_shows_the_facts_and_asks_no_model(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, HAND_OVER, NO_SUMMARY)
        await here.say("and the tests")
        await rests(here, "failed")
        before = len(await path(here))
        await here.pilot.press("f2")
        await page_ready(here.pilot, TextPage)
        shown = str(here.app.screen.query(Static).last().content)
        facts = await info_facts(here.link.agent, persisted=True)
        for word in ("NOTE: the parser is done [/red]", "failed", "cycle 1", facts.session, "32,000 tokens"):
            assert word in shown
        assert len(await path(here)) == before
