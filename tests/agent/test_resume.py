"""What comes back when a session is opened again, and what a new one begins with."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import msgspec
import pytest

from tests.agent.support import bash, bodies, kinds, options, path_of, said, session, texts, until
from tests.support.provider import Call, Provider, Reply
from tui.agent.events import AnswerDelta
from tui.agent.opening import FIRST_PAGE
from tui.agent.session import SessionOptions, open_session
from tui.log import Store
from tui.log.entries import Answer, ApprovalMode, ModelChosen, Notice, Prompt, Queue, Result, Settled, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, UserMessage
from tui.models.factory import ModelChoice, open_model
from tui.settings import Settings

pytestmark = pytest.mark.anyio
DONE = Reply(text="done")


def words(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def again(tmp_path: Path, provider: Provider, **more: object) -> SessionOptions:
    """Return options as `-c` gives them: nothing but the session's own."""
    given = msgspec.structs.replace(options(tmp_path, provider), open="newest", choice=None, approve=None)
    return msgspec.structs.replace(given, **more)


async def test_model_mode_draft_and_conversation_come_back(tmp_path: Path) -> None:
    async with Provider(Reply(text="one"), Reply(text="two")) as provider:
        async with session(options(tmp_path, provider, approve="ask")) as (agent, _):
            first = agent.session_id
            choice = ModelChoice("openai-chat", "another", f"{provider.base_url}/v1", 20_000)
            await agent.use_model(open_model(choice, {}))
            await agent.use_approval("edits")
            await said(agent, " first\t")
            await agent.save_draft("unsent  words\n")
            before = await path_of(agent)
        other = Settings(
            model="settings-model", provider="openai-chat", base_url="http://127.0.0.1:1/v1", approve="all"
        )
        async with session(again(tmp_path, provider, settings=other)) as (agent, _):
            assert agent.session_id == first
            assert (agent.model_info.id, agent.model_info.window) == ("another", 20_000)
            assert agent.approval == "edits"
            assert await agent.draft() == "unsent  words\n"
            assert await path_of(agent) == before, "opening writes nothing"
            assert await said(agent, "second") == "answered"
    assert [message["role"] for message in provider.requests[1].messages if message["role"] != "system"] == [
        "user",
        "assistant",
        "user",
    ]
    assert " first\\t" in texts(provider.requests[1])


async def test_what_is_asked_for_wins_over_the_sessions_own_and_is_written_down(tmp_path: Path) -> None:
    async with Provider(DONE, DONE) as provider:
        async with session(options(tmp_path, provider)) as (agent, _):
            await said(agent, "one")
        async with session(again(tmp_path, provider, choice=ModelChoice("rehearsal"), approve="ask")) as (agent, _):
            assert (agent.model_info.provider, agent.approval) == ("rehearsal", "ask")
            path = await path_of(agent)
        async with session(again(tmp_path, provider)) as (agent, _):
            assert (agent.model_info.provider, agent.approval) == ("rehearsal", "ask")
    assert [entry.mode for entry in bodies(path, ApprovalMode)] == ["all", "ask"]
    assert [entry.provider for entry in bodies(path, ModelChosen)] == ["openai-chat", "rehearsal"]


async def test_with_no_session_to_continue_a_new_one_begins_as_the_settings_say(tmp_path: Path) -> None:
    lines: list[str] = []
    async with Provider(DONE, DONE) as provider:
        settings = Settings(
            model="of-settings", provider="openai-chat", base_url=f"{provider.base_url}/v1", window=9_000, approve="all"
        )
        async with open_session(again(tmp_path, provider, settings=settings), report=lines.append) as agent:
            assert (agent.model_info.id, agent.model_info.window, agent.approval) == ("of-settings", 9_000, "all")
            assert await said(agent, "hi") == "answered"
        async with session(again(tmp_path, provider)) as (agent, _):
            assert (agent.model_info.id, agent.approval) == ("of-settings", "all"), "from then on they are its own"
    assert lines == ["There is no session to continue here: a new one begins."]


async def test_a_session_that_asked_goes_on_asking_whatever_the_settings_say(tmp_path: Path) -> None:
    async with Provider(DONE) as provider:
        async with session(options(tmp_path, provider, approve="ask")) as (agent, _):
            await said(agent, "hi")
        async with session(again(tmp_path, provider, settings=Settings(approve="all"))) as (agent, _):
            assert agent.approval == "ask"


async def test_what_waited_comes_back_and_is_sent_after_what_is_sent_next(tmp_path: Path) -> None:
    silent = Reply(text="half", stop_at=500, stop_how="silence")
    async with Provider(silent, Reply(text="two"), Reply(text="three")) as provider:
        async with session(options(tmp_path, provider)) as (agent, events):
            await agent.send(words("first"))
            await until(events, lambda event: isinstance(event, AnswerDelta))
            await agent.send(words(" waits\t"), "follow-up")
        async with session(again(tmp_path, provider)) as (agent, _):
            assert [item.text for item in agent.queue] == [" waits\t"]
            assert agent.idle
            assert await said(agent, "second") == "answered"
            path = await path_of(agent)
    assert [prompt.message.authored for prompt in bodies(path, Prompt)] == ["first", "second", " waits\t"]
    assert bodies(path, Queue)[-1].items == ()


@pytest.mark.parametrize("changed", [False, True])
async def test_a_file_that_was_read_may_be_edited_after_reopening_unless_it_changed(
    changed: bool, tmp_path: Path
) -> None:
    edit = {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]}
    reading, editing = Call("read", '{"path": "a.txt"}'), Call("edit", json.dumps(edit))
    async with Provider(Reply(calls=(reading,)), DONE, Reply(calls=(editing,)), DONE) as provider:
        given = options(tmp_path, provider)
        file = given.cwd / "a.txt"
        file.write_text("one two\n")
        async with session(given) as (agent, _):
            await said(agent, "read it")
        if changed:
            file.write_text("one two three\n")
        async with session(again(tmp_path, provider)) as (agent, _):
            await said(agent, "edit it")
            result = bodies(await path_of(agent), Result)[-1].message
    assert result.is_error is changed
    assert file.read_text() == ("one two three\n" if changed else "1 two\n")


async def test_a_file_read_long_ago_is_still_known_to_have_changed(tmp_path: Path) -> None:
    """The read lies far before what is loaded at once."""
    edit = {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]}
    reading, editing = Call("read", '{"path": "a.txt"}'), Call("edit", json.dumps(edit))
    async with Provider(Reply(calls=(reading,)), DONE, Reply(calls=(editing,)), DONE) as provider:
        given = options(tmp_path, provider)
        (given.cwd / "a.txt").write_text("one two\n")
        async with session(given) as (agent, _):
            first = agent.session_id
            await said(agent, "read it")
        async with await Store.open(given.home, given.cwd) as store:
            log = await store.session(first)
            await log.append(*(Notice(f"line {number}") for number in range(2 * FIRST_PAGE)))
            await log.append(Answer(AssistantMessage((Text("all done"),), StopReason.COMPLETE)), Settled("answered"))
        (given.cwd / "a.txt").write_text("one two three\n")
        async with session(again(tmp_path, provider)) as (agent, _):
            assert len(agent.branch) == FIRST_PAGE
            await said(agent, "edit it")
            result = bodies(await path_of(agent), Result)[-1].message
    assert result.is_error
    assert "read it" in texts(provider.requests[-1]), "the view holds what was not loaded at once"


async def left_open(given: SessionOptions, partial: AssistantMessage | None = None) -> None:
    """Leave a session as a kill in the middle of an answer does."""
    async with await Store.open(given.home, given.cwd) as store:
        log = await store.create(cwd=given.cwd)
        await log.append(Prompt(words("talk")))
        if partial is not None:
            await log.set_partial(msgspec.json.encode(partial))


async def test_the_growing_answer_of_a_killed_session_is_kept_and_marked(tmp_path: Path) -> None:
    partial = AssistantMessage((Text("what had come"),), StopReason.DROPPED, error="The program ended.")
    lines: list[str] = []
    async with Provider(DONE) as provider:
        given = options(tmp_path, provider, open="newest")
        await left_open(given, partial)
        async with open_session(given, report=lines.append):
            pass
        async with open_session(given, report=lines.append) as agent:
            path = await path_of(agent)
    assert [answer.message for answer in bodies(path, Answer)] == [partial]
    assert [settled.reason for settled in bodies(path, Settled)] == ["interrupted"]
    assert lines.count("Interrupted while an answer was written; what had come is kept. /continue goes on.") == 1, (
        "told once"
    )


async def test_a_damaged_growing_answer_costs_itself_alone(tmp_path: Path) -> None:
    async with Provider(DONE) as provider:
        given = options(tmp_path, provider, open="newest")
        await left_open(given)
        async with await Store.open(given.home, given.cwd) as store:
            newest = await store.newest()
            assert newest is not None
            await (await store.session(newest.id)).set_partial(b'{"content": [')
        async with session(given) as (agent, _):
            assert not bodies(await path_of(agent), Answer)
            assert await said(agent, "again") == "answered"


async def test_calls_that_had_not_begun_are_told_from_those_that_had(tmp_path: Path) -> None:
    from tui.messages import ToolCall

    calls = tuple(ToolCall(name, "bash", {"command": "touch ran"}) for name in ("begun", "waiting"))
    async with Provider(DONE) as provider:
        given = options(tmp_path, provider, open="newest")
        async with await Store.open(given.home, given.cwd) as store:
            log = await store.create(cwd=given.cwd)
            await log.append(Prompt(words("go")), Answer(AssistantMessage(calls, StopReason.TOOL_CALLS)))
            await log.append(ToolStarted("begun", "bash"))
        async with session(given):
            pass
        async with session(given) as (agent, _):
            path = await path_of(agent)
        assert {result.message.call_id: result.refused for result in bodies(path, Result)} == {
            "begun": "unknown",
            "waiting": "not-started",
        }
        assert len(bodies(path, Result)) == 2
        assert "effects unknown" in bodies(path, Settled)[-1].detail
        async with session(given) as (agent, _):
            assert await said(agent, "what now?") == "answered"
        assert "Effects unknown" in texts(provider.requests[0])
    assert not (tmp_path / "project" / "ran").exists()


async def test_opening_with_a_prompt_at_once_comes_after_the_repair(tmp_path: Path) -> None:
    async with Provider(DONE) as provider:
        given = options(tmp_path, provider, open="newest")
        await left_open(given)
        async with open_session(given) as agent:
            async with anyio.create_task_group() as group:
                group.start_soon(agent.send, words("now"))
            await agent.settled()
            path = await path_of(agent)
    wanted = ["prompt", "settled", "prompt", "answer", "settled"]
    assert [kind for kind in kinds(path) if kind in wanted] == wanted


async def test_a_model_without_its_key_any_more_is_one_clear_error(tmp_path: Path) -> None:
    from tui.models.base import AuthFailed

    async with Provider(DONE) as provider:
        environ = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-test"}
        choice = ModelChoice("anthropic", "claude-sonnet-4-5")
        async with session(options(tmp_path, provider, choice=choice, environ=environ)) as (agent, _):
            await agent.save_draft("a session in which nobody typed anything would be passed over")
        with pytest.raises(AuthFailed, match="ANTHROPIC_API_KEY"):
            async with session(again(tmp_path, provider)):
                raise AssertionError("it must not open")
        async with session(again(tmp_path, provider, choice=ModelChoice("rehearsal"))) as (agent, _):
            assert agent.writable


async def test_a_script_for_the_rehearsal_that_cannot_be_played_is_one_clear_error(tmp_path: Path) -> None:
    from tui.models.base import ModelNotFound

    (tmp_path / "broken.toml").write_text("[[answer]]\ntxt = 'hi'\n")
    for name, told in (("missing.toml", "cannot be read"), ("broken.toml", "is not valid")):
        choice = ModelChoice("rehearsal", str(tmp_path / name))
        with pytest.raises(ModelNotFound, match=told):
            async with session(options(tmp_path, None, choice=choice)):
                raise AssertionError("it must not open")


async def test_a_script_is_played_through_the_whole_agent(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(
        'pace = 0\n[[answer]]\ntext = "I run it."\n'
        'calls = [{ name = "bash", arguments = { command = "echo $((6*7))" } }]\n'
        '[[answer]]\ntext = "It says 42."\nwhen = { result = "42" }\n'
    )
    async with session(options(tmp_path, None, choice=ModelChoice("rehearsal", str(script)))) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert bodies(path, Answer)[-1].message.text == "It says 42."
    assert bodies(path, Result)[0].message.text.strip() == "42"


async def test_bash_output_kept_whole_is_found_again(tmp_path: Path) -> None:
    async with Provider(Reply(calls=(bash("seq 20000"),)), DONE) as provider:
        given = options(tmp_path, provider)
        async with session(given) as (agent, _):
            await said(agent, "go")
            first = agent.session_id
            result = bodies(await path_of(agent), Result)[0]
        if result.blob:
            async with await Store.open(given.home, given.cwd) as store:
                whole = await (await store.session(first, write=False)).blob(result.blob)
            assert whole is not None
            assert whole.split() == [str(number).encode() for number in range(1, 20_001)]
        else:
            assert Path(str(result.details["spill"])).read_text().split()[-1] == "20000"
    assert len(result.message.text) < 60_000
