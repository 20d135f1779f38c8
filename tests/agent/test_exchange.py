"""An exchange from its prompt until it has settled: what is durable, in which order, whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import anyio.to_thread
import msgspec
import pytest

from tests.agent.support import bash, bodies, kinds, options, path_of, said, session, texts, until
from tests.cli.support import environment
from tests.support.provider import Call, Provider, Reply
from tui.agent.events import AnswerDelta, ApprovalAsked, EntryAdded, PhaseChanged, QueueReturned, RetryWaiting
from tui.context.view import EFFECTS_UNKNOWN
from tui.log.entries import Answer, Approved, Prompt, Queue, Result, Settled, ToolStarted
from tui.messages import StopReason, Text, Thinking, UserMessage
from tui.models.factory import ModelChoice
from tui.models.http import AHEAD

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]


def words(text: str) -> UserMessage:
    return UserMessage((Text(text),))


async def test_entries_come_before_effects_and_in_order(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="I look.", calls=(bash("pwd"),)), Reply(text="done")) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "where am I?") == "answered"
        path = await path_of(agent)
    wanted = ["prompt", "answer", "tool_started", "result", "answer", "settled"]
    assert [kind for kind in kinds(path) if kind in wanted] == wanted
    assert bodies(path, Result)[0].message.text.strip() == str(tmp_path / "project")
    assert [entry.depth for entry in path] == list(range(len(path)))


async def test_calls_run_side_by_side_and_each_result_is_durable_when_it_ends(tmp_path: Path) -> None:
    calls = (bash("read line < gate; echo first $line"), bash("echo second"))
    async with (
        Provider(Reply(calls=calls), Reply(text="done")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        os.mkfifo(tmp_path / "project" / "gate")
        await agent.send(words("both"))
        await until(events, lambda event: isinstance(event, EntryAdded) and event.entry.kind == "result")
        assert [result.message.text.strip() for result in bodies(await path_of(agent), Result)] == ["second"]
        await anyio.to_thread.run_sync((tmp_path / "project" / "gate").write_text, "go\n")
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
        results = [result.message.text.strip() for result in bodies(path, Result)]
        assert results == ["second", "first go"]
        sent = [message for message in provider.requests[1].body["messages"] if message["role"] == "tool"]
    assert [message["content"].strip() for message in sent] == ["first go", "second"], "the order of the calls"


def run_until_the_first_result(command: list[str], project: Path, home: Path) -> None:
    """Run `command` until it has told of one durable result, then kill it."""
    environ = {**environment({"CLEW_HOME": str(home)}), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=project, env=environ, stdout=subprocess.PIPE) as child:
        (project / "begun").read_text()  # the first has started: its start is durable
        (project / "begun_too").write_text("go\n")
        assert child.stdout is not None
        for line in child.stdout:
            event = json.loads(line)
            if event["type"] == "entry" and event["entry"]["kind"] == "result":
                break
        child.kill()


def run_until_both_have_spoken(command: list[str], project: Path, home: Path) -> None:
    environ = {**environment({"CLEW_HOME": str(home)}), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=project, env=environ, stdout=subprocess.DEVNULL) as child:
        (project / "begun").read_text()
        (project / "begun_too").read_text()
        child.kill()


async def test_a_kill_between_two_results_keeps_the_one_and_says_so_of_the_other(tmp_path: Path) -> None:
    calls = (bash("echo begun > begun; read line < gate"), bash("read line < begun_too; echo second"))
    with Provider(Reply(calls=calls), Reply(text="after")) as provider:
        project = options(tmp_path, provider).cwd
        for name in ("gate", "begun", "begun_too"):
            os.mkfifo(project / name)
        command = [sys.executable, "-m", "tui", "-p", "both", "--mode", "json", "--approve", "all", "--window", "32000"]
        command += ["--base-url", f"{provider.base_url}/v1", "--model", "scripted"]
        run_until_the_first_result(command, project, tmp_path / "home")
        given = options(tmp_path, provider, open="newest")
        for _ in range(2):
            async with session(given) as (agent, _):
                path = await path_of(agent)
                results = {result.message.text.strip()[:15] for result in bodies(path, Result)}
                assert results == {"second", "Effects unknown"}
                assert len(bodies(path, Result)) == len(bodies(path, ToolStarted)) == 2
                assert [settled.reason for settled in bodies(path, Settled)] == ["interrupted"]
        async with session(given) as (agent, _):
            assert await said(agent, "and now?") == "answered"
            assert len(bodies(await path_of(agent), ToolStarted)) == 2, "a finished call never runs again"
        assert "Effects unknown" in texts(provider.requests[-1])


async def test_a_kill_leaves_what_a_long_command_had_printed(tmp_path: Path) -> None:
    # The command itself waits until its output is in the file that is left behind.
    kept = "until grep -qs early ../home/spill/*/*; do sleep 0.05; done"
    calls = (bash("echo done > begun; true"), bash(f"echo early; {kept}; echo kept > begun_too; read line < gate"))
    with Provider(Reply(calls=calls), Reply(text="after")) as provider:
        given = options(tmp_path, provider, open="newest")
        for name in ("gate", "begun", "begun_too"):
            os.mkfifo(given.cwd / name)
        command = [sys.executable, "-m", "tui", "-p", "both", "--mode", "json", "--approve", "all", "--window", "32000"]
        command += ["--base-url", f"{provider.base_url}/v1", "--model", "scripted"]
        run_until_both_have_spoken(command, given.cwd, given.home)
        async with session(given) as (agent, _):
            results = [result.message.text for result in bodies(await path_of(agent), Result)]
    assert results[-1] == f"early\n[{EFFECTS_UNKNOWN}]"


async def test_one_bad_call_of_three_leaves_three_results(tmp_path: Path) -> None:
    calls = (bash("echo one"), Call("bash", '{"command": "ech'), bash("echo three"))
    async with (
        Provider(Reply(calls=calls), Reply(text="done")) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "three") == "answered"
        path = await path_of(agent)
    results = {result.message.text.strip() for result in bodies(path, Result) if not result.refused}
    assert results == {"one", "three"}
    assert [result.refused for result in bodies(path, Result) if result.refused] == ["bad-arguments"]
    assert len(bodies(path, ToolStarted)) == 2


async def test_no_call_of_a_cut_answer_runs(tmp_path: Path) -> None:
    cut = Reply(calls=(bash("touch ran"),), stop="length")
    async with Provider(cut, cut, cut) as provider, session(options(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "length"
        path = await path_of(agent)
    assert not (tmp_path / "project" / "ran").exists()
    assert not bodies(path, ToolStarted)
    assert all("output limit" in result.message.text for result in bodies(path, Result))


async def test_a_steer_goes_in_after_the_running_tools(tmp_path: Path) -> None:
    async with (
        Provider(Reply(calls=(bash("read line < gate"),)), Reply(text="done")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        os.mkfifo(tmp_path / "project" / "gate")
        await agent.send(words("wait"))
        await until(events, lambda event: isinstance(event, EntryAdded) and event.entry.kind == "tool_started")
        await agent.send(words("and  this\t"))
        await agent.send(words("later"), "follow-up")
        assert [item.text for item in agent.queue] == ["and  this\t", "later"]
        provider.add(Reply(text="later done"))
        (tmp_path / "project" / "gate").write_text("go\n")
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    prompts = bodies(path, Prompt)
    assert [(prompt.message.authored, prompt.steer) for prompt in prompts] == [
        ("wait", False),
        ("and  this\t", True),
        ("later", False),
    ]
    assert bodies(path, Queue)[-1].items == ()
    assert len(bodies(path, Settled)) == 2, "a follow-up is an exchange of its own"
    assert "and  this\\t" in texts(provider.requests[1])


async def test_escape_keeps_what_was_streamed_and_gives_the_queue_back(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="a long answer", stop_at=-60, stop_how="silence")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("talk"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(words("queued"), "follow-up")
        await agent.interrupt()
        assert agent.idle
        assert (await agent.settled()).reason == "aborted"
        returned = await until(events, lambda event: isinstance(event, QueueReturned))
        assert returned.texts == ("queued",)
        path = await path_of(agent)
        await provider.ended(0)
        assert provider.requests[0].closed_early
    answer = bodies(path, Answer)[-1].message
    assert answer.stop is StopReason.ABORTED
    assert "a long answer".startswith(answer.text)
    assert answer.text


async def test_escape_during_a_tool_ends_it_and_its_effects_are_unknown(tmp_path: Path) -> None:
    async with (
        Provider(Reply(calls=(bash("echo $$ > pid; cat gate"),))) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        os.mkfifo(tmp_path / "project" / "gate")
        os.mkfifo(tmp_path / "project" / "pid")
        await agent.send(words("wait"))
        await until(events, lambda event: isinstance(event, EntryAdded) and event.entry.kind == "tool_started")
        pid = int(await anyio.to_thread.run_sync((tmp_path / "project" / "pid").read_text))
        await agent.interrupt()
        path = await path_of(agent)
    assert not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    assert [result.refused for result in bodies(path, Result)] == ["unknown"]
    assert bodies(path, Settled)[-1].reason == "aborted"


async def test_a_rate_limit_waits_as_long_as_the_server_says_and_goes_on(tmp_path: Path) -> None:
    limited = Reply(status=429, headers={"retry-after-ms": "20"}, body='{"error": {"message": "slow down"}}')
    async with (
        Provider(limited, Reply(text="done")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        assert await said(agent, "hi") == "answered"
        waited = await until(events, lambda event: isinstance(event, RetryWaiting))
    assert waited.seconds >= 0.02
    assert len(provider.requests) == 2


async def test_quota_is_not_tried_again(tmp_path: Path) -> None:
    body = '{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}'
    async with (
        Provider(Reply(status=429, body=body)) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "hi") == "error"
        assert not bodies(await path_of(agent), Answer), "a request that gave nothing leaves nothing"
    assert len(provider.requests) == 1


async def test_a_stream_that_breaks_after_text_is_kept_and_not_repeated(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="half an answer", stop_at=500, stop_how="fin")) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "hi") == "error"
        answer = bodies(await path_of(agent), Answer)[-1].message
    assert answer.stop is StopReason.DROPPED
    assert answer.text
    assert len(provider.requests) == 1


async def test_an_empty_answer_is_asked_for_twice(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text=""), Reply(text="")) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        assert await said(agent, "hi") == "empty"
    assert len(provider.requests) == 2


async def test_escape_cancels_the_wait_for_a_retry(tmp_path: Path) -> None:
    limited = Reply(status=429, headers={"retry-after": "60"}, body='{"error": {"message": "slow down"}}')
    async with Provider(limited) as provider, session(options(tmp_path, provider)) as (agent, events):
        await agent.send(words("hi"))
        await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "retrying")
        await agent.interrupt()
        assert (await agent.settled()).reason == "aborted"


async def test_a_person_refuses_with_a_reason_and_allows_with_a_rule(tmp_path: Path) -> None:
    replies = (
        Reply(calls=(bash("git status"),)),
        Reply(calls=(bash("git status"),)),
        Reply(calls=(bash("git status"),)),
    )
    async with (
        Provider(*replies, Reply(text="done")) as provider,
        session(options(tmp_path, provider, approve="ask")) as (agent, events),
    ):
        await agent.send(words("status"))
        asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
        assert asked.preview.command == "git status"
        assert agent.answer(asked.call_id, allowed=False, reason="not now")
        asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
        assert agent.answer(asked.call_id, allowed=True, rule="bash(git status *)")
        assert not agent.answer(asked.call_id, allowed=False), "answered once"
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    assert [answer.allowed for answer in bodies(path, Approved)] == [False, True], "the third was allowed by the rule"
    assert "not now" in bodies(path, Result)[0].message.text
    assert len(bodies(path, ToolStarted)) == 2


@pytest.mark.parametrize(
    ("call", "mode", "how"),
    [
        (bash("touch ran"), "ask", "with --approve all."),
        (Call("write", '{"path": "ran", "content": "x"}'), "ask", "with --approve edits."),
        (Call("write", '{"path": ".git/ran", "content": "x"}'), "edits", "with --approve all."),
        (Call("write", '{"path": "/outside/ran", "content": "x"}'), "all", "in the app alone, once or by a rule."),
    ],
)
async def test_with_nobody_to_ask_the_refusal_names_what_would_allow_it(
    call: Call, mode: Literal["ask", "edits", "all"], how: str, tmp_path: Path
) -> None:
    async with (
        Provider(Reply(calls=(call,)), Reply(text="I could not.")) as provider,
        session(options(tmp_path, provider, approve=mode, interactive=False)) as (agent, _),
    ):
        assert await said(agent, "go") == "answered"
        result = bodies(await path_of(agent), Result)[0]
    assert result.message.text.endswith(how)
    assert not (tmp_path / "project" / "ran").exists()


async def test_instructions_of_the_project_and_its_parents_are_sent_and_no_time(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("outer rule\n")
    async with Provider(Reply(text="one"), Reply(text="two")) as provider:
        given = options(tmp_path, provider)
        (given.cwd / "CLAUDE.md").write_text("inner rule\n")
        async with session(given) as (agent, _):
            await said(agent, "hi")
            await said(agent, "again")
        systems = [request.body["messages"][0]["content"] for request in provider.requests]
    assert systems[0] == systems[1]
    assert systems[0].index("outer rule") < systems[0].index("inner rule")
    assert provider.requests[0].body["tools"] == provider.requests[1].body["tools"]


async def test_commands_see_no_key(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret", "CLEW_API_KEY": "sk-other", "PLAIN": "seen"}
    async with (
        Provider(Reply(calls=(bash("env"),)), Reply(text="done")) as provider,
        session(options(tmp_path, provider, environ=environ)) as (agent, _),
    ):
        await said(agent, "env")
        shown = bodies(await path_of(agent), Result)[0].message.text
    assert "PLAIN=seen" in shown
    assert "sk-" not in shown


@pytest.mark.parametrize("kind", ["text", "thinking"])
async def test_an_answer_without_end_is_stopped_and_kept(tmp_path: Path, kind: str) -> None:
    flood = "round and round " * 30_000
    reply = Reply(text=flood, piece=4_000) if kind == "text" else Reply(thinking=flood, piece=4_000)
    async with Provider(reply) as provider, session(options(tmp_path, provider)) as (agent, _):
        assert await said(agent, "think") == "error"
        path = await path_of(agent)
        assert len(provider.requests) == 1, "it would only do it again"
    assert "was stopped" in bodies(path, Settled)[-1].detail
    (answer,) = bodies(path, Answer)
    assert answer.message.stop is StopReason.ERROR
    kept = sum(len(part.text) for part in answer.message.content if isinstance(part, Text | Thinking))
    assert 200_000 < kept < 210_000 + AHEAD, "what had come already is kept too"


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "openai-responses"])
async def test_reasoning_without_an_answer_is_stopped_long_before_the_output_limit(
    tmp_path: Path, protocol: Literal["openai-chat", "anthropic", "openai-responses"]
) -> None:
    model = "claude-sonnet-5" if protocol == "anthropic" else "gpt-5"
    reply = Reply(thinking="round and round " * 30_000, piece=8_000)
    async with Provider(reply) as provider:
        base = provider.base_url if protocol == "anthropic" else f"{provider.base_url}/v1"
        given = options(tmp_path, provider)
        given = msgspec.structs.replace(given, choice=ModelChoice(protocol, model, base, None))
        async with session(given) as (agent, _):
            assert await said(agent, "think") == "error"
            path = await path_of(agent)
        assert len(provider.requests) == 1
    assert "reasoned for" in bodies(path, Settled)[-1].detail
    (answer,) = bodies(path, Answer)
    kept = sum(len(part.text) for part in answer.message.content if isinstance(part, Thinking))
    assert 400_000 < kept < 410_000 + AHEAD
