"""Calls that do not run, or not as asked: each has one result that says why, and the others go on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.agent.support import bash, bodies, options, path_of, said, session, texts, until
from tests.cli.support import ROOT
from tests.support.provider import Call, Provider, Reply
from tui.agent.events import ApprovalAsked, Said
from tui.log.entries import Answer, Approved, Result, Settled, ToolStarted
from tui.log.paths import project_folder
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio
DONE = Reply(text="done")


def words(text: str) -> UserMessage:
    return UserMessage((Text(text),))


async def results(tmp_path: Path, *calls: Call) -> list[Result]:
    """Return the results of one batch of calls, after an answer that says so."""
    async with (
        Provider(Reply(calls=calls), DONE) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    found = bodies(path, Result)
    asked = [call.id for answer in bodies(path, Answer) for call in answer.message.calls]
    assert sorted(result.message.call_id for result in found) == sorted(asked)
    assert len(set(asked)) == len(asked)
    return found


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call("bash", '{"command": "touch ra'), "JSON"),
        (Call("bash", "[1, 2]"), "object"),
        (Call("bash", '{"comand": "touch ran"}'), "command"),
        (Call("bash", '{"command": 7}'), "command"),
        (Call("launch", '{"command": "touch ran"}'), "There is no tool named 'launch'"),
        (Call("read", '{"path": "nowhere.txt"}'), "nowhere.txt"),
        (Call("edit", '{"path": "nowhere.txt", "edits": [{"old_text": "a", "new_text": "b"}]}'), "nowhere.txt"),
    ],
)
async def test_a_call_that_cannot_run_says_why_and_runs_nothing(call: Call, told: str, tmp_path: Path) -> None:
    (found,) = await results(tmp_path, call)
    assert found.message.is_error
    assert told in found.message.text
    assert not list((tmp_path / "project").iterdir())


async def test_one_of_three_is_unknown_and_the_others_run(tmp_path: Path) -> None:
    found = await results(tmp_path, bash("echo one"), Call("launch"), bash("echo three"))
    assert {result.message.text.strip() for result in found if not result.message.is_error} == {"one", "three"}
    unknown = next(result for result in found if result.message.is_error)
    assert unknown.refused == "bad-arguments"
    assert "The tools are: read," in unknown.message.text


async def test_calls_with_the_same_name_on_the_wire_each_get_their_own_result(tmp_path: Path) -> None:
    found = await results(tmp_path, bash("echo one", "same"), bash("echo two", "same"))
    assert sorted(result.message.text.strip() for result in found) == ["one", "two"]


async def test_edits_of_one_file_in_one_answer_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one two\n")

    def edit(old: str, new: str) -> Call:
        return Call("edit", json.dumps({"path": "a.txt", "edits": [{"old_text": old, "new_text": new}]}))

    read = Reply(calls=(Call("read", '{"path": "a.txt"}'),))
    both = Reply(calls=(edit("one", "1"), edit("two", "2")))
    async with Provider(read, both, DONE) as provider, session(options(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        found = bodies(await path_of(agent), Result)
    assert not any(result.message.is_error for result in found), [result.message.text for result in found]
    assert (tmp_path / "project" / "a.txt").read_text() == "1 2\n"


async def test_three_cut_answers_in_a_row_end_it_and_the_text_names_the_limit(tmp_path: Path) -> None:
    cut = Reply(calls=(bash("touch ran"), bash("touch ran")), stop="length")
    async with (
        Provider(cut, cut, cut, DONE) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "go") == "length"
        path = await path_of(agent)
        limit = provider.requests[2].body.get("max_completion_tokens") or provider.requests[2].body.get("max_tokens")
    assert len(provider.requests) == 3
    assert f"{limit} tokens" in bodies(path, Result)[-1].message.text
    assert len(bodies(path, Result)) == 6
    assert not bodies(path, ToolStarted)


async def test_a_cut_answer_between_whole_ones_does_not_count(tmp_path: Path) -> None:
    cut, whole = Reply(calls=(bash("true"),), stop="length"), Reply(calls=(bash("echo ran"),))
    async with (
        Provider(cut, cut, whole, cut, cut, DONE) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "go") == "answered"
        assert len(bodies(await path_of(agent), ToolStarted)) == 1


async def test_a_rule_answers_the_questions_that_wait_behind_it(tmp_path: Path) -> None:
    calls = tuple(bash("git status --short") for _ in range(3))
    async with (
        Provider(Reply(calls=(*calls, bash("git log"))), DONE) as provider,
        session(options(tmp_path, provider, approve="ask")) as (agent, events),
    ):
        await agent.send(words("go"))
        asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
        assert agent.answer(asked.call_id, allowed=True, rule="bash(git status *)")
        other = await until(events, lambda event: isinstance(event, ApprovalAsked))
        assert other.preview.command == "git log"
        assert agent.answer(other.call_id, allowed=False)
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    assert [answer.allowed for answer in bodies(path, Approved)] == [True, False]
    assert len(bodies(path, ToolStarted)) == 3


@pytest.mark.parametrize("rule", ["bash(git status *)", "no rule at all"])
async def test_a_rule_that_cannot_be_kept_is_said_and_the_call_runs(rule: str, tmp_path: Path) -> None:
    async with (
        Provider(Reply(calls=(bash("git --version"),)), DONE) as provider,
        session(options(tmp_path, provider, approve="ask")) as (agent, events),
    ):
        (project_folder(tmp_path / "home", tmp_path / "project") / "rules.toml").mkdir()
        await agent.send(words("go"))
        asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
        agent.answer(asked.call_id, allowed=True, rule=rule)
        assert "asked again" in (await until(events, lambda event: isinstance(event, Said))).text
        assert (await agent.settled()).reason == "answered"
        found = bodies(await path_of(agent), Result)
    assert "git version" in found[0].message.text


async def test_a_rule_is_for_its_project_and_survives_the_session(tmp_path: Path) -> None:
    call = Reply(calls=(bash("git --version"),))
    with Provider(call, DONE, call, DONE, call, DONE) as provider:
        given = options(tmp_path, provider, approve="ask")
        async with session(given) as (agent, events):
            await agent.send(words("go"))
            asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
            assert asked.suggestions == ("bash(git --version)",)
            agent.answer(asked.call_id, allowed=True, rule=asked.suggestions[0])
            await agent.settled()
        async with session(given) as (agent, _):
            assert await said(agent, "again") == "answered"
        (tmp_path / "other").mkdir()
        async with session(options(tmp_path, provider, approve="ask", cwd=tmp_path / "other")) as (agent, events):
            await agent.send(words("elsewhere"))
            asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
            agent.answer(asked.call_id, allowed=False, reason="not here")
            await agent.settled()
        assert "not here" in texts(provider.requests[-1])
    assert not list((tmp_path / "project").iterdir()), "rules are kept in the person's folder"


async def test_the_tools_a_request_declares_never_change(tmp_path: Path) -> None:
    steps = (Reply(calls=(bash("echo one"),)), Reply(calls=(Call("launch"),)), DONE, DONE)
    async with Provider(*steps) as provider, session(options(tmp_path, provider)) as (agent, _):
        await said(agent, "go")
        await agent.use_approval("ask")
        await said(agent, "again")
        declared = [json.dumps(request.body["tools"]) for request in provider.requests]
        assert [settled.reason for settled in bodies(await path_of(agent), Settled)] == ["answered"] * 2
    assert len(declared) == 4
    assert len(set(declared)) == 1


async def test_a_tool_finds_its_own_start_in_the_log(tmp_path: Path) -> None:
    """Another process reads what is durable while the tool runs: its start, and no result yet."""
    reading = f"{sys.executable} -m tui log 2>&1"
    environ = {"PATH": "/usr/bin:/bin", "CLEW_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    async with (
        Provider(Reply(calls=(bash(reading),)), DONE) as provider,
        session(options(tmp_path, provider, environ=environ)) as (agent, _),
    ):
        assert await said(agent, "go") == "answered"
        (found,) = bodies(await path_of(agent), Result)
    kinds = [json.loads(line)["kind"] for line in found.message.text.splitlines() if line.startswith("{")]
    assert kinds[-3:] == ["prompt", "answer", "tool_started"]
